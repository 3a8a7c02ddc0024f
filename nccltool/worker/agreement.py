"""Small agreements between the ranks of a group, and calls that are noted on the progress page while they wait."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from nccltool.launch import last_words
from nccltool.worker.progress_page import ProgressPage

_LONGEST_PAUSE_S = 0.5
"""Between two questions to the store: ten thousand ranks ask it no more than twenty thousand times a second."""


class CollectiveFailed(Exception):
    """A torch.distributed call raised; the cause is its exception. It may only echo another rank's death."""


_OF_COMMUNICATION = re.compile(
    r"gloo|nccl|c10d|TCPStore|ProcessGroup|monitoredBarrier|Connection (?:closed|reset|refused)|[Tt]imed out|"
    r"Broken pipe|Work ran for|[Ss]ocket",
    re.IGNORECASE,
)
"""What is in the texts of Gloo, NCCL and the store when a call fails because of another rank or of the network."""


_OF_LOADER = re.compile(r"DataLoader worker \(pid")
"""How torch begins to tell that a process which reads ahead has died."""


def of_communication(error: BaseException) -> bool:
    """Whether communication raised this, and not the program that was about to communicate, nor its GPU: in a
    backward pass all come as the same type, and the stack of a failed kernel may lead through NCCL."""
    if any((sign := last_words.sign_of(str(one))) and not sign.is_echo for one in _chain(error)):
        return False
    return any(isinstance(e, dist.DistError) or _OF_COMMUNICATION.search(str(e)) for e in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


class Agreement:
    """The ranks of a process group: the default one, which has all, or one of its parts."""

    def __init__(
        self, device: torch.device, slot: ProgressPage, group: "dist.ProcessGroup | None" = None, name: str = ""
    ) -> None:
        """`name`: told apart by it, in the store, from all other groups that do the same; the default one has
        none."""
        self.device, self.group = device, group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self._slot, self._name = slot, name
        self._token = torch.zeros(1, device=device)

    def guarded(self, call: Callable[[], None]) -> Callable[[], None]:
        """`call`, noted on the progress page, its exceptions known as those of communication."""
        watched = self._slot.watched(call)

        def guarded() -> None:
            try:
                watched()
            except Exception as error:
                if _OF_LOADER.match(str(error)):
                    raise  # torch's handler of SIGCHLD raises wherever the rank is
                raise CollectiveFailed("in a collective") from error

        return guarded

    def maximum(self, numbers: list[int]) -> list[int]:
        """The largest of each number over all ranks. Nobody has it before all have come: a meeting point."""
        return self._reduced(numbers, dist.ReduceOp.MAX)

    def total(self, number: int) -> int:
        return self._reduced([number], dist.ReduceOp.SUM)[0]

    def number_of(self, rank: int) -> int:
        """The number in the job of a rank of this group."""
        return rank if self.group is None else dist.get_global_rank(self.group, rank)

    def from_rank_0(self, number: int) -> int:
        """What rank 0 says (not negative), on all ranks. A meeting point too."""
        return self.maximum([number if self.rank == 0 else 0])[0]

    def everybodys(self, numbers: list[int]) -> list[list[int]]:
        mine = torch.tensor(numbers, dtype=torch.int64, device=self.device)
        rows = [torch.empty_like(mine) for _ in range(self.size)]
        self._complete(lambda: dist.all_gather(rows, mine, group=self.group))
        return [[int(number) for number in row.tolist()] for row in rows]

    def add_up(self, tensor: Tensor) -> None:
        """The sum of a tensor over all ranks, in its place; returns when it is there."""
        self._complete(lambda: dist.all_reduce(tensor, group=self.group))

    def meet(self) -> None:
        """Return when all ranks have come, also where calls only queue."""
        self.maximum([0])

    def come_together(self, name: str, patience_s: float) -> None:
        """Return when all ranks have come here, once for each name.

        Not inside a call of the backend: what waits there for a rank that has work for minutes is ended by NCCL's
        watchdog. On the progress page it is a wait for others all the same.
        """
        self._come_together(name, patience_s)

    def count_failed(self, name: str, failed: bool, patience_s: float) -> tuple[int, bool]:
        """How many ranks failed, and whether this one is the first of them; returns when all ranks have come here.

        Raises CollectiveFailed when time is up: ranks may wait in a call for one that failed before it.
        """
        store = dist.distributed_c10d._get_default_store()
        is_first = failed and store.add(f"{name}/failed", 1) == 1
        self._come_together(name, patience_s)
        return store.add(f"{name}/failed", 0), is_first

    def _come_together(self, name: str, patience_s: float) -> None:
        # asked again and again: a wait inside the store would keep the backend's own threads from using it
        store, key = store_of_all(), f"{self._name}{name}"
        if store.add(f"{key}/came", 1) == self.size:
            store.set(f"{key}/all", "")
        self.guarded(lambda: until(lambda: store.check([f"{key}/all"]), patience_s))()

    def queue_meeting(self) -> None:
        """Let the devices meet where their streams have come to; the host does not wait."""
        self.guarded(lambda: dist.all_reduce(self._token, group=self.group))()

    def settle(self) -> None:
        """Wait for what is queued on a device."""
        if self.device.type == "cuda":
            self._complete(lambda: None)

    def _reduced(self, numbers: list[int], op: dist.ReduceOp.RedOpType) -> list[int]:
        tensor = torch.tensor(numbers, dtype=torch.int64, device=self.device)
        self._complete(lambda: dist.all_reduce(tensor, op, group=self.group))
        return [int(number) for number in tensor.tolist()]

    def _complete(self, call: Callable[[], object]) -> None:
        def complete() -> None:
            call()
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)

        self.guarded(complete)()


def store_of_all() -> Any:
    """The store in which all ranks of the job met."""
    return dist.distributed_c10d._get_default_store()


def until(happened: Callable[[], bool], patience_s: float) -> None:
    """Ask at once, and ever more rarely: what was waited for is seen late by a quarter of the wait at most."""
    begin = time.monotonic()
    while not happened():
        waited = time.monotonic() - begin
        if waited > patience_s:
            raise TimeoutError(f"other ranks did not arrive within {patience_s:.0f} s")
        time.sleep(min(0.001 + waited / 4, _LONGEST_PAUSE_S))
