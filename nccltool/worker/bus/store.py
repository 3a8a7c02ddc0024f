"""The bus as a torch Store: what elastic's agents, Gloo and NCCL use to find each other."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from torch.distributed import DistNetworkError, DistStoreError, Store

from nccltool.worker.bus import client
from nccltool.worker.bus.client import BusAddress, Connection
from nccltool.worker.bus.messages import Answer, Ask, Op

_PATIENCE_S = 60.0
"""For a second connection of a process that has one."""
_alive: list[Store] = []
"""All of this process. Torch's C++ keeps its own half of a store alive, and not ours."""


class BusStore(Store):
    """Answers torch's calls from the bus. Torch calls it from threads of its own, too."""

    def __init__(self, address: BusAddress, connection: Connection, timeout: timedelta) -> None:
        super().__init__()
        self._address, self._connection = address, connection
        self.set_timeout(timeout)
        _alive.append(self)

    def set(self, key: str, value: str | bytes) -> None:
        self._ask("set", (key,), (_bytes(value),))

    def get(self, key: str) -> bytes:
        return self._wait("get", (key,)).values[0]

    def add(self, key: str, number: int) -> int:
        return self._ask("add", (key,), number=number).number

    def check(self, keys: Sequence[str]) -> bool:
        return bool(self._ask("check", tuple(keys)).number)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._wait("wait", tuple(keys), timeout)

    def delete_key(self, key: str) -> bool:
        return bool(self._ask("delete", (key,)).number)

    def num_keys(self) -> int:
        return self._ask("count").number

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self._ask("swap", (key,), (_bytes(expected), _bytes(desired))).values[0]

    def append(self, key: str, value: str | bytes) -> None:
        self._ask("append", (key,), (_bytes(value),))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return list(self._wait("get", tuple(keys)).values)

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        self._ask("set", tuple(keys), tuple(map(_bytes, values)))

    def has_extended_api(self) -> Literal[True]:
        """append, multi_get and multi_set."""
        return True

    def clone(self) -> "BusStore":
        """Another connection, for another thread."""
        return connect(self._address, _PATIENCE_S, self.timeout)

    # the names by which torch's C++ calls them
    deleteKey, getNumKeys, compareSet = delete_key, num_keys, compare_set  # noqa: N815
    multiGet, multiSet, hasExtendedApi = multi_get, multi_set, has_extended_api  # noqa: N815

    def _wait(self, op: Op, keys: tuple[str, ...], timeout: timedelta | None = None) -> Answer:
        return self._ask(op, keys, timeout_s=(timeout or self.timeout).total_seconds())

    def _ask(
        self,
        op: Op,
        keys: tuple[str, ...] = (),
        values: tuple[bytes, ...] = (),
        number: int = 0,
        timeout_s: float = 0.0,
    ) -> Answer:
        request = Ask(op=op, keys=keys, values=values, number=number, timeout_s=timeout_s)
        try:
            return self._connection.ask(request)
        except client.Late as error:
            raise DistStoreError(str(error)) from error
        except OSError as error:
            raise DistNetworkError(f"the bus of the run: {error}") from error


def connect(address: BusAddress, patience_s: float, timeout: timedelta | None = None) -> BusStore:
    """A store; tries until the time is up. Raises OSError."""
    connection = client.connect(address, patience_s)
    return BusStore(address, connection, timeout or timedelta(seconds=patience_s))


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
