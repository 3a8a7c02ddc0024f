"""Ctrl-C, a scheduler's SIGTERM and a closed terminal, taken alike. What nohup or `&` turned off stays off."""

import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def take(
    handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals
) -> dict[signal.Signals, Any]:
    """Have these signals (all when none is named) call the handler; what they did before."""
    wanted = [number for number in numbers or ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in wanted}


def ignore() -> None:
    """At the end of a process: Python restores the default handlers while it tidies up, and a signal then would be
    how we end."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


_held: list[list[int]] = []
"""What came, for each `held` that is entered, the outermost first."""


@contextlib.contextmanager
def held(*numbers: signal.Signals, once: bool = False) -> Iterator[list[int]]:
    """These signals (all when none is named) are noted and do nothing else in here; `once`: a second one does.

    Where one is inside another, both know what came in either: a signal between their beginnings is not lost.
    """
    came: list[int] = [number for number in (_held[-1] if _held else ()) if number in (numbers or ENDING)]

    def note(number: int, frame: FrameType | None) -> None:
        for noted in _held:
            noted.append(number)
        if once:
            _give_back(before)

    _held.append(came)
    before = take(note, *numbers)
    try:
        yield came
    finally:
        _give_back(before)
        _held.pop()


def _give_back(before: Mapping[signal.Signals, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)
