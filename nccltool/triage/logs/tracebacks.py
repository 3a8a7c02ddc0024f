"""Python's exceptions and crashes: the last line of a traceback, and whether another rank's failure caused it.

An exception that a collective or a launcher raises because another rank failed is an echo. Every other one is the
program's own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from nccltool.triage.logs import complaints
from nccltool.triage.logs.base import LogEvent, SourceLine
from nccltool.triage.logs.patterns import LogPattern, event, table

PATTERNS = table(
    r"""
failure
    app.exception   ^(?!Lustre|LNet|CondaError)(?P<type>(?:[A-Za-z_]\w*\.)*\w*`Error|Exception`)(?:
                    :(?: (?P<message>.*))?)?$
    app.segfault    `Segmentation fault|Caught signal 11`
    app.segfault    (?<!due to )`SIGSEGV`
    app.assert      `device-side assert triggered`
    app.assert      `Assertion ` => ^(?!.*{OF_NCCL}).*Assertion \x60
    nccl.internal   `Assertion ` => {OF_NCCL}.*Assertion \x60
    shm.sigbus      `Bus error|SIGBUS|Signal (7) received`
    app.segfault    `Signal (11) received`
    app.nccl-crash  (?:^|\])\s*(?:\[ *\d+\]|#?\d+:?|@)\s.*`libnccl.so`[.\d]*[(+]
    app.nccl-crash  ` nccl` => ^\s*(?:\[ *\d+\]|#\d+|\d+ +0x[0-9a-f]+|(?:PC: )?@ +0x[0-9a-f]+)\s+(?:(?:0x[0-9a-f]+|
                    \(unknown\)|\d+) +)?(?:in )?(?P<symbol>nccl[A-Z]\w+|ras[A-Z]\w+)\b
    app.nccl-kernel  ^={2,}\s+at (?:0x[0-9a-f]+ in )?`ncclDevKernel|ncclDevFunc`
    app.plugin-crash  `rofiler|nspector|uner|nccl_ofi` => ^\s*(?:\[ *\d+\]|#\d+|\d+ +0x[0-9a-f]+|@ +0x[0-9a-f]+|
                    File "<unknown>", line 0, in)\s*(?:0x[0-9a-f]+ +)?(?:in )?(?P<symbol>(?!nccl[A-Z])\w*
                    (?:rofiler|nspector|uner|nccl_ofi)\w*)\(
    app.plugin-crash  `libnccl-|librccl-` => (?:^|\])\s*(?:\[ *[0-3]\]|#?[0-3]:?)\s.*/(?P<symbol>lib[nr]ccl-
                    (?:net|tuner|profiler)[\w-]*\.so)[.\d]*[(+]
    app.plugin-crash  `pluginListen|pluginConnect|pluginAccept|pluginInit|pluginIsend|pluginIrecv` => ^\s*(?:
                    \[ *\d+\]|\#\d+|@) +0x[0-9a-f]+ +(?P<symbol>plugin\w+)\(
    app.plugin-crash  `Engine::` => ^\s*File "<unknown>", line 0, in (?P<symbol>nixl\w+)Engine::
    app.plugin-crash  `-plugins/src/|ofi-nccl` => ^\s*(?:\[ *\d+\]|#\d+|\d+ +0x[0-9a-f]+)\s+(?:in )?(?P<symbol>\w+)
                    \(.*/(?:nccl-rdma-sharp-plugins|aws-ofi-nccl)[\w.-]*/src/
    app.segfault    `Segfault encountered`
    app.heap        `free(): |invalid next size|double free or corruption|malloc(): |corrupted size`
    app.heap        `munmap_chunk(): `
    app.segfault    `Signal: Segmentation fault|segmentation fault`
    app.launch      python\S*: `can't open file` '(?P<path>[^']+)'
    app.launch      `execve(): |unable to find the specified executable|could not find an executable`
    app.launch      `: command not found` => ^(?:\S{1,200}: line \d+|-?(?:ba|z|da|k)?sh): (?!{OPTIONAL})\S+:
                    [ ]command not found$
    app.launch      ^(?:\S+: )?`error: `(?:unrecognized|the following|argument|invalid choice)
    app.launch      `command not found` => (?:torchrun|mpirun|srun|python\S*|deepspeed|accelerate): command not
    shm.sigbus      `code: -7|code -7` => exit\s?code:? -7\b
    app.nccl-crash  ` ras` => ^\s*(?:\[ *\d+\]|#\d+|\d+ +0x[0-9a-f]+|(?:PC: )?@ +0x[0-9a-f]+)\s+(?:
                    (?:0x[0-9a-f]+|\(unknown\)|\d+) +)?(?:in )?
                    (?P<symbol>ras[A-Z]\w+)\b
    app.stopped     `has finished its bootstrapping phase`
    app.stopped     ^`[  FAILED  ] `\d+ tests?\b
    app.launch      ^`error: creating server: `
    app.launch      `ninja: build stopped|Error compiling objects|rror building extension`
echo
    app.abort       `terminate called|*** SIGABRT`
    app.abort       ^(?!srun).*`Aborted (core dumped)`
    app.abort       `Fatal Python error: Aborted`
state
    app.child       `Process ` => ^Process (?P<process>[\w.:-]+):$
    app.traceback   `Traceback (most recent call last)`
    app.chained     `above exception`
    app.ignored     `Exception ignored in`
    app.frame       `  File "` => ^\s+File "(?P<path>[^"]+)", line (?P<number>\d+)(?:, in (?P<function>\S+))?
    app.task        `ray::` => ray::\S+ ?\(pid=(?P<task>\d+)
    shm.resized     `os.ftruncate(self.fd, size)`
    app.environ     `os.environ|os.getenv|_get_env_or` => (?:environ(?:\.get)?|getenv|_get_env_or\w+)
                    [\[(]\s*["'](?P<name>[A-Z][A-Z0-9_]+)
    app.rank-done   (?i)\brank[ :=]*(?P<rank>\d+)\b.{0,20}\b`finished its|ran out of|exhausted|has no more`\b
    app.data-end    `un out of data|nd of dataloader|nd of data|o more batches|o more data` => .
    app.rank-left   ^(?:\[?[Rr]ank[ :]*(?P<rank>\d+)\]?:?.*)?\b(?:done|finished|leaving)\b.*\b`exit`(?:ing)?\b
""",
    before={" nccl": "]0123456789abcdefn \t", " ras": "]0123456789abcdefn \t"},
    OF_NCCL=(
        r"(?:(?:transport|graph|misc|device|include)/\w+\.(?:cc|cu|h|hpp|cpp):\d+: |"
        r"\b(?:enqueue|proxy|bootstrap|channel|group)\.cc:\d+:? |"
        r"\b[NR]CCL WARN )"
    ),
    OPTIONAL=r"(?:module|ml|conda|nvidia-smi|numactl|ib\w+|ls\w+)\b",
)
_LAST = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*(?:_?[A-Z]\w+|(?<=\.)(?:error|gaierror|timeout)))(?:: ?(?P<message>.*))?$"
)
"""What ends a traceback, whatever its name is."""
_TRACED = LogPattern("app.exception", "failure")
_ECHO = LogPattern("app.echo", "echo")
_IGNORED = LogPattern("app.ignored", "doubt")

_CAUGHT = frozenset({"_ARRAY_API not found"})
"""What is printed before the exception that counts: NumPy's import_array() prints one and raises another
(https://github.com/numpy/numpy/blob/v2.0.0/numpy/_core/code_generators/generate_numpy_api.py)."""
_ECHO_TYPES = re.compile(
    r"(?:DistBackendError|DistNetworkError|DistStoreError|DistError|ChildFailedError|CalledProcessError|ActorDiedError|"
    r"RayActorError|RayTaskError\S*|NodeDiedError|OwnerDiedError|ActorUnavailableError|ObjectLostError|TaskCancelledError|"
    r"SignalException|SystemExit|BrokenPipeError|EOFError|ConnectionResetError|"
    r"ConnectionRefusedError|Rendezvous\w+Error|ProcessExitedException|ProcessRaisedException|KeyboardInterrupt|"
    r"WorkerCrashedError|nccl\w+Error|NcclError|NCCLError|ConnectionAbortedError|BrokenProcessPool|CancelledError|EngineDeadError|nixl\w+Error|"
    r"UnexpectedStatusException|ExecuteUserScriptError)$"
)
_ECHO_TEXTS = re.compile(
    r"NCCL [eE]rror|ncclInternalError|ncclSystemError|ncclUnhandledCudaError|ncclRemoteError|[Ww]atchdog|"
    r"NCCL communicator was aborted|Connection (?:closed|reset|refused)|Timed out waiting|Broken pipe|"
    r"Wait timeout|Socket Timeout|initialization failed|proc(?:ess)? (?:died|exited)|Engine (?:core|process)|"
    r"^cancelled$|got signal|gloo/transport|store->get|wait timeout|monitoredBarrier|"
    r"actor (?:died|unexpectedly)|exited (?:with|unexpectedly)|Process \d+ exited|failed to create UCC|"
    r"Unable to (?:synchronously )?communicate|CUDA error|[Cc]uda failure|"
    r"host not found|[Aa]ddress already in use|worker(?:s)? (?:died|exited)|[Tt]imeout at|NCCL timeout|"
    r"CommInitRank|[Uu]nhandledCudaError|invalid usage|unhandled (?:cuda|system) error|terminat|"
    r"remote process exited|killed by signal: (?:Terminated|Interrupt|Hangup)"
    r"|allocate more than 1EB|ran for more than set timeout|Get timed out|DataLoader timed out after"
    r"|^(?:DEADLINE_EXCEEDED|UNAVAILABLE|ABORTED)\b|^status: (?:DeadlineExceeded|Unavailable|Aborted)\b"
    r"|^Collective ops is aborted by|ranks have not joined"
    r"|[Bb]arrier (?:\w+ )?(?:timed out|timeout)"
    r"|timed out in _?all_|[Tt]ime(?:d |)out waiting for rank|ranks arrived"
    r"|^Socket closed|to complete (?:the )?rendezvous|failed to connect to all addresses"
)


@dataclass(slots=True)
class _Open:
    """The traceback that a writer is printing."""

    since: int
    chained: bool = False
    ignored: bool = False
    """Python goes on after it: an exception in a destructor."""
    child: str = ""
    """The process that the program started, where it is raised in one: the program itself goes on."""
    path: str = ""
    about: str = ""
    """The cause that the library of a frame is about."""


_OF_FRAMES = (
    ("torch/distributed/rendezvous.py", "rdzv-store"),
    ("torch/distributed/elastic/rendezvous/", "rdzv-store"),
    ("multiprocessing/shared_memory.py", "shm-size"),
)
"""Files of libraries, or their folders -> the cause of what is raised in them or below,
where no text tells another."""
_LONGEST = 400
"""Lines after which a traceback whose end was not seen is given up."""
_LONGEST_OF_ALL = 20_000
"""The same where its writer has written nothing since: hundreds of ranks can write theirs at the same time."""


class Tracebacks:
    """Keeps the open traceback of each writer."""

    def __init__(self) -> None:
        self._opened: dict[str, _Open] = {}
        self._chained: set[str] = set()
        self._ignored: set[str] = set()
        self._children: dict[str, str] = {}
        self._begun: SourceLine | None = None
        """The last first line of a traceback that named its rank; the lines behind it may not."""

    def waits(self, number: int) -> bool:
        """Whether the line of this number can be the end of a traceback, whatever it contains."""
        if self._opened:
            oldest = number - _LONGEST_OF_ALL
            self._opened = {label: now for label, now in self._opened.items() if now.since >= oldest}
        return bool(self._opened)

    def events(self, line: SourceLine) -> Iterator[LogEvent]:
        """What a line says, and the exception that it ends a traceback with."""
        now = self._opened.get(line.label)
        for item, fields in PATTERNS.found(line.text):
            if item.kind == "app.traceback":
                now = self._open(line)
            elif item.kind == "app.chained":
                self._chained.add(line.label)
            elif item.kind == "app.ignored":
                self._ignored.add(line.label)
            elif item.kind == "app.child":
                self._children[line.label] = fields["process"]
            elif item.kind == "app.frame":
                _frame(now, fields)
            elif item.kind != "app.exception":
                yield event(item, line, fields)
        if ended := _end(self._with_rank(line), now):
            if now is None and line.label in self._ignored:
                self._ignored.discard(line.label)
                ended = event(_IGNORED, line, dict(ended.fields))
            self._opened.pop(line.label, None)
            yield ended
        elif now and line.number > now.since + _LONGEST:
            self._opened.pop(line.label, None)

    def placed(self, line: SourceLine) -> SourceLine:
        """The line with the rank whose traceback it ends: only the first line of that may name it."""
        return self._with_rank(line) if self._begun and _LAST.match(line.text) else line

    def _with_rank(self, line: SourceLine) -> SourceLine:
        begun = self._begun
        if begun is None or line.label or line.rank is not None or line.number > begun.number + _LONGEST:
            return line
        return replace(line, rank=begun.rank)

    def _open(self, line: SourceLine) -> _Open:
        self._begun = line if line.rank is not None else None
        label = line.label
        child = self._children.pop(label, "")
        now = _Open(line.number, label in self._chained, label in self._ignored, child)
        for told in (self._chained, self._ignored):
            told.discard(label)
        self._opened[line.label] = now
        return now


def _frame(now: _Open | None, fields: dict[str, str]) -> None:
    if now is None:
        return
    now.about = next((label for end, label in _OF_FRAMES if end in fields["path"]), now.about)
    if ("site-packages" not in fields["path"] and "/lib/python" not in fields["path"]) or not now.path:
        now.path = f"{fields['path']}:{fields['number']}"


def _end(line: SourceLine, now: _Open | None) -> LogEvent | None:
    if now is None:
        fields = next((said for item, said in PATTERNS.found(line.text) if item.kind == "app.exception"), None)
    else:
        match = None if line.text[:1] in (" ", "\t", "") else _LAST.match(line.text)
        fields = {name: value for name, value in match.groupdict().items() if value} if match else None
    if fields is None or fields["type"].endswith("Warning"):
        return None
    about = fields | ({"frame": now.path} if now and now.path else {})
    if (now and now.ignored) or fields.get("message") in _CAUGHT:
        return event(_IGNORED, line, about)
    about |= {"child": now.child} if now and now.child else {}
    is_echo = _is_echo(fields) or (now is not None and now.chained)
    if not is_echo and (subject := complaints.of_exception(line.text)):
        about |= {"about": subject}
    elif not is_echo and now and now.about == "rdzv-store":
        about |= {"about": now.about}
    elif is_echo and now and now.about:
        about |= {"within": now.about}
    return event(_ECHO if is_echo else _TRACED, line, about)


def _is_echo(fields: dict[str, str]) -> bool:
    name, message = fields["type"].rpartition(".")[2], fields.get("message", "")
    if message.startswith("DataLoader worker") and message.endswith("exited unexpectedly"):
        return False  # it is the program's own process
    return bool(_ECHO_TYPES.search(name) or _ECHO_TEXTS.search(message))
