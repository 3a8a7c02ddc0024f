"""Ranks that have found each other, and calls that are queued between them."""

import os
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from tests.papergpu import faults
from tests.papergpu.driver import Driver
from tests.papergpu.streams import Point, Stream

_FOREVER = timedelta(days=1)


class Communicator:
    """Ranks that have found each other."""

    def __init__(self, store: Any, rank: int, size: int, driver: Driver, timeout: timedelta) -> None:
        self._store, self._rank, self._size, self._driver, self._timeout = store, rank, size, driver, timeout
        self._gloo: Any = None

    @property
    def gloo(self) -> Any:
        """The host waits here until everybody has come."""
        if self._gloo is None:
            self._meet()
            time.sleep(self._driver.machine.first_call_s)
            options = dist.ProcessGroupGloo._Options()
            options._devices = [dist.ProcessGroupGloo.create_device(hostname="127.0.0.1")]
            options._timeout = _FOREVER
            options._threads = 2
            self._gloo = dist.ProcessGroupGloo(
                dist.PrefixStore("gloo", self._store), self._rank, self._size, options
            )
        return self._gloo

    def _meet(self) -> None:
        """Raises where NCCL does: nobody at rank 0, or two ranks on one GPU."""
        self._store.set(f"gpu/{self._rank}", self._driver.address)
        try:
            addresses = [self._address(rank) for rank in range(self._size)]
        except dist.DistStoreError as error:
            raise dist.DistBackendError(
                f"[{self._rank}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d "
                f"key-value store by key '0', but store->get('0') got error: {error}"
            ) from None
        if os.environ.get("NCCL_MULTI_RANK_GPU_ENABLE") == "1":
            return
        for rank, address in enumerate(addresses):
            if addresses.index(address) != rank and self._rank in (rank, addresses.index(address)):
                raise dist.DistBackendError(self._duplicate(rank, addresses.index(address)))

    def _address(self, rank: int) -> str:
        self._store.wait([f"gpu/{rank}"], self._timeout)
        return str(self._store.get(f"gpu/{rank}"))

    def _duplicate(self, rank: int, other: int) -> str:
        if self._rank == rank:
            rank, other = other, rank
        return faults.DUPLICATE.format(
            line=77,
            what="invalid usage (run with NCCL_DEBUG=WARN for details)",
            version=faults.version_of(self._driver),
            rank=other,
            other=rank,
            device=f"{0x1000 * (1 + self._driver.devices[self._driver.current].number):x}",
        )


class Future(torch.futures.Future):  # type: ignore[misc]
    """Done, as those of CUDA are, when the call is queued: who goes on in Python goes on behind it."""

    def __init__(self, point: Point, value: list[Tensor], driver: Driver) -> None:
        super().__init__()
        self._point, self._value, self._driver = point, value, driver
        point.then(lambda: torch.futures.Future.set_result(self, value))

    def then(self, callback: Callable[[Any], Any]) -> Any:
        stream, result = Stream("then"), torch.futures.Future()
        stream.join(self._point)
        with self._driver.on(stream, self._driver.current):
            result.set_result(callback(self))
            stream.drain()
        return result

    def wait(self) -> list[Tensor]:
        self._driver.stream().join(self._point)
        return self._value

    def value(self) -> list[Tensor]:
        return self.wait()

    def done(self) -> bool:
        return True


class Work(dist.Work):  # type: ignore[misc]
    """A call that is queued."""

    def __init__(self, point: Point, value: list[Tensor], driver: Driver) -> None:
        super().__init__()
        self._point, self._value, self._driver = point, value, driver

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """The current stream waits; the host does not, unless it says how long."""
        if timeout.total_seconds() > 0:
            self._point.wait()
        self._driver.stream().join(self._point)
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return bool(self._point.ns)

    def is_success(self) -> bool:
        return True

    def exception(self) -> None:
        return None

    def result(self) -> list[Tensor]:
        return self._value

    def get_future(self) -> Future:
        return Future(self._point, self._value, self._driver)
