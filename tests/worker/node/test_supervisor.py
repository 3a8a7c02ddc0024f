"""How a rank's end is said, whatever happens beside it."""

import os
import re
import signal
from functools import partial

import pytest

from nccltool.core import processes
from nccltool.launch.events import Event, Exited, Spawned, decode
from nccltool.launch.inside import RankPlace
from nccltool.worker.channel import Channel
from nccltool.worker.node.supervisor import supervise
from tests.samples import job
from tests.support.commands import until

pytestmark = [pytest.mark.torch, pytest.mark.quick]

PLACE = RankPlace(
    launcher="torchrun",
    rank=0,
    world_size=2,
    local_rank=0,
    local_world_size=1,
    node_rank=0,
    store_host="127.0.0.1",
    store_port=1,
    store_is_hosted=True,
)


class EndedMeanwhile(Channel):
    """Somebody ends the supervisor when its rank has ended, and nobody has heard of it yet."""

    def emit(self, *events: Event) -> None:
        if any(isinstance(event, Exited) for event in events):
            os.kill(os.getpid(), signal.SIGTERM)
        super().emit(*events)


def is_dead(pid: int) -> bool:
    return processes.state(pid) == "Z"


class KilledAtOnce(Channel):
    """Somebody kills the rank when it has begun, and the agent ends the supervisor, who has not seen it yet."""

    def emit(self, *events: Event) -> None:
        for event in events:
            if isinstance(event, Spawned):
                os.kill(event.pid, signal.SIGTERM)
                assert until(partial(is_dead, event.pid), LIMIT_S)
                os.kill(os.getpid(), signal.SIGTERM)
        super().emit(*events)


class Told(Channel):
    """Somebody ends the supervisor while its rank lives."""

    number = signal.SIGTERM

    def emit(self, *events: Event) -> None:
        super().emit(*events)
        if any(isinstance(event, Spawned) for event in events):
            os.kill(os.getpid(), self.number)


class ToldBySigint(Told):
    number = signal.SIGINT


LIMIT_S = 20.0


def end_said(channel: type[Channel], fault: str, agent: int | None = None) -> Exited:
    """How a supervisor with such a channel says that its rank ended."""
    read, write = os.pipe()
    order = job(nodes=2, nproc_per_node=1, emulated=False, backend="gloo", fault=fault)
    pid = processes.forked(lambda: supervise(order, PLACE, channel(write, None), agent))
    os.close(write)
    with os.fdopen(read, "rb") as out:
        said = out.read()
    os.waitpid(pid, 0)
    (ended,) = (event for line in said.splitlines() if isinstance(event := decode(line), Exited))
    return ended


def test_an_end_is_said_also_when_the_agent_ends_all_at_that_moment() -> None:
    """As it does when another rank of its node has failed: the rank was not told, it had ended by itself."""
    assert end_said(EndedMeanwhile, "exit:rank=0,at=start") == Exited(rank=0, code=3)


def test_a_rank_that_died_before_all_were_ended_was_not_told() -> None:
    assert end_said(KilledAtOnce, "hang:rank=0,at=start") == Exited(rank=0, code=-signal.SIGTERM)


def test_any_may_end_a_rank_that_a_launcher_started() -> None:
    assert end_said(Told, "hang:rank=0,at=start") == Exited(rank=0, code=-signal.SIGTERM, told=True)


@pytest.mark.parametrize("channel", [Told, ToldBySigint])
def test_who_ended_a_supervisor_but_has_no_part_in_the_run_is_named(channel: type[Told]) -> None:
    ended = end_said(channel, "hang:rank=0,at=start", agent=os.getpid())
    assert (ended.code, ended.told) == (-signal.SIGTERM, False)
    assert re.fullmatch(rf"{channel.number.name} from process \d+ \(.+\)", ended.ended_by)


def test_a_supervisor_whose_rank_is_done_can_be_ended() -> None:
    """Torch elastic keeps it until the others of its node are done too."""
    read, write = os.pipe()
    order = job(nodes=2, nproc_per_node=1, emulated=False, backend="gloo", fault="exit:rank=0,at=start")

    def stay() -> int:
        supervise(order, PLACE, Channel(write, None))
        os.close(write)
        signal.pause()
        return 0

    pid = processes.forked(stay)
    os.close(write)
    with os.fdopen(read, "rb") as out:
        out.read()
    os.kill(pid, signal.SIGTERM)
    assert until(partial(is_dead, pid), LIMIT_S)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
