"""Whether a job failed for good: what followed its failures, and whether it hung."""

import re

from nccltool.triage.logs.base import LogEvent

Place = tuple[int, int]
"""Number of the file, number of the line."""
_ENDINGS = {
    *("job.sigterm", "job.terminated", "job.interrupted", "torchrun.sigterm"),
    *("store.closed", "nccl.peer-closed", "gloo.peer-closed", "mpi.no-start"),
}
"""Failures that follow the end of a job, when the processes around it are ended too."""
DECISIVE = ("bench.average", "bench.osu", "torchrun.succeeded", "job.completed", "run.passed")
"""Kinds of events that say that a whole job came to its end in order."""
_TEST_BEGINS = ("bench.begin", "bench.header")
_STEPS_ON = 3
"""Steps of training behind a failure that say that it ended nothing: ranks that do not know of it make fewer."""
_OF_A_REQUEST = {"app.exception", "app.echo"}
"""What a server logs of a request that it cannot serve, and goes on."""
_COMPLAINTS = {"hvd.stalled", "hvd.row", "job.stalled"}
"""Words of who waits, and ends nothing by that: one step says that the wait was over."""
_DEADLY = {
    *("torch.timeout", "torch.down", "torch.stuck", "bench.failed", "bench.timeout", "data.wrong"),
    *("job.exit", "mpi.exit", "torchrun.exit", "torchrun.failed", "torchrun.banner"),
}
"""Failures that no process survives: steps behind them are those of other ranks, unless the job was restarted."""
_BY_THE_TRAINER = re.compile(
    r"train_runtime|Trainer\.fit|^\s*\d+\s+(?:\S+\s+)*COMPLETED\b.*\b0:0|COMPLETED ExitCode 0:0|"
    r"WEXITSTATUS 0$|signaled to stop|Job \S+ is successfully completed|^OK\b|^\W*\d+ passed\b|"
    r"-> (?:FINISHED|SUCCEEDED)\W*$|\berror=None|\bshutdown result: OK|"
    r"\b(?P<all>\d+)(?:/| of )(?P=all) .*passed\b|"
    r"(?i:\btotal training time|with status completed|\bexit (?:status|code) 0$|\ball (?:\d+ )?replicas reached|"
    r"\b(?:finished|completed|ended) successfully\b)"
)
"""Ends that only the program itself prints, or the scheduler's record of the whole job."""
TESTS = re.compile(
    r"^\W*\d+ passed\b(?!.*(?:(?<!x)fail|error))|^OK\b|^\[  PASSED  \]|^100% tests passed|^test result: ok"
    r"|^failures: 0$"
)
"""The summary of tests that all passed: what failed before, they expected."""
_WHOLE_JOB = re.compile(
    r"(?i)\bjob\b[ :=#]{0,2}\S*.{0,40}\b(?:exit(?: ?code| status)?|rc)[ :=]{1,2}0(?::0)?\b"
    r"|\bexit(?: code)? 0\b.{0,20}\bjob\b"
)
"""What a launcher says of the whole job at its end: whatever was killed before, it had to be ended so."""
_MOVES = ("job.progress", "bench.row")
_GOES_ON = re.compile(
    r"(?i)\bfall(?:s|ing)? ?back|\b(?:will|then) retry\b|\bretrying\b|\bcontinuing\b"
    r"|\bretried\b|\b(?:using|from) cache"
    r"|\bskip(?:s|ped|ping)\b|\bignor(?:ed|ing)\b|, trying \S|\bnon-?fatal\b|\[W(?:ARN(?:ING)?)?\b|\bWARNING\b"
    r"|^\W{0,3}W\d{4}\b|\[W\d{3}\b|\b(?:NCCL|RCCL) INFO (?!.* -> \d+$)"
)
"""What a line says that tells what was done about a failure, or that its program takes it for a warning."""
_BY_SSH = "ssh: connect to host"
_STEP = re.compile(r"(?i)(?:\b|_)(?:step|iter|iteration|num_updates|batch)\W{0,9}(\d+)\b")
"""Where a line has an epoch too."""
_WHOLE_BAR = re.compile(r"\b(\d+)/\1 \[=+\]")
_TAKES_BACK = ("job.unstuck", "job.restarted", "job.tmpdir-set")
"""The program itself says that it works again: one step proves it."""
_OF_ONE_FAILURE = {"job.unstuck": {"torch.stuck"}, "job.tmpdir-set": {"mpi.no-start", "app.launch"}}
"""Kind of event -> the failures of which it tells that they are over; it says nothing of others."""
_RESTARTS = ("torchrun.restart", "torchrun.joined", "nccl.version", *_TAKES_BACK)
_CHECKED = re.compile(r"\.\.\. ?(?:ok|passed)$")
"""A check of several that a program makes; behind the failure of another program it is no step of that one."""
_STARTED = frozenset({"torchrun.banner", "torchrun.failed", "job.exit", "mpi.exit"})
"""What launchers say of the end of a job that they started."""

