"""How long a step of a pipeline takes whose messages are slow: the programs of its ranks, played through. Pure.

Gloo's messages wait for both ends, and torch's schedules wait for most messages before they compute on. Where a
message is short beside a stage's arithmetic, the formulas of nccltool.train.pipeline_schedules say the same.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

PLAYED = ("gpipe", "1f1b")
"""Schedules with one stage on each rank, whose programs are known here."""
_FORWARD, _BACKWARD = 1, -1


class _Message(NamedTuple):
    sender: int
    way: int
    """To the next rank, or to the one before."""
    micro_batch: int


class _Act(NamedTuple):
    kind: Literal["post", "wait", "compute"]
    messages: tuple[_Message, ...] = ()
    seconds: float = 0.0


@dataclass
class _Wires:
    """Messages under way: each begins when both ends are ready for it, and after those before it on its way.

    Gloo sends a message once its receiver has announced that it is ready. The announcement waits behind what the
    receiver is just sending the other way: two ranks that exchange messages send one after the other.
    """

    seconds: float
    senders: dict[_Message, float] = field(default_factory=dict)
    receivers: dict[_Message, float] = field(default_factory=dict)
    begun: dict[_Message, float] = field(default_factory=dict)
    arrived: dict[_Message, float] = field(default_factory=dict)
    free: dict[tuple[int, int], float] = field(default_factory=lambda: defaultdict(float))

    def post(self, message: _Message, rank: int, now: float) -> None:
        if rank == message.sender:
            self.senders[message] = now
        else:
            self.receivers[message] = max(now, self.free[rank, -message.way])
        if message in self.senders and message in self.receivers:
            wire = message.sender, message.way
            begin = max(self.senders[message], self.receivers[message], self.free[wire])
            self.begun[message] = begin
            self.arrived[message] = self.free[wire] = begin + self.seconds

    def done(self, message: _Message, rank: int) -> float | None:
        """For the receiver, it has arrived; for the sender, its socket has taken it. None: not yet."""
        return (self.begun if rank == message.sender else self.arrived).get(message)


def seconds(schedule: str, forward: Sequence[float], message: float, micro_batches: int) -> float:
    """Of all micro-batches. `forward`: of a micro-batch on each rank; backward takes twice as long."""
    program = _one_forward_one_backward if schedule == "1f1b" else _all_forward
    ranks = len(forward)
    acts = [list(program(rank, ranks, forward[rank], micro_batches)) for rank in range(ranks)]
    wires, now, place = _Wires(message), [0.0] * ranks, [0] * ranks
    while any(at < len(of_rank) for at, of_rank in zip(place, acts, strict=True)):
        before = list(place)
        for rank, of_rank in enumerate(acts):
            while place[rank] < len(of_rank) and _done(of_rank[place[rank]], wires, now, rank):
                place[rank] += 1
        assert place != before, "a schedule waits for itself"
    return max(now)


def _done(act: _Act, wires: _Wires, now: list[float], rank: int) -> bool:
    """Whether an act can be done by now; then its rank's clock has advanced."""
    if act.kind == "wait":
        ends = [wires.done(one, rank) for one in act.messages]
        if None in ends:
            return False
        now[rank] = max(now[rank], *(end for end in ends if end is not None), 0.0)
    elif act.kind == "post":
        for one in act.messages:
            wires.post(one, rank, now[rank])
    else:
        now[rank] += act.seconds
    return True


class _Rank:
    """The messages of a rank, in the words of torch's schedules; at the ends there are none."""

    def __init__(self, rank: int, ranks: int) -> None:
        self._rank, self._last = rank, ranks - 1

    def forward_in(self, number: int) -> tuple[_Message, ...]:
        return (_Message(self._rank - 1, _FORWARD, number),) if self._rank else ()

    def forward_out(self, number: int) -> tuple[_Message, ...]:
        return (_Message(self._rank, _FORWARD, number),) if self._rank < self._last else ()

    def backward_in(self, number: int) -> tuple[_Message, ...]:
        return (_Message(self._rank + 1, _BACKWARD, number),) if self._rank < self._last else ()

    def backward_out(self, number: int) -> tuple[_Message, ...]:
        return (_Message(self._rank, _BACKWARD, number),) if self._rank else ()


def _both(messages: tuple[_Message, ...]) -> Iterator[_Act]:
    yield _Act("post", messages)
    yield _Act("wait", messages)


def _all_forward(rank: int, ranks: int, forward: float, micro_batches: int) -> Iterator[_Act]:
    """ScheduleGPipe of torch 2.13: sends are waited for at the end of each pass."""
    mine = _Rank(rank, ranks)
    for incoming, outgoing, each in (
        (mine.forward_in, mine.forward_out, forward),
        (mine.backward_in, mine.backward_out, 2 * forward),
    ):
        for number in range(micro_batches):
            yield from _both(incoming(number))
            yield _Act("compute", seconds=each)
            yield _Act("post", outgoing(number))
        for number in range(micro_batches):
            yield _Act("wait", outgoing(number))


def _one_forward_one_backward(rank: int, ranks: int, forward: float, micro_batches: int) -> Iterator[_Act]:
    """Schedule1F1B of torch 2.13: in the middle, a send is waited for together with the next receive."""
    mine, warm = _Rank(rank, ranks), min(micro_batches, ranks - rank)
    sent: tuple[_Message, ...] = ()
    for number in range(warm):
        yield from _both(mine.forward_in(number))
        yield _Act("compute", seconds=forward)
        yield _Act("wait", sent)
        sent = ()
        if number < warm - 1:
            sent = mine.forward_out(number)
            yield _Act("post", sent)
    left = mine.forward_out(warm - 1)
    for number in range(micro_batches):
        if number <= micro_batches - warm:
            yield from _both(left + mine.backward_in(number))
        else:
            yield from _both(mine.backward_in(number))
        yield _Act("compute", seconds=2 * forward)
        following = number + warm
        if following < micro_batches:
            yield from _both(mine.backward_out(number) + mine.forward_in(following))
            yield _Act("compute", seconds=forward)
            left = mine.forward_out(following)
        else:
            yield _Act("wait", sent)
            sent = mine.backward_out(number)
            yield _Act("post", sent)
    yield _Act("wait", sent)
