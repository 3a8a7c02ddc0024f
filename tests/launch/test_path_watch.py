"""When the hosts of a run in trouble are asked who reaches whom, and what that changes of the findings."""

import itertools
from dataclasses import dataclass, field

import pytest

from nccltool.core.findings import Finding, FindingKind, Subject
from nccltool.launch import events, finding_kinds
from nccltool.launch.events import HalfOpen, Reached
from nccltool.launch.instructions import Go, Goal, Instruction
from nccltool.launch.meeting import Meeting
from nccltool.launch.path_check import PathCheck
from nccltool.launch.path_watch import PathWatch
from nccltool.launch.run_state import RunState
from tests.launch.test_path_check import node
from tests.samples import job

NOW = 100.0


def finding(kind: FindingKind, name: str = "n2") -> Finding:
    return kind.finding(subject=Subject(kind="host", name=name), message="trouble")


HANG = finding_kinds.HANG.finding(subject=Subject(kind="run", name="all ranks"), message="no progress")


def goal(number: int) -> Goal:
    return Goal(node=number, port=1, addresses=(f"10.0.0.{number}",))


@dataclass
class Watched:
    """Two hosts that reached each other, and whose ranks stand still."""

    said: list[Instruction] = field(default_factory=list)
    explained: list[Finding] = field(default_factory=list)
    broken: list[Finding] = field(default_factory=list)
    ranks: dict[int, str] = field(default_factory=lambda: {0: "S", 1: "S"})

    def watch(self, *told: Finding) -> PathWatch:
        wanted = job(nodes=2, nproc_per_node=1, remote=True)
        state = RunState(wanted, 2, 0.0)
        for rank, letter in self.ranks.items():
            state.apply(events.Spawned(rank=rank, node_rank=rank, host=f"h{rank}", pid=1), 0.0)
            state.apply(events.Beat(rank=rank, phase="timing", step=1, calls=1, state=letter), 0.0)
        state.findings += told
        meeting = Meeting(wanted, {0: "n1", 1: "n2"}, False, 0.0)
        for number in (0, 1):
            meeting.hear(node(number))
            goal = 1 - number
            meeting.hear(
                Reached(node=number, goal=goal, port=100 + goal, addresses=(f"10.0.0.{goal}",), failures=())
            )
        meeting.going = Go(nodes=2, places={0: (0, "x:1"), 1: (1, "x:1")}, nproc_per_node=1)
        return PathWatch(state, meeting, [*self.explained, *self.broken], self.broken, self.said.append)


def answer(watch: PathWatch, fails: bool) -> None:
    for number in (0, 1):
        goal = 1 - number
        failures = ("no answer",) if fails else ()
        watch.hear(Reached(node=number, goal=goal, port=1, addresses=(), failures=failures, unanswered=fails))
        watch.hear(HalfOpen(node=number, callers=()))


def test_hosts_are_asked_once_and_waited_for() -> None:
    watched = Watched()
    watch = watched.watch()
    assert not watch.know(NOW)
    assert not watch.know(NOW + 1)
    assert [type(one).__name__ for one in watched.said] == ["TryAgain"]
    answer(watch, fails=True)
    assert watch.know(NOW + 1)
    assert [one.code for one in watch.explain([], HANG)] == ["path-cut"]


@pytest.mark.parametrize(
    ("watched", "told"),
    [
        pytest.param(Watched(ranks={0: "S", 1: "T"}), (), id="a rank is stopped"),
        pytest.param(Watched(explained=[finding(finding_kinds.HOST_LOST)]), (), id="ssh to a host ended"),
        pytest.param(Watched(), (finding(finding_kinds.GPU_ERROR),), id="a worker says what is wrong"),
    ],
)
def test_where_the_culprit_was_seen_nobody_is_asked(watched: Watched, told: tuple[Finding, ...]) -> None:
    watch = watched.watch(*told)
    assert watch.know(NOW)
    assert watched.said == []
    assert watch.explain([], HANG) == [HANG]


@pytest.mark.parametrize(
    ("fails", "culprit", "codes"),
    [
        pytest.param(True, HANG, ["path-cut"], id="nodes that do not come are an echo of the path"),
        pytest.param(True, None, ["path-cut"], id="also where nobody else was named"),
        pytest.param(False, HANG, ["node-missing", "hang"], id="paths that work explain nothing"),
        pytest.param(True, finding(finding_kinds.DEADLINE), ["node-missing", "deadline"], id="the time was up"),
    ],
)
def test_what_broken_paths_explain(fails: bool, culprit: Finding | None, codes: list[str]) -> None:
    missing = finding(finding_kinds.NODE_MISSING)
    watch = Watched().watch(missing)
    assert not watch.know(NOW)
    answer(watch, fails)
    assert [one.code for one in watch.explain([missing], culprit)] == codes


def lost(name: str) -> Finding:
    return finding(finding_kinds.HOST_LOST, name)


@pytest.mark.parametrize(
    ("broken", "fails", "codes"),
    [
        pytest.param([lost("n1")], True, ["path-cut"], id="the pair that is cut is why a login broke"),
        pytest.param([lost("n1"), lost("n2")], False, ["host-lost", "host-lost"], id="only the logins broke"),
    ],
)
def test_a_login_that_broke_is_looked_into(broken: list[Finding], fails: bool, codes: list[str]) -> None:
    """Whose end was at fault, ssh does not know."""
    watch = Watched(broken=broken).watch()
    assert not watch.know(NOW)
    answer(watch, fails)
    explained = watch.explain(broken, None)
    assert [one.code for one in explained] == codes
    if fails:
        assert explained[0].evidence[-1] == "trouble"


def test_a_login_that_broke_with_all_paths_of_its_host_names_the_host() -> None:
    """Three hosts, of which n3 is down."""
    watched = Watched(ranks={0: "S", 1: "S", 2: "S"}, broken=[lost("n3")])
    watch = watched.watch()
    watch.check = PathCheck(
        {0: "n1", 1: "n2", 2: "n3"}, {n: tuple(goal(o) for o in range(3) if o != n) for n in range(3)}, NOW
    )
    for number, other in itertools.permutations(range(2), 2):
        watch.hear(Reached(node=number, goal=other, port=1, addresses=("x",), failures=()))
        watch.hear(Reached(node=number, goal=2, port=1, addresses=(), failures=("no",), unanswered=True))
    assert watch.explain(watched.broken, None) == watched.broken


def test_a_silent_host_is_asked_about_as_its_words_may_be_lost_on_the_way() -> None:
    """Of an end that loses large packets, those at the other ends fall silent one by one."""
    watched = Watched()
    watch = watched.watch()
    watch.state.apply(events.Beat(rank=0, phase="timing", step=1, calls=1, state="S"), NOW - 1)
    watch.state.progress_at = NOW - 60
    assert not watch.know(NOW)
    assert [type(one).__name__ for one in watched.said] == ["TryAgain"]