_JOB_WORDS = re.compile(
    r"\b(?:mpirun|mpiexec|srun|sbatch|torchrun|python\S*|accelerate|deepspeed|\w+_perf\w*|vllm|lmdeploy|run)\b|NCCL_\w+="
)
"""What a command says that starts a job."""


_PUT_RIGHT = {
    "kernel.link-down": "kernel.link-up",
    "job.no-image": "job.image-pulled",
    "ib.port-error": "ib.port-active",
}
"""Kind of failure -> the kind of event that says that it is over."""
_VIEWERS = re.compile(
    r"^\W*(?:tail|less|watch|top|htop|nvtop|journalctl|kubectl logs|docker logs|scontrol|squeue|sattach)\b"
)
"""What a command begins with that only looks at a job: whoever interrupts it ends no job."""
_OF_JOBS = ("nccl", "torch", "bench", "store", "gloo", "app", "torchrun", "hvd", "run", "mpi")
"""Families of what jobs say."""


def _is_an_ending(event: LogEvent) -> bool:
    """Whether processes around a job end so too, once it has come to its end."""
    return (
        event.kind in _ENDINGS
        or _is_killed(event)
        or (event.kind == "store.rendezvous" and "failed to shutdown the rendezvous" in event.text)
        or (event.kind == "torchrun.failed" and event.get("code") in ("-15", "143"))
    )


def _is_killed(event: LogEvent) -> bool:
    """Whether somebody ended a step or a task: its servers do not end by themselves."""
    return event.kind in ("job.cancelled", "job.killed") or (
        event.kind == "job.exit" and event.get("how") == "Killed"
    )


_EXPECTED = re.compile(r"(?i)\bas expected\b|\(expected\)|\bexpected (?:at|during|on|behaviou?r)\b")


def _is_expected(event: LogEvent) -> bool:
    """Whether the line itself says that what ended was meant to; what an exception expected is another matter."""
    return _EXPECTED.search(event.text) is not None


def _part(event: LogEvent) -> str:
    """The link or the port of which a line tells, with its host where that is known."""
    part = event.get("device") or event.get("hca")
    return f"{event.host or ''} {part}" if part else ""


def _step_of(event: LogEvent) -> str:
    """What tells a step from others, and is the same on all ranks."""
    if _WHOLE_BAR.search(event.text):  # of an epoch: each ends with the same step
        return event.text[:80]
    told = _STEP.search(event.text)
    return told[1] if told else event.get("step") or event.text[:80]


