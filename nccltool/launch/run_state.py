"""What the runner knows at each moment, built up from the event stream. No I/O, no clock of its own."""

import signal
from collections import deque
from dataclasses import dataclass, field

from nccltool.core import processes
from nccltool.core.findings import Finding
from nccltool.core.text import is_noise
from nccltool.launch import events, strangers
from nccltool.launch.events import RankFacts
from nccltool.launch.fact_pieces import Assembly
from nccltool.launch.job import Job, ProductState
from nccltool.launch.last_words import LastWords, Sign, sign_of
from nccltool.launch.stopped import StoppedProcess

LOG_TAIL = 12
"""Lines of a rank's log that are kept for a finding."""
ENDED = frozenset((-signal.SIGTERM, -signal.SIGHUP, -signal.SIGINT, -signal.SIGQUIT))
"""Exit codes of what somebody ended by a signal that asks for the end, unlike SIGKILL or a crash."""
RESUMED_S = 5.0
"""What ranks said while a connection was stopped comes at once when it goes on; it is read within seconds."""
LOOKING_AT_GPU = "checking its GPU"
"""The phase of a rank while it asks CUDA, which may hang with the driver."""
WAITING_FOR_GROUPS = "waiting for other groups"
"""The phase of a rank whose own group is done with a step that other groups run at the same time."""


@dataclass(slots=True)
class RankState:
    """The last that was heard of a rank."""

    rank: int
    node_rank: int = 0
    host: str = "?"
    pid: int | None = None
    facts: RankFacts | None = None
    entered: events.Enter | None = None
    beat: events.Beat | None = None
    failed: events.Failed | None = None
    raised: Sign | None = None
    """What the text of its exception says of whose fault it was."""
    exit_code: int | None = None
    was_told: bool = False
    """It was ended by way of its supervisor, as agents, launchers and schedulers do."""
    ended_by: str = ""
    """Which signal its supervisor got from a process that has no part in the run."""
    said_bye: bool = False
    stack: str = ""
    log: deque[str] = field(default_factory=lambda: deque(maxlen=LOG_TAIL))
    words: LastWords = field(default_factory=LastWords)
    heard_at: float = 0.0
    moved_at: float = 0.0
    """When it was last seen to get on."""
    fault_at: float | None = None
    """When it failed or died."""

    @property
    def ended(self) -> bool:
        """Nothing more will come from it."""
        return self.exit_code is not None

    @property
    def died(self) -> bool:
        """Ended without having said why."""
        return self.exit_code is not None and not self.said_bye and self.failed is None

    @property
    def is_stopped(self) -> bool:
        """Its process is in state T: something sent it SIGSTOP."""
        return self.beat is not None and self.beat.state in processes.STOPPED

    @property
    def is_looking_at_gpu(self) -> bool:
        """It has asked CUDA, and has no answer yet."""
        return self.beat is not None and self.beat.phase == LOOKING_AT_GPU and not self.ended

    @property
    def is_waiting_for_groups(self) -> bool:
        """Its own group got over the step: what the others hang in is not its fault."""
        return self.beat is not None and self.beat.phase == WAITING_FOR_GROUPS

    @property
    def inside_call(self) -> bool:
        """In a communication call: waiting for others, as far as anyone can tell."""
        return self.beat is not None and self.beat.calls % 2 == 1

    def moved(self, beat: events.Beat, now: float) -> bool:
        """Take in where it is; whether it has got on since."""
        last, self.beat = self.beat, beat
        stands = last and (last.phase, last.step, last.calls) == (beat.phase, beat.step, beat.calls)
        if stands and not beat.flowed:  # over a slow path, one call may take longer than --timeout
            return False
        self.moved_at = now
        return True

    def end(self, event: events.Exited) -> None:
        """Take in how its process ended."""
        self.exit_code, self.was_told, self.ended_by = event.code, event.told, event.ended_by
        if self.pid is None and event.host:
            self.host, self.node_rank = event.host, event.node_rank

    def hear(self, text: str, now: float) -> None:
        """A line that its process wrote."""
        if not is_noise(text):
            self.log.append(text)
            self.words.take(text, now)


