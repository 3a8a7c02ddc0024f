"""Starts the processes, reads their events, saves them, watches the time, and ends everything.

Nothing outlives this: every process it starts is in a session of its own that is killed at the end, and the
kernel kills each of them when its parent dies.
"""

import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nccltool.core import external_commands, scratch, signals
from nccltool.core.errors import RunDirError
from nccltool.core.findings import Finding, Subject
from nccltool.core.run_directory import RunDir
from nccltool.core.units import format_seconds
from nccltool.hosts.sources import net
from nccltool.launch import (
    allowances,
    blame,
    culprits,
    early_ends,
    events,
    fault_injection,
    finding_kinds,
    instructions,
    link_counters,
    own_end,
    stopped,
)
from nccltool.launch.events import Event
from nccltool.launch.job import Job, node_name
from nccltool.launch.meeting import OF_MEETINGS, Meeting, OfMeeting
from nccltool.launch.order import LaunchOrder
from nccltool.launch.path_watch import PathWatch
from nccltool.launch.reach.stuck_logins import StuckLogins
from nccltool.launch.run_state import RunState
from nccltool.launch.session import Leaving, NodeProcess, Session
from nccltool.launch.standstill import Standstill

SETTLE_S = 1.5
"""After the first fault, how long to listen to what the other ranks have to say."""
HURRIED_S = 0.3
"""The same after a launcher's SIGTERM, where it leaves a second."""
REASON_S = 10.0
"""How long a scheduler's reason may come after its end of the nodes: srun learns of a cancelled step, and of the
deaths of tasks, from others than the one slurmstepd that writes why. Slurm leaves us 30 s (KillWait)."""
LEAVE_S = 8.0
"""After the last rank said bye, how long the processes may take to end."""
FOLLOWER_S = 5.0
"""How much longer a command waits whose rank 0 is elsewhere: that one sees more, and names the culprit."""
IMPORT_S = 90.0
"""How long importing torch may take on a cold file system before any rank exists."""
SCHEDULER_QUERY_S = 3.0
"""How long a scheduler may take to say whether it ends us; Slurm leaves 30 s (KillWait) after SIGTERM."""

Progress = Callable[[RunState], None]


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """What came of a run; the product judges it."""

    state: RunState
    findings: tuple[Finding, ...]
    interrupted: bool
    """Ended by Ctrl-C or a signal."""
    duration_s: float | None = None
    """From the start of its processes to their end."""


def run(
    order: LaunchOrder[Job], run_dir: RunDir, progress: Progress, state: RunState | None = None
) -> LaunchOutcome:
    """Run a job to its end, or to its deadline; `state` has what an earlier attempt of it left."""
    large_in = "" if order.launch.remote else order.job.large_files_in  # else each host has its own
    with scratch.folder(otherwise=run_dir.path) as folder, scratch.name_in(large_in) as large_files:
        job = replace(order.job, scratch=folder, large_files=large_files)
        runner = _Runner(replace(order, job=job), run_dir, progress, state)
        try:
            with signals.held() as runner.leaving.signals:
                runner.session.start(job)
                return runner.until_end()
        finally:
            runner.session.end()