class JobCourse:
    """Follows what fails, succeeds and goes on."""

    def __init__(self) -> None:
        self._last_failure: Place | None = None
        self._last_success: Place | None = None
        self._changed_since = False
        self._steps_since: set[str] = set()
        self._steps_after_end: set[str] = set()
        self._deadly = False
        self._only_waited = True
        self._only_light = True
        """All that failed did so on lines that tell how it went on, or that are warnings of their programs."""
        self._views = False
        self._taken_back = False
        """The program itself has said that what failed last was none."""
        self._is_open = False
        """No work is behind the last failure: a word about an end, as `echo done` in a script, takes none back."""
        self._steps_before = 0
        self._serves, self._only_requests = False, True
        """A server had started, and all that failed since were its answers to requests."""
        self._only_traces = True
        """All that failed were calls of NCCL that tell no reason, as at the end of a communicator."""
        self._tracers: set[tuple[int, str | None, int | None]] = set()
        """Files, hosts and processes of these calls."""
        self._only_exceptions = True
        """All that failed were exceptions, as a server logs them of a request that it refuses."""
        self._failed_kinds: set[str] = set()
        self._parts_down: set[str] = set()
        """Links and ports that failed, by their names."""
        self._checks = False
        """The program that failed makes checks, and says of each how it went."""
        self._trains = 0
        """Steps of training before the first failure."""
        self._is_undone = False
        """All that failed was put right, as when links went down and came up again."""
        self._ports_back = False
        """Only ports of HCAs failed, and they became active again: one step more shows that the job lives."""
        self._has_begun = False
        """A job was started, or has said something: what failed before that is the host's, and outlives no job."""
        self._open_test: LogEvent | None = None
        self._hung: LogEvent | None = None
        self._looked_at: LogEvent | None = None

    def add(self, event: LogEvent, place: Place) -> None:
        if event.kind == "job.progress" and self._last_success and self._last_success[0] == place[0]:
            self._doubt_end(event)
        self._follow(event, place)
        self._take_back(event, place)
        self._watch_undone(event, place)
        self._watch(event)

    @property
    def hung(self) -> LogEvent | None:
        """The line behind which a job stood still."""
        return self._hung or self._open_test or self._looked_at

    @property
    def steps_before(self) -> int:
        """Steps, rows and answers before the first failure."""
        return self._steps_before

    @property
    def has_end(self) -> bool:
        """Whether anything failed or came to its end."""
        return self._last_failure is not None or self._last_success is not None

    def recovered(self) -> bool:
        """Whether a job came to its end in order after whatever failed, with the settings that it had."""
        if self._views and self._last_failure is None and self._hung is None:
            return True
        if self._is_undone:
            return True
        survived = self._only_waited or self._only_light or self._only_requests or self._taken_back
        survived = survived or self._ports_back
        enough = 1 if survived else _STEPS_ON
        if len(self._steps_since) >= enough and not self._changed_since:
            return True
        if self._last_success is None:
            return False
        if self._last_failure is None:
            return True  # whatever looks like a failure is how the processes around a job end
        return self._last_success > self._last_failure and not self._changed_since and not self._is_open

    def _follow(self, event: LogEvent, place: Place) -> None:
        self._serves = self._serves or event.kind == "job.serving"
        if event.kind in _MOVES and self._last_failure is None:
            self._steps_before += 1
            self._checks = self._checks or _CHECKED.search(event.text) is not None
            self._trains += bool(event.get("step"))
        if event.role in ("failure", "echo"):
            self._fail(event, place)
        elif event.kind in DECISIVE:
            self._succeed(event, place)
        elif self._goes_on(event) and self._last_failure and self._last_failure[0] == place[0]:
            self._is_open = self._deadly
            if not self._deadly and len(self._steps_since) < _STEPS_ON:
                self._steps_since.add(_step_of(event))
        elif event.kind == "log.complaint" and event.get("grade") == "loud" and self._only_light:
            self._steps_since.clear()
        elif event.kind in _RESTARTS:
            self._restart(event, place)
        elif event.kind in _TEST_BEGINS:
            self._changed_since = (
                self._changed_since or self._deadly
            )  # another test; the one before it stays failed
        elif event.kind == "shell.command" and _VIEWERS.search(event.get("command")):
            self._views = True
        elif event.kind == "shell.command" and _JOB_WORDS.search(event.get("command")):
            self._views = False
            self._changed_since = self._last_failure is not None and self._has_begun
            self._has_begun = True
        self._has_begun = self._has_begun or event.family in _OF_JOBS or event.role == "echo"

    def _doubt_end(self, event: LogEvent) -> None:
        """What steps follow was the end of something else, such as a validation."""
        self._steps_after_end.add(_step_of(event))
        if len(self._steps_after_end) >= _STEPS_ON:
            self._last_success = None

    def _succeed(self, event: LogEvent, place: Place) -> None:
        self._steps_after_end.clear()
        tests = TESTS.search(event.text) is not None
        if tests and not self._is_of_failed_file(place):
            return
        if not self._changed_since:
            self._last_success = place
        if tests and (self._trains >= _STEPS_ON or self._failed_kinds & _STARTED):
            return  # of another program, such as one that checks the host of a job that failed
        if event.kind != "job.completed" or _BY_THE_TRAINER.search(event.text):
            self._is_open = self._deadly
        if tests or _WHOLE_JOB.search(event.text):
            self._deadly = self._is_open = False

    def _is_of_failed_file(self, place: Place) -> bool:
        """Whether a line is in the file of the last failure, if one failed: other files are of other programs."""
        return self._last_failure is None or self._last_failure[0] == place[0]

    def _fail(self, event: LogEvent, place: Place) -> None:
        if self._views and event.kind == "job.interrupted":
            return
        if self._last_success is not None and (_is_an_ending(event) or _is_expected(event)):
            return
        self._last_failure, self._changed_since, self._taken_back = place, False, False
        self._steps_since.clear()
        self._only_waited = self._only_waited and event.kind in _COMPLAINTS
        is_light = _GOES_ON.search(event.text) is not None or bool(event.get("child"))
        is_light = is_light or event.text.startswith(_BY_SSH)  # no step comes before a host is reached
        self._only_light = self._only_light and is_light
        self._only_requests = self._only_requests and self._serves and event.kind in _OF_A_REQUEST
        self._only_exceptions = self._only_exceptions and event.kind in _OF_A_REQUEST
        self._only_traces = self._only_traces and event.kind == "nccl.trace"
        self._tracers.add((place[0], event.host, event.pid))
        self._deadly = self._deadly or event.kind in _DEADLY
        self._is_open = self._is_open or not _is_an_ending(event)

    def _goes_on(self, event: LogEvent) -> bool:
        """A step; behind warnings, also a row of a test."""
        if event.kind == "job.progress":
            return self._checks or not _CHECKED.search(event.text)
        return event.kind == "bench.row" and self._only_light

    def _take_back(self, event: LogEvent, place: Place) -> None:
        """What a line behind failures says that they were: the end of a communicator, or a request of a client."""
        if event.kind == "nccl.destroyed" and self._only_traces and self._last_failure:
            self._tracers.discard((place[0], event.host, event.pid))
            if not self._tracers:
                self._last_success, self._is_open = place, False
        elif event.kind == "job.refused":
            self._taken_back = self._taken_back or self._only_exceptions

    def _watch_undone(self, event: LogEvent, place: Place) -> None:
        """What says that all that failed was put right: links come up when a host starts, a second pull works."""
        if event.role in ("failure", "echo"):
            self._failed_kinds.add(event.kind)
            if event.kind in _PUT_RIGHT:
                self._parts_down |= {_part(event)} - {""}
            self._is_undone = self._ports_back = False
        elif event.kind in _PUT_RIGHT.values() and self._is_of_failed_file(place):
            self._parts_down -= {_part(event)} if _part(event) else self._parts_down
            is_all = {_PUT_RIGHT.get(kind) for kind in self._failed_kinds} <= {event.kind} and not self._parts_down
            is_port = event.kind == "ib.port-active"
            self._ports_back, self._is_undone = is_all and is_port, is_all and not is_port

    def _restart(self, event: LogEvent, place: Place) -> None:
        """NCCL's version in another file than the failure is the start of another rank."""
        if not self._failed_kinds <= _OF_ONE_FAILURE.get(event.kind, self._failed_kinds):
            return
        self._taken_back = self._taken_back or event.kind in _TAKES_BACK
        is_start = event.kind != "nccl.version" or "rror" not in event.text  # errors quote it too
        if is_start and (event.kind != "nccl.version" or self._is_of_failed_file(place)):
            self._deadly = self._is_open = False

    def _watch(self, event: LogEvent) -> None:
        """A test that printed its heading and no row stood still; so did a job whose stacks somebody took."""
        if event.kind == "job.stack" and self._last_failure is None:
            self._looked_at = self._looked_at or event
        elif event.kind in _MOVES or event.kind in DECISIVE:
            self._looked_at = None
        if event.kind in _TEST_BEGINS:
            self._open_test = self._open_test or event
        elif event.kind == "job.timed-out" or (event.kind == "job.nothing-more" and not self._last_success):
            self._hung = self._hung or event
        elif event.kind in ("bench.row", "bench.average") or event.role in ("failure", "echo"):
            if event.kind in ("job.interrupted", "job.killed", "job.terminated", "job.sigterm"):
                self._hung = self._hung or self._open_test
            self._open_test = None
        elif event.kind == "shell.command" and _JOB_WORDS.search(event.get("command")):
            self._hung = self._hung or self._open_test
            self._open_test = None