class RunState:
    """All ranks, and what the product keeps of what they say."""

    def __init__(self, job: Job, ranks_seen: int, now: float) -> None:
        self.job = job
        self.product: ProductState = job.new_state()
        self.expected_ranks = ranks_seen
        """How many ranks must be heard of here."""
        self.ranks: dict[int, RankState] = {}
        self.hosts_met: list[str] = []
        """Remote hosts that spoke, also those whose ranks never did."""
        self.world: events.World | None = None
        self.findings: list[Finding] = []
        self.started_at = self.progress_at = now
        self.listened_until = now
        """Nothing more had come by then."""
        self.fault_at: float | None = None
        self.faults: list[int] = []
        """Ranks in the order in which they failed or died."""
        self.one_clock = True
        """Whether the times of all ranks can be compared; not where each command of a run wrote its own."""
        self.agents_killed: list[events.AgentKilled] = []
        self.stopped: dict[tuple[int, str, str], events.Stopped] = {}
        """By node, host, and who has looked: processes above the ranks that are stopped now."""
        self.stopped_at_fault: list[tuple[str, StoppedProcess]] = []
        """Those that were stopped when the first rank failed, or until shortly before."""
        self._resumed_at, self._resumed = 0.0, list[tuple[str, StoppedProcess]]()
        self.all_was_told = False
        """Nobody is there who could say more, and nobody but us would have ended supervisors before they spoke."""
        self.began: dict[int, float] = {}
        """When the first rank began each step."""
        self.counted: dict[str, events.Counted] = {}
        """The last that each host told of its network."""
        self.snapshots = Assembly()
        """The facts of the nodes' hosts, where there are several."""
        self._refused, self._refused_from = 0, dict[str, None]()
        self._left, self._ended = 0, 0
        """How many ranks are done in order, and how many have ended: asked for at every event of every rank."""

    def expect(self, job: Job, now: float) -> None:
        """Remote nodes have met: how many ranks there will be is known now."""
        assert job.nodes is not None
        assert job.nproc_per_node is not None
        self.job, self.expected_ranks = job, job.nodes * job.nproc_per_node
        self.progress_at = now

    def for_another_attempt(self, job: Job, ranks_seen: int, product: ProductState, now: float) -> "RunState":
        """When all ranks are started anew; the product says what it keeps."""
        after = RunState(job, ranks_seen, now)
        after.product, after.started_at = product, self.started_at
        return after

    def left_s(self, now: float) -> float:
        """Until the deadline."""
        return round(self.started_at + self.job.deadline_s - now, 3)

    @property
    def world_size(self) -> int:
        """All ranks of the run, or until they have met, those that were asked for."""
        return self.world.world_size if self.world else self.expected_ranks

    @property
    def stopped_above(self) -> list[tuple[str, StoppedProcess]]:
        """Host and process of each above the ranks that is stopped."""
        return [(event.host, one) for event in self.stopped.values() for one in event.processes]

    @property
    def everybody_spawned(self) -> bool:
        """All ranks have a process."""
        return 0 < self.expected_ranks == len(self.ranks)  # 0: not known before the nodes have met

    @property
    def everybody_left(self) -> bool:
        """All ranks are done in order."""
        return self.everybody_spawned and self._left == len(self.ranks)

    @property
    def killed(self) -> bool:
        """A rank or a whole agent was ended by a signal that others send."""
        codes = (self.ranks[rank].exit_code or 0 for rank in self.faults)
        return bool(self.agents_killed) or any(-code in (signal.SIGTERM, signal.SIGKILL) for code in codes)

    @property
    def everybody_ended(self) -> bool:
        """No rank that ever started is still there."""
        return bool(self.ranks) and self._ended == len(self.ranks)

    def apply(self, event: events.Event, now: float) -> None:
        self.product.take(event)
        rank = event.facts.rank if isinstance(event, events.Hello) else getattr(event, "rank", None)
        if isinstance(rank, int):
            state = self.ranks.get(rank)
            if state is None:
                state = self.ranks[rank] = RankState(rank)
            state.heard_at = now
            self._apply_to_rank(state, event, now)
        else:
            self._apply_to_run(event, now)

    def _apply_to_rank(self, state: RankState, event: events.Event, now: float) -> None:
        match event:
            case events.Beat():
                if not state.moved(event, now):
                    return
            case events.Log():
                state.hear(event.text, now)
                return
            case events.Stack():
                state.stack = event.text
                return
            case events.Spawned():
                state.node_rank, state.host, state.pid = event.node_rank, event.host, event.pid
            case events.Hello():
                state.facts, state.host = event.facts, event.facts.host
                state.node_rank = event.facts.node_rank
            case events.Enter():
                state.entered, state.moved_at = event, now
                self.began.setdefault(event.step, now)
            case events.Bye():
                self._left += not state.said_bye
                state.said_bye = True
            case events.Failed():
                state.failed, state.raised = event, sign_of(event.text)
                self._fault(state, now)
            case events.Exited() if not state.ended:  # its supervisor may end in another way later
                self._ended += 1
                state.end(event)
                if state.died:
                    self._fault(state, now)
        self.progress_at = now

    def _fault(self, state: RankState, now: float) -> None:
        if self.fault_at is None:
            lately = self._resumed if now - self._resumed_at < RESUMED_S else []
            self.fault_at, self.stopped_at_fault = now, self.stopped_above or lately
        if state.fault_at is None:
            state.fault_at = now
            self.faults.append(state.rank)

    def _refuse(self, event: events.Refused) -> None:
        """One finding for all that were refused; a flood of strangers is no progress of the run."""
        self._refused += event.connections
        self._refused_from.update(dict.fromkeys(event.addresses))
        finding = strangers.refused(self._refused, tuple(self._refused_from))
        self.findings = [*(one for one in self.findings if one.kind is not finding.kind), finding]

    def _apply_to_run(self, event: events.Event, now: float) -> None:
        if isinstance(event, events.Stopped):
            before = self.stopped_above
            self.stopped[event.node, event.host, event.watcher] = event
            if before and not self.stopped_above:
                self._resumed_at, self._resumed = now, before
            return
        if isinstance(event, events.Counted):  # told of a run that hangs, too
            self.counted[event.host] = event
            return
        if isinstance(event, events.Refused):
            self._refuse(event)
            return
        self.progress_at = now
        match event:
            case events.World():
                self.world = event
            case events.Reported():
                self.findings.append(event.finding)
                if event.finding.is_error:
                    self.fault_at = self.fault_at or now
            case events.AgentKilled():
                self.agents_killed.append(event)
                self.fault_at = self.fault_at or now
            case events.FactsPiece():
                self.snapshots.take(event)
