"""Which operations of plug-ins are left out, and whose fault an exception is."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from nccltool.core.plugins import PluginFailed, ToolPlugin
from nccltool.probe.collectives.base import whole
from nccltool.probe.events import PluginRaised
from nccltool.probe.plan import Step
from nccltool.worker.agreement import CollectiveFailed
from nccltool.worker.probe import comm, plugin_trial
from nccltool.worker.probe.plugin_trial import PluginTrial

pytestmark = [pytest.mark.torch, pytest.mark.quick]
ONE = ToolPlugin(family="collectives", name="far", module="acme.far", package="acme", version="1.0")
STEP = Step(3, "far", "out-of-place", whole(256, 2, 4))


def in_comm(error: Exception) -> None:
    """Raise from a function that stands in worker/probe/comm.py."""
    source = compile("def send():\n    raise error\n", comm.__file__ or "", "exec")
    names: dict[str, Any] = {"error": error}
    exec(source, names)
    names["send"]()


@pytest.mark.parametrize(
    ("error", "below_comm", "is_plugins"),
    [
        (ZeroDivisionError("no way"), False, True),
        (RuntimeError("no way"), False, True),
        (SystemExit(3), False, True),
        (ValueError("tensors differ"), True, True),
        (RuntimeError("Connection closed by peer"), True, False),
    ],
    ids=repr,
)
def test_whose_exception_it_is(error: Exception, below_comm: bool, is_plugins: bool) -> None:
    def call() -> None:
        if below_comm:
            in_comm(error)
        raise error

    with pytest.raises(PluginFailed if is_plugins else type(error)) as caught:
        plugin_trial.named(ONE, call)()
    assert not is_plugins or caught.value.__cause__ is error


@dataclass
class FakeGroup:
    """Another rank says `others` times that it failed; `comes`: how many meetings it comes to."""

    others: tuple[int, ...]
    comes: int = 2
    rank: int = 1
    met: list[tuple[str, bool, float]] = field(default_factory=list)

    def count_failed(self, name: str, failed: bool, patience_s: float) -> tuple[int, bool]:
        self.met.append((name, failed, patience_s))
        if len(self.met) > self.comes:
            raise CollectiveFailed("in a collective") from TimeoutError("other ranks did not arrive within 3 s")
        there = self.others[len(self.met) - 1]
        return there + failed, failed and not there

    def settle(self) -> None:
        pass


@dataclass
class Trial:
    """A trial of one rank, and what it told."""

    group: FakeGroup
    told: list[PluginRaised] = field(default_factory=list)

    def __post_init__(self) -> None:
        channel = SimpleNamespace(emit=self.told.append)
        self.trial = PluginTrial(SimpleNamespace(group=self.group, channel=channel), 6.0)  # type: ignore[arg-type]


def good() -> None:
    pass


def bad() -> Any:
    raise PluginFailed(ONE, "no way")


def in_a_collective() -> None:
    raise CollectiveFailed("in a collective") from PluginFailed(ONE, "no way")


def test_one_that_works() -> None:
    one = Trial(FakeGroup((0, 0)))
    assert one.trial.passes(STEP, lambda: good, 1.0)
    assert not one.trial.is_broken("far")
    assert one.group.met == [("plug-in/3/made", False, 13.0), ("plug-in/3/called", False, 13.0)]


@pytest.mark.parametrize(
    ("make", "others", "told"),
    [
        (bad, (0, 0), 1),
        (bad, (1, 0), 0),
        (lambda: in_a_collective, (0, 0), 1),
        (lambda: bad, (0, 0), 1),
        (lambda: good, (1, 0), 0),
        (lambda: good, (0, 1), 0),
    ],
)
def test_all_ranks_leave_it_out_and_the_first_says_why(make: Any, others: tuple[int, ...], told: int) -> None:
    one = Trial(FakeGroup(others))
    assert not one.trial.passes(STEP, make, 0.0)
    assert one.trial.is_broken("far")
    text = "plug-in far (collectives of acme 1.0) failed: no way"
    assert one.told == [PluginRaised(rank=1, op="far", bytes=1024, text=text)] * told


def test_where_the_others_are_stuck_the_plug_in_is_at_fault() -> None:
    one = Trial(FakeGroup((0, 0), comes=1))
    with pytest.raises(PluginFailed, match="no way"):
        one.trial.passes(STEP, lambda: in_a_collective, 0.0)
    assert one.group.met[-1] == ("plug-in/3/called", True, 3.0)


def test_a_network_that_fails_is_not_the_plug_ins() -> None:
    def lost() -> None:
        raise CollectiveFailed("in a collective") from RuntimeError("Connection closed by peer")

    with pytest.raises(CollectiveFailed):
        Trial(FakeGroup((0, 0))).trial.passes(STEP, lambda: lost, 0.0)
    with pytest.raises(CollectiveFailed):
        Trial(FakeGroup((0, 0), comes=0)).trial.passes(STEP, lambda: good, 0.0)
