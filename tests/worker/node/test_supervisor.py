"""How a rank's end is said, whatever happens beside it."""

import os
import signal

import pytest

from nccltool.core import processes
from nccltool.launch.events import Event, Exited, encode
from nccltool.launch.inside import RankPlace
from nccltool.worker.channel import Channel
from nccltool.worker.node.supervisor import supervise
from tests.samples import job

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


def test_an_end_is_said_also_when_the_agent_ends_all_at_that_moment() -> None:
    """As it does when another rank of its node has failed: the rank was not told, it had ended by itself."""
    read, write = os.pipe()
    order = job(nodes=2, nproc_per_node=1, emulated=False, backend="gloo", fault="exit:rank=0,at=start")
    pid = processes.forked(lambda: supervise(order, PLACE, EndedMeanwhile(write, None)))
    os.close(write)
    with os.fdopen(read, "rb") as out:
        said = out.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code > 0
    assert encode(Exited(rank=0, code=code)) in said