class _Runner:
    def __init__(
        self, order: LaunchOrder[Job], run_dir: RunDir, progress: Progress, state: RunState | None
    ) -> None:
        now, job = time.monotonic(), order.job
        self._job, self._leads, self._run_dir, self._progress = job, order.leads, run_dir, progress
        self._launch = launch = order.launch
        self.session = Session(launch, job.scratch)
        self._state = state or RunState(job, order.ranks_seen, now)
        here = socket.gethostname()
        meet = partial(Meeting, job, launch.names(), order.keep_going, now, launch.starts_s, here=here)
        self._meeting = meet() if launch.remote else None
        self._stuck, self._standstill = StuckLogins(now), Standstill(now)
        self._watches: dict[NodeProcess, stopped.Watch] = {}
        self._left_at: float | None = None
        self._ending: Finding | None = None
        self._cut: Finding | None = None
        """About this host, when the connections to others break because of it."""
        self._explained: list[Finding] = []
        self._broken: list[Finding] = []
        """Those of them that only tell of a connection that broke, at which end is open."""
        self._ended_badly: list[NodeProcess] = []
        told = self._explained, self._broken, self.session.tell
        self._paths = PathWatch(self._state, self._meeting, *told) if self._meeting is not None else None
        self._was_scheduled = False
        self.leaving = Leaving(job, self._state, self.session)

    def until_end(self) -> LaunchOutcome:
        """Listen until all is said, or the time is up."""
        interrupted = False
        try:
            while self.session.speaking and not self.leaving.is_up() and not self._over(time.monotonic()):
                self._listen()
                self._guide(time.monotonic())
                self._progress(self._state)
            is_ours = not self._launch.remote and self.session.announcer is None
            self._state.all_was_told = is_ours and not self.session.speaking
            if self.leaving.signal and not self._state.everybody_left:
                # a launcher sends SIGTERM when another rank has failed; what that one said may be under way
                if self.leaving.signal != signal.SIGINT or self._state.fault_at is not None:
                    self._settle()
                interrupted = self._state.fault_at is None
            interrupted = interrupted or self.leaving.is_asked
            if not self._state.everybody_left and (ended := self._by_the_scheduler()):
                self._ending, self._was_scheduled, interrupted = ended, True, False
        except RunDirError as error:
            self._ending = run_dir_full(
                error, "the run was stopped, because each result must be saved before the next step starts"
            )
        findings = (*self._found(interrupted), *fault_injection.findings(self._state.job.fault))
        return LaunchOutcome(self._state, findings, interrupted)

    def _listen(self) -> None:
        for process, line, event in self.session.listen(self._state.product.reader.decode):
            if event is not None:
                self._take(process, line, event)
                continue
            self._run_dir.log(line.decode(errors="replace") + "\n")
            if self.session.announcer and not self._job.leave_s:
                self._state.fault_at = self._state.fault_at or time.monotonic()

    def _take(self, process: NodeProcess, line: bytes, event: Event) -> None:
        if isinstance(event, events.Log):
            self._run_dir.log(f"[rank {event.rank}] {event.text}\n")
        self._run_dir.event(line[1:] + b"\n")
        if isinstance(event, OF_MEETINGS):
            self._meet(process, event)
            return
        self._state.apply(event, time.monotonic())
        if event.awaits_saving:
            self._run_dir.sync()
            self.session.tell(instructions.Saved(left_s=self._state.left_s(time.monotonic())))

    def _meet(self, process: NodeProcess, event: OfMeeting) -> None:
        command, meeting = process.command, self._meeting
        if meeting is not None and isinstance(event, events.Starting):
            meeting.arrivals.note_start(command.nodes, time.monotonic())
        if meeting is None or isinstance(event, events.Starting) or event.node not in command.nodes:
            return
        if not isinstance(event, events.Node):
            assert self._paths is not None
            self._paths.hear(event)
            return
        meeting.hear(event)
        self._state.hosts_met.append(event.host)
        if event.host_id == net.host_id() and command.host:
            meeting.at_home[event.node] = early_ends.loopback(command.host)

    def _guide(self, now: float) -> None:
        """Lead remote nodes to their start, let them know that we are there, and see which of them are lost."""
        for process in self.session.newly_ended():
            self._hear_out(process, now)
        for process in self.session.processes:
            self._look_for_stopped(process, now)
        if self._meeting is None:
            return
        is_meeting = self._meeting.going is None
        instruction = self._meeting.step(now)
        if is_meeting:
            self.session.note_logins(now, is_last=instruction is self._meeting.going)
        self._stuck.judge(self._meeting, self.session.processes, now)
        if isinstance(instruction, instructions.Go):
            job = replace(self._job, nodes=instruction.nodes, nproc_per_node=instruction.nproc_per_node)
            self._state.expect(job, now)
        if instruction is not None:
            self.session.tell(instruction)
        else:
            self.session.keep_alive()

    def _look_for_stopped(self, process: NodeProcess, now: float) -> None:
        """Of the processes of this host; those of others are looked at there."""
        if process not in self._watches:
            towards = (process.command.host or self._launch.launcher) if self._launch.remote else ""
            self._watches[process] = stopped.watch(process.process.pid, towards, bool(self._job.node_ranks))
        if (found := self._watches[process].changed(now)) is not None:
            event = events.Stopped(node=process.command.nodes[0], host=socket.gethostname(), processes=found)
            self._take(process, events.encode(event).rstrip(b"\n"), event)

    def _hear_out(self, process: NodeProcess, now: float) -> None:
        """A command has ended: of remote nodes it may have something to say about why."""
        command, code = process.command, process.exit_code() or 0
        why = self._launch.explain(command.host, code, process.words) if code else None
        if self._meeting is not None and self._meeting.going is None:
            for node in command.nodes:
                ended = why or early_ends.ended_early(self._meeting.name(node), code, process.words)
                self._meeting.lose(node, early_ends.with_address(ended))
        elif self._state.everybody_left:
            return
        elif why is not None:
            self._explained.extend([why] if why not in self._explained else [])
            if self._launch.is_broken(code, process.words):
                self._broken.append(why)
                self._cut = self._cut or self._cut_off(self._broken)
        elif code and self._launch.remote:
            self._ended_badly.insert(0 if process.was_killed_there else len(self._ended_badly), process)
        if self._explained or self._ended_badly:
            self._state.fault_at = self._state.fault_at or now

    def _cut_off(self, said: Sequence[Finding]) -> Finding | None:
        assert self._meeting is not None
        cut = own_end.cut_off(self.session.processes, self._meeting.at_home, said, self._settle)
        self._standstill.worked(time.monotonic())  # calls that nobody answers take their time
        return cut

    def _over(self, now: float) -> bool:
        state = self._state
        state.listened_until = now
        if self._standstill.look(now):
            state.progress_at = now
        if self._meeting is not None and self._meeting.going is None:
            return self._is_late(now) or self._meeting.failed
        if self._cut is not None:
            return True
        if state.fault_at is not None:
            # where rank 0 is elsewhere, the node process ends by itself when it has told that one
            all_ended = self._leads and state.everybody_spawned and state.everybody_ended
            all_said = all_ended and self._is_known  # else the death of an agent may be on its way
            # a scheduler's signal comes to the ranks before its reason comes to us
            queried = self._launch.scheduler_query is not None and self.session.announcer is None
            unexplained = queried or self.session.awaits_reason
            over = now - state.fault_at > self._settle_s() or (all_said and not unexplained)
            return (self._paths is None or self._paths.know(now)) and over
        if state.everybody_left:
            self._left_at = self._left_at or now
            if late := now - self._left_at > LEAVE_S:
                cost = f"the run waited {LEAVE_S:.0f} s for it to end"
                self._ending = blame.process_stopped(state, "warning", cost)
            return late
        if self._is_late(now):
            return True
        waited = now - state.progress_at
        if waited <= self._job.timeout_s:
            if self._paths is not None:
                self._paths.check = None
        elif waited > self._patience() and (self._paths is None or self._paths.know(now)):  # which is longer
            nobody = f"no rank started within {waited:.0f} s"
            known = state.ranks or state.stopped_above
            self._ending = blame.after_timeout(state, waited) if known else self._node_failed(nobody)
            return True
        return False

    def _is_late(self, now: float) -> bool:
        state, limit = self._state, self._job.deadline_s
        if now - state.started_at <= limit:
            return False
        done = f"{len(state.product.done)} of {state.world.steps}" if state.world else "0"
        self._ending = finding_kinds.DEADLINE.finding(
            subject=Subject(kind="run", name="deadline"),
            message=f"the run took longer than {format_seconds(limit)}; {done} steps were done",
            evidence=self._standing_still(now),
            remedy=f"reduce the work ({state.product.ask_for_less}), or raise --deadline",
        )
        return True

    def _standing_still(self, now: float) -> tuple[str, ...]:
        """Where the ranks are, when nothing has moved for so long that only an allowance kept the run going."""
        waited = now - self._state.progress_at
        if waited <= self._job.timeout_s or not self._state.ranks:
            return ()
        standing = blame.after_timeout(self._state, waited)
        return (standing.message, *standing.evidence)

    def _patience(self) -> float:
        """How long nothing may move."""
        timeout_s = self._job.timeout_s + allowances.of_run(self._state)
        if self._state.everybody_spawned:
            if self._leads:
                return timeout_s
            joining = not any(rank.entered for rank in self._state.ranks.values())
            return max(self._job.join_timeout_s if joining else 0.0, timeout_s) + FOLLOWER_S
        if self._state.stopped_above:
            return self._job.timeout_s
        # a rendezvous that times out says itself which node is missing; give it the time to
        return max(self._job.join_timeout_s, timeout_s) + (5.0 if self._state.ranks else IMPORT_S)

    def _settle_s(self) -> float:
        if self.session.awaits_reason:
            return REASON_S
        return SETTLE_S if self._is_known else culprits.echoes_s(self._state)

    @property
    def _is_known(self) -> bool:
        """Whether anything but echoes was said."""
        said = any(finding.is_error for finding in self._state.findings)
        return said or bool(self._explained) or blame.knows(self._state)

    def _settle(self) -> None:
        end = time.monotonic() + (HURRIED_S if self._launch.is_hurried else SETTLE_S)
        while self.session.speaking and time.monotonic() < end:
            self._listen()

    def _by_the_scheduler(self) -> Finding | None:
        """Why a scheduler has ended the nodes, or is about to end us too."""
        announcer, query = self.session.announcer, self._launch.scheduler_query
        heard = self._launch.explain(announcer.command.host, 0, announcer.words) if announcer else None
        # without an announcer, it may have ended nodes, and neither srun's word nor its signal to us be here yet
        signalled = announcer is None and (
            self.leaving.signal in (signal.SIGTERM, signal.SIGHUP) or self._state.killed
        )
        if query is None or not (signalled or self.session.awaits_reason):
            return heard
        done = external_commands.run(query.argv, SCHEDULER_QUERY_S)
        return (query.read(done.out) if isinstance(done, external_commands.Done) else None) or heard

    def _found(self, interrupted: bool) -> tuple[Finding, ...]:
        state = self._state
        if self._was_scheduled and self._ending is not None:  # what ranks and nodes said of it are echoes
            notes = (finding for finding in state.findings if not finding.is_error)
            return (*notes, *state.product.findings(), self._ending)
        found = [*state.findings, *state.product.findings()]
        if self._meeting is not None:
            found = [*self._meeting.findings, *map(self._with_host, found), *self._explained]
        hosts = {rank.host for rank in state.ranks.values()}
        found += link_counters.judged(state.counted, hosts, state.everybody_left)
        culprit = self._ending
        if culprit is None and not interrupted and not (self._meeting and self._meeting.failed):
            culprit = self._culprit()
        ended = [culprit] if culprit else []
        if self._paths is None:
            return self._standstill.excused([*found, *ended])
        every = self._paths.explain(found, culprit)
        errors = [] if interrupted or state.everybody_left else [one for one in every if one.is_error]
        if errors and not self._paths.is_certain(culprit):
            cut = self._cut or self._cut_off(errors)
            every = [*(one for one in every if not one.is_error), cut] if cut else every
        return self._standstill.excused(every)

    def _with_host(self, finding: Finding) -> Finding:
        """Agents know the numbers of nodes that do not come, and we know the hosts."""
        if self._meeting is None or self._meeting.going is None or finding.kind is not finding_kinds.NODE_MISSING:
            return finding
        places = self._meeting.going.places.items()
        hosts = {node_name(rank): self._meeting.name(node) for node, (rank, _) in places}
        host = hosts.get(finding.subject.name)
        if host is None:
            return finding
        return replace(
            finding,
            subject=Subject(kind="host", name=host),
            message=f"{finding.message}: {host}",
            remedy=f"run on {host}: time python -c 'import torch'; to wait longer, raise --join-timeout",
        )

    def _culprit(self) -> Finding | None:
        state = self._state
        culprit, said = blame.after_fault(state), any(f.is_error for f in state.findings)
        if self._explained:
            return culprit if blame.knows(state) else None
        # of a node process that was killed all ranks died, and what they still said of each other are echoes
        killed = any((process.exit_code() or 0) < 0 for process in self.session.processes)
        killed |= any(one.was_killed_there for one in self._ended_badly) and not blame.knows(state)
        is_echo = not said and not state.everybody_left and (culprit is None or killed)
        return self._node_failed() if is_echo else culprit

    def _node_failed(self, message: str = "") -> Finding:
        failed = [*self._ended_badly, *(one for one in self.session.processes if one.exit_code())]
        process = (failed or self.session.processes)[0]
        return early_ends.node_failed(process, self._state.world is not None, message)


def run_dir_full(error: RunDirError, what_follows: str) -> Finding:
    """The finding for a run directory that took no more."""
    return finding_kinds.RUN_DIR_FULL.finding(
        subject=Subject(kind="file", name="run directory"),
        message=error.message,
        evidence=(what_follows,),
        remedy=error.remedy,
    )
