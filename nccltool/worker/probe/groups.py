"""Groups of ranks that measure the same operation at the same time, or one while the others are idle.

All ranks meet before each round, so that all groups begin together. A group that has its times goes on with the
operation until the others have theirs: nobody is measured on a network that has become empty. The first rank of
each group puts the result into the store; rank 0 of the job brings the results to the runner as they come.
"""

import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from statistics import median_low

import msgspec
import torch
import torch.distributed as dist

from nccltool.launch import allowances
from nccltool.launch.run_state import WAITING_FOR_GROUPS
from nccltool.probe.collectives.base import Call
from nccltool.probe.events import Result
from nccltool.probe.job import ProbeJob
from nccltool.probe.plan import Round
from nccltool.probe.result import RowGroup
from nccltool.probe.split import SplitGroup
from nccltool.worker.agreement import CollectiveFailed, store_of_all, until
from nccltool.worker.probe.step import Prober, ToRunner
from nccltool.worker.rank.tools import RankTools

_BUSY_NS = 20_000_000
"""Of calls between two questions whether the other groups are done."""
_MOST_BUSY = 64
_BUSY_SHARE = 0.5
"""Of --timeout: for so long a group waits for others by working, so that one that hangs is noticed."""


class _Told(msgspec.Struct, frozen=True):
    """What the first rank of a group puts into the store."""

    samples: tuple[int, ...]
    result: Result


class _ToStore:
    """The first rank of a group leaves the result for rank 0 of the job (a Reporter)."""

    def __init__(self) -> None:
        self.round = 0

    def report(self, samples: Sequence[int], result: Result) -> None:
        place = store_of_all().add(_key(self.round, "came"), 1)
        text = msgspec.json.encode(_Told(tuple(samples), result)).decode()
        store_of_all().set(_key(self.round, str(place)), text)


class GroupProber:
    """Runs rounds of steps, in the same order on all ranks of the job."""

    def __init__(self, job: ProbeJob, tools: RankTools, groups: Sequence[SplitGroup], backend: str) -> None:
        self._job, self._tools, self._world, self._slot = job, tools, tools.group, tools.slot
        self._to_store, self._to_runner = _ToStore(), ToRunner(job, tools)
        self._number = next((n for n, one in enumerate(groups) if self._world.rank in one.ranks), None)
        self._prober: Prober | None = None
        if self._number is not None:
            self._group = groups[self._number]
            mine = tools.within(self._joined(backend), f"group/{self._number}/")
            self._mine, self._prober = mine.group, Prober(job, mine, self._to_store)

    def run(self, rounds: Sequence[Round]) -> None:
        for number, one in enumerate(rounds):
            self._meet()
            self._to_store.round = number
            step = None if self._number is None else one.steps[self._number]
            if step is not None and self._prober is not None:
                of = RowGroup(name=self._group.name, world_size=self._mine.size, alone=one.is_alone)
                then = None if one.is_alone else partial(self._stay_busy, one.running)
                self._prober.run(step, of, then)
            if self._world.rank == 0:
                self._collect(number, one)
        self._meet()

    def _joined(self, backend: str) -> "dist.ProcessGroup":
        """The process group of this rank's group, after the first contact."""
        ranks, device = list(self._group.ranks), self._world.device
        self._slot.phase("connecting", allowance_s=allowances.of_first_contact(backend, len(ranks)))

        def join() -> "dist.ProcessGroup":
            net = timedelta(seconds=allowances.of_libraries(self._job.deadline_s))
            # ranks of other groups do not take part: with hundreds of groups, each would wait for all of them
            group = dist.new_group(ranks, timeout=net, backend=backend, use_local_synchronization=True)
            assert isinstance(group, dist.ProcessGroup)
            dist.all_reduce(torch.zeros(1, device=device), group=group)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            return group

        try:
            return self._slot.watched(join)()
        except Exception as error:
            raise CollectiveFailed(f"while group {self._group.name} was being set up") from error

    def _meet(self) -> None:
        self._slot.phase(WAITING_FOR_GROUPS)
        self._world.meet()

    def _stay_busy(self, groups: int, call: Call, ns: Sequence[int]) -> None:
        """Go on with the operation until all groups of the round have their times."""
        assert self._prober is not None
        store, key = store_of_all(), _key(self._to_store.round, "timed")
        leads, end = self._mine.rank == 0, time.monotonic() + _BUSY_SHARE * self._job.timeout_s
        if leads and store.add(key, 1) == groups:
            store.set(f"{key}/all", "")
        self._slot.phase("keeping busy")
        count = max(1, min(_MOST_BUSY, _BUSY_NS // max(median_low(ns), 1)))
        while not self._mine.from_rank_0(int(leads and (store.check([f"{key}/all"]) or time.monotonic() > end))):
            self._prober.timer.keep_busy(call, count)

    def _collect(self, number: int, one: Round) -> None:
        """Bring the results of a round to the runner, each as soon as it is there."""
        store = store_of_all()
        for place in range(1, one.running + 1):
            key = _key(number, str(place))
            self._slot.phase(WAITING_FOR_GROUPS)
            came = partial(store.check, [key])
            # the runner ends the run before, and names the culprit
            self._slot.watched(partial(until, came, self._job.deadline_s))()
            told = msgspec.json.decode(bytes(store.get(key)), type=_Told)
            self._to_runner.report(told.samples, told.result)


def _key(number: int, what: str) -> str:
    return f"nccltool/split/{number}/{what}"
