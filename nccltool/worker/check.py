"""Looks at a process group of somebody else's program: never makes or destroys one, and never waits for ever.

Ranks meet in the store of the group, where one that does not come hangs nobody. Only when all have come do they
call collectives, without blocking, until the deadline.
"""

import os
import platform
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
import torch
import torch.distributed as dist

from nccltool.core.errors import BadInput
from nccltool.hosts.sources.env import chosen
from nccltool.probe.group_check import GroupCheck, GroupRank, RankResult, incomplete, judged
from nccltool.probe.late_rank import ROUNDS

ELEMENTS = 1 << 20
"""Of float32 in a timed call: 4 MiB, large enough to be moved in several pieces."""
CHECKED = 1 << 16
"""Of float32 in a checked call: every rank works out what all ranks put in."""
REPEATS = 5
_GRACE_S = 5.0
"""Ranks leave one call at different times: as much longer they wait for each other's results."""
_LONGEST_PAUSE_S = 0.05
_PERIOD = 97
"""Values repeat after so many elements. It is prime, so a shift by a chunk is seen; sums stay exact in float32 for
2**24 / 97 ranks."""
_OF_ONE_RANK = ("NCCL_DEBUG_FILE", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_PREFIXES = ("NCCL_", "RCCL_", "TORCH_NCCL_", "GLOO_", "FI_", "UCX_")
_calls: Counter[str] = Counter()
"""How often each group was looked at: keys of the store are never used again."""
Report = TypeVar("Report", GroupRank, RankResult)


class _Late(Exception):
    """A call did not end before the deadline."""


def check(group: "dist.ProcessGroup | None", timeout_s: float) -> GroupCheck:
    """The same result on all ranks that came. Raises BadInput without a group with this rank in it."""
    if not dist.is_available() or not dist.is_initialized():
        raise BadInput("there is no process group", "call torch.distributed.init_process_group first")
    if group is not None and not isinstance(group, dist.ProcessGroup | type(dist.GroupMember.NON_GROUP_MEMBER)):
        message = f"group must be a torch.distributed process group, not {type(group).__name__}"
        raise BadInput(message, "omit it for the default group")
    is_other = group is dist.GroupMember.NON_GROUP_MEMBER
    members = [] if is_other else dist.get_process_group_ranks(group or dist.group.WORLD)
    if dist.get_rank() not in members:
        raise BadInput(f"rank {dist.get_rank()} is not in the group", "call check() only on ranks of the group")
    return _GroupLook(group or dist.group.WORLD, members, timeout_s).check()


class _GroupLook:
    def __init__(self, group: Any, members: Sequence[int], timeout_s: float) -> None:
        self._group, self._size = group, len(members)
        self._rank = members.index(dist.get_rank())
        self._members, self._timeout_s = members, timeout_s
        self._end = time.monotonic() + timeout_s
        name = blake2b(repr(list(members)).encode(), digest_size=8).hexdigest()
        _calls[name] += 1
        self._store = dist.PrefixStore(f"nccltool/check/{name}/{_calls[name]}", store_of_group())
        self._device = _device(group)

    def check(self) -> GroupCheck:
        self._tell("card", _card(self._rank, self._members, self._group, self._device))
        came_ns = time.monotonic_ns()
        cards = self._reports("card", GroupRank, self._end)
        waited_ns = time.monotonic_ns() - came_ns
        absent = self._agreed_absent(cards)
        if absent:
            come = [one for one in cards if one.rank not in absent]
            return incomplete(self._size, come, absent, self._timeout_s)
        result = replace(self._measured(), arrival_wait_ns=waited_ns)
        self._tell("result", result)
        results = self._reports("result", RankResult, max(self._end, time.monotonic()) + _GRACE_S)
        return judged(self._size, cards, results, ELEMENTS * 4)

    def _tell(self, what: str, told: GroupRank | RankResult) -> None:
        self._store.set(f"{what}/{self._rank}", msgspec.json.encode(told).decode())

    def _reports(self, what: str, form: type[Report], end: float) -> list[Report]:
        """What the ranks told, by their number; without those that had not until the deadline."""
        found: dict[int, Report] = {}
        pause = 0.001
        while True:
            for rank in sorted(set(range(self._size)) - found.keys()):
                if not self._store.check([f"{what}/{rank}"]):
                    continue
                found[rank] = msgspec.json.decode(self._store.get(f"{what}/{rank}"), type=form)
            if len(found) == self._size or time.monotonic() > end:
                return [found[rank] for rank in sorted(found)]
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _agreed_absent(self, cards: Sequence[GroupRank]) -> tuple[int, ...]:
        """Who did not come, as the first rank to decide saw it: one that comes later calls no collective alone."""
        mine = sorted(set(range(self._size)) - {one.rank for one in cards})
        said = self._store.compare_set("absent", "", msgspec.json.encode(mine).decode())
        return tuple(msgspec.json.decode(said, type=list[int]))

    def _measured(self) -> RankResult:
        wrong, waits, times = 0, [], []
        try:
            wrong = self._wrong_sums() + self._wrong_gathers()
            token = torch.zeros(1, device=self._device)
            waits = [
                self._timed(lambda: dist.all_reduce(token, group=self._group, async_op=True))
                for _ in range(ROUNDS)
            ]
            data = torch.zeros(ELEMENTS, device=self._device)
            times = [
                self._timed(lambda: dist.all_reduce(data, group=self._group, async_op=True)) / 1e9
                for _ in range(REPEATS)
            ]
        except _Late:
            error = f"a call did not end within {self._timeout_s:g} s"
        except (RuntimeError, ValueError) as failed:  # all that torch.distributed raises is one of them
            error = f"{type(failed).__name__}: {str(failed)[:500]}"
        else:
            error = ""
        return RankResult(rank=self._rank, wrong=wrong, waits_ns=tuple(waits), times_s=tuple(times), error=error)

    def _wrong_sums(self) -> int:
        """Elements of an all-reduce that are not the sum of what the ranks put in."""
        data = self._values(self._rank)
        self._timed(lambda: dist.all_reduce(data, group=self._group, async_op=True))
        expected = sum((self._values(rank) for rank in range(self._size)), torch.zeros_like(data))
        return int((data != expected).sum())

    def _wrong_gathers(self) -> int:
        """Elements of an all-gather that are not what their rank put in."""
        mine = self._values(self._rank)[: CHECKED // self._size or 1]
        parts = [torch.empty_like(mine) for _ in range(self._size)]
        self._timed(lambda: dist.all_gather(parts, mine, group=self._group, async_op=True))
        return sum(int((part != self._values(rank)[: len(mine)]).sum()) for rank, part in enumerate(parts))

    def _values(self, rank: int) -> torch.Tensor:
        """What a rank puts in: it depends on the rank and on the place of each element."""
        return ((torch.arange(CHECKED, device=self._device) * (rank % 5 + 1) + 31 * rank) % _PERIOD).float()

    def _timed(self, call: Callable[[], Any]) -> int:
        """Nanoseconds in a call. Raises _Late at the deadline, and what the call raised."""
        begin = time.perf_counter_ns()
        work = call()
        while not work.is_completed():
            if time.monotonic() > self._end:
                raise _Late
            time.sleep(0)
        work.wait()
        if self._device.type == "cuda":
            torch.cuda.current_stream().synchronize()
        return time.perf_counter_ns() - begin


def store_of_group() -> Any:
    """The store that the default group met in. Raises BadInput where this torch does not give it."""
    get = getattr(dist.distributed_c10d, "_get_default_store", None)
    if get is None:
        raise BadInput("this torch does not give the store of its process group", "use torch 2.4 or newer")
    return get()


def _device(group: Any) -> torch.device:
    backend = str(dist.get_backend(group))
    if "nccl" in backend:
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def _card(rank: int, members: Sequence[int], group: Any, device: torch.device) -> GroupRank:
    on_gpu = device.type == "cuda"
    gpu = str(getattr(torch.cuda.get_device_properties(device), "uuid", "")) if on_gpu else ""
    nccl = ".".join(map(str, torch.cuda.nccl.version())) if on_gpu else ""
    settings = {
        name: value
        for name, value in chosen(dict(os.environ)).items()
        if name.startswith(_PREFIXES) and name not in _OF_ONE_RANK
    }
    return GroupRank(
        rank=rank,
        global_rank=members[rank],
        host=socket.gethostname(),
        pid=os.getpid(),
        device=str(device),
        gpu=gpu,
        world_size=len(members),
        backend=str(dist.get_backend(group)),
        torch=str(torch.__version__),
        nccl=nccl,
        python=platform.python_version(),
        settings=settings,
    )
