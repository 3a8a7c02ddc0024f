"""The times of single destinations: all ranks send the same bytes to one rank, then to the next."""

from torch import Tensor

from nccltool.core.unknown import Unknown
from nccltool.probe import traffic
from nccltool.probe.collectives.base import Call
from nccltool.worker.agreement import Agreement
from nccltool.worker.probe.comm import TorchComm
from nccltool.worker.probe.timing import Timer


class Destinations:
    """Times each destination of an exchange."""

    def __init__(self, comm: TorchComm, group: Agreement, timer: Timer) -> None:
        self._comm, self._group, self._timer = comm, group, timer

    def times(self, send: Tensor, recv: Tensor, budget_s: float) -> list[list[int]] | Unknown:
        """Nanoseconds of each destination in each round, the same on all ranks; or why there are none."""
        world = self._comm.world_size
        if world == 1:
            return Unknown("one rank has nobody to send to")
        if world > traffic.MOST_DESTINATIONS:
            return Unknown(f"at most {traffic.MOST_DESTINATIONS} ranks are timed one by one, not {world}")
        calls = [self._group.guarded(self._only_to(rank, send, recv)) for rank in range(world)]
        first_ns = sum(self._timer.batch(call, 1)[0] for call in calls)
        rounds = min(traffic.ROUNDS, int(budget_s * 1e9 / max(first_ns, 1)))
        if rounds < traffic.MIN_ROUNDS:
            return Unknown(f"one round takes {first_ns / 1e9:.2g} s, and --budget leaves {budget_s:g} s for all")
        found: list[list[int]] = [[] for _ in calls]
        for _ in range(rounds):
            for mine, call in zip(found, calls, strict=True):
                mine += self._timer.batch(call, 1)
        return found

    def _only_to(self, rank: int, send: Tensor, recv: Tensor) -> Call:
        world = self._comm.world_size
        part = len(recv) // world
        out, into = [0] * world, [0] * world
        out[rank] = part
        if self._comm.rank == rank:
            into = [part] * world
        sent, received = send[:part], recv[: sum(into)]
        return lambda: self._comm.all_to_all_v(received, sent, into, out)
