"""Compares calls of new_group between ranks before torch carries them out, so that none of them hangs.

Ranks meet in the store of the default group. The last to arrive decides; where one never arrives, the first rank
whose time is up does, and all others adopt that.
"""

import inspect
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import count
from typing import Any

import torch.distributed as dist

from nccltool.core.errors import BadInput, DidNotComplete
from nccltool.probe.group_order import NO_MORE, REMEDY, created, problem
from nccltool.worker.check import store_of_group

_LONGEST_PAUSE_S = 0.05
_SAME = "same"
_blocks = count()
"""Keys of the store are never used again."""


@contextmanager
def checked_groups(timeout_s: float) -> Iterator[None]:
    """Compare each new_group in the block. Raises DidNotComplete on all ranks, BadInput without a group."""
    c10d = dist.distributed_c10d if dist.is_available() else None
    if c10d is None or not dist.is_initialized():
        raise BadInput("there is no process group", "call torch.distributed.init_process_group first")
    # new_group, new_subgroups, and DeviceMesh all call this one, whatever name they were imported by
    create = getattr(c10d, "_new_group_with_tag", None)
    if create is None:
        raise BadInput("this torch creates groups in an unknown way", "use torch 2.4 or newer")
    order = _Order(timeout_s)

    def compared(*words: Any, **named: Any) -> Any:
        order.compare(inspect.signature(create).bind(*words, **named).arguments)
        return create(*words, **named)

    c10d._new_group_with_tag = compared
    try:
        yield
    except BaseException as error:
        order.leave(error)
        raise
    finally:
        c10d._new_group_with_tag = create
    order.end()


class _Order:
    """The calls of this rank, and where the others are."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s, self._rank = timeout_s, dist.get_rank()
        self._everyone = range(dist.get_world_size())
        self._store = dist.PrefixStore(f"nccltool/groups/{next(_blocks)}", store_of_group())
        self._numbers = Counter[str]()

    def compare(self, asked: Mapping[str, Any]) -> None:
        """`asked`: the arguments of new_group; with local synchronization, only members call it."""
        ranks = self._everyone if asked.get("ranks") is None else list(asked["ranks"])
        if asked.get("sort_ranks", True):
            ranks = sorted(ranks)
        callers = sorted(ranks) if asked.get("use_local_synchronization") else self._everyone
        if self._rank in callers:
            self._meet(callers, created(ranks, str(asked.get("backend") or dist.get_backend())))

    def end(self) -> None:
        self._meet(self._everyone, NO_MORE)

    def leave(self, error: BaseException) -> None:
        """The others need not wait for this rank."""
        key = self._key(self._everyone)
        self._tell(key, f"{NO_MORE} ({type(error).__name__})", len(self._everyone), self._everyone)

    def _meet(self, callers: Sequence[int], call: str) -> None:
        key, end, pause = self._key(callers), time.monotonic() + self._timeout_s, 0.001
        self._tell(key, call, len(callers), callers)
        while not self._store.check([f"{key}/decided"]):
            if time.monotonic() > end:
                self._decide(key, callers)
                break
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        said = self._store.get(f"{key}/decided").decode()
        if said != _SAME:
            raise DidNotComplete(said, REMEDY)

    def _tell(self, key: str, call: str, ranks: int, callers: Sequence[int]) -> None:
        self._store.set(f"{key}/{self._rank}", call)
        if self._store.add(f"{key}/came", 1) == ranks:
            self._decide(key, callers)

    def _decide(self, key: str, callers: Sequence[int]) -> None:
        """By what the callers told until now; only the first decision counts."""
        calls = {
            rank: self._store.get(f"{key}/{rank}").decode()
            for rank in callers
            if self._store.check([f"{key}/{rank}"])
        }
        said = problem(int(key.rpartition("/")[2]), callers, calls, self._timeout_s)
        self._store.compare_set(f"{key}/decided", "", said or _SAME)

    def _key(self, callers: Sequence[int]) -> str:
        name = blake2b(repr(list(callers)).encode(), digest_size=8).hexdigest()
        self._numbers[name] += 1
        return f"{name}/{self._numbers[name]}"
