"""Sends and receives that NCCL Inspector recorded, matched in order between each two ranks.

Each end waits for the other one, so the time of the end that waits less is that of the data. Records have numbers,
which grow on each rank; a number is not the same at both ends.
"""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SendRoute:
    """What the calls between two ranks of a communicator have in common."""

    source: int
    target: int
    bytes: int


@dataclass(slots=True)
class _End:
    """The calls of one of the two ranks."""

    numbers: "array[int]" = field(default_factory=lambda: array("Q"))
    times_us: "array[float]" = field(default_factory=lambda: array("d"))

    def in_order(self) -> list[float]:
        return [took_us for _, took_us in sorted(zip(self.numbers, self.times_us, strict=True))]


@dataclass(slots=True)
class Transfers:
    """The calls of a route, as both ends have recorded them."""

    sent: _End = field(default_factory=_End)
    received: _End = field(default_factory=_End)

    def add(self, number: int, took_us: float, is_send: bool) -> None:
        end = self.sent if is_send else self.received
        end.numbers.append(number)
        end.times_us.append(took_us)

    def times_us(self) -> list[float]:
        """Of each transfer; where the ends have recorded different numbers of them, those of the end with more."""
        sent, received = self.sent.in_order(), self.received.in_order()
        if len(sent) == len(received):
            return [min(pair) for pair in zip(sent, received, strict=True)]
        return max(sent, received, key=len)


def by_size(routes: Mapping[SendRoute, Transfers]) -> Iterator[tuple[int, list[float]]]:
    """(bytes, microseconds of all transfers of that size)."""
    times: dict[int, list[float]] = {}
    for route, transfers in routes.items():
        times.setdefault(route.bytes, []).extend(transfers.times_us())
    yield from times.items()
