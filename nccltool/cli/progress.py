"""What standard error shows while ranks run: on a terminal a few lines that are drawn again, else a line a step.

It is drawn by the runner between two events, so each drawing is short, they are seldom, and one that would have to
wait for the terminal (Ctrl-S, a full pipe) is left out: nothing here may hold up a measurement.
"""

import contextlib
import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Protocol, TextIO, TypeVar

from nccltool.cli.looks import look_of_progress
from nccltool.cli.streams import say
from nccltool.core import signals
from nccltool.core.look import Look

State = TypeVar("State", contravariant=True)
_REFRESH_S = 0.25
_BAR = 20
_AROUND_ROWS = 5
"""Lines of a screen that are not for rows: the heading, the bar, what is above, the next prompt."""


class News(Protocol[State]):
    """What can be said of a run, or of a preflight, while it lasts."""

    def notes(self, state: State) -> list[str]:
        """What a user may not want to wait for, and stays."""

    def rows(self, state: State) -> list[str]:
        """What was done since this was last asked."""

    def line(self, row: str, number: int, state: State) -> str:
        """A row as it stands in a log."""

    def status(self, state: State, now: float, look: Look) -> str:
        """What goes on."""


class Progress(Protocol[State]):
    """What is shown of a run while it lasts."""

    def update(self, state: State) -> None:
        """Something may have happened."""

    def end(self) -> None:
        """The result follows."""

    def forget(self) -> None:
        """Somebody else may have written to the terminal, below what was drawn."""


class Silent(Progress[State]):
    """-q, and commands whose rank 0 is elsewhere."""

    def update(self, state: State) -> None:
        pass

    def end(self) -> None:
        pass

    def forget(self) -> None:
        pass


@contextlib.contextmanager
def shown(
    news: News[State], heading: str, is_silent: bool, beside_events: bool = False
) -> Iterator[Progress[State]]:
    """Progress in here, below a heading; however it ends, the terminal is left as it was."""
    progress = _chosen(news, heading, is_silent, beside_events)
    try:
        with _suspendable(progress):
            yield progress
    finally:
        progress.end()


@contextlib.contextmanager
def _suspendable(progress: Progress[State]) -> Iterator[None]:
    """Ctrl-Z leaves nothing of it above the shell's prompt, and after fg it is drawn below what was said there."""

    def stop(number: int, frame: FrameType | None) -> None:
        progress.end()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # this returns after fg
        signal.signal(signal.SIGTSTP, stop)

    before = signals.take(stop, signal.SIGTSTP) | signals.take(lambda *_: progress.forget(), signal.SIGCONT)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _chosen(news: News[State], heading: str, is_silent: bool, beside_events: bool) -> Progress[State]:
    if is_silent or sys.stderr is None:
        return Silent()
    look = look_of_progress()
    if look.height is None or beside_events or os.environ.get("TERM", "") in ("", "dumb"):
        say(heading)
        return _Lines(sys.stderr, news)
    if look.verbose:
        say(heading)
    return _Live(sys.stderr, look_of_progress, news, "" if look.verbose else heading)


class _Lines(Progress[State]):
    """A line a step: in a file, a pipe, an editor, a log of CI."""

    def __init__(self, stream: TextIO, news: News[State]) -> None:
        self._stream, self._news = stream, news
        self._waiting: list[str] = []
        self._count = 0

    def update(self, state: State) -> None:
        self._waiting += self._news.notes(state)
        for row in self._news.rows(state):
            self._count += 1
            self._waiting.append(self._news.line(row, self._count, state))
        if self._waiting and _is_ready(self._stream):
            self._write()

    def end(self) -> None:
        if self._waiting:
            self._write()

    def forget(self) -> None:
        pass

    def _write(self) -> None:
        _write(self._stream, "".join(f"{line}\n" for line in self._waiting))
        self._waiting = []


class _Live(Progress[State]):
    """A bar, the current step and the last rows, in place; nothing of it stays."""

    def __init__(self, stream: TextIO, look_now: Callable[[], Look], news: News[State], heading: str = "") -> None:
        self._stream, self._look_now, self._news = stream, look_now, news
        self._look = look_now()
        self._heading = [heading] if heading else []
        self._rows: list[str] = []
        self._notes: list[str] = []
        self._drawn_at = -math.inf
        self._height = 0

    def update(self, state: State) -> None:
        now = time.monotonic()
        if now - self._drawn_at < _REFRESH_S:
            return
        self._notes += self._news.notes(state)
        self._rows += self._news.rows(state)
        if _is_ready(self._stream):
            self._look = self._look_now()  # the window may have another size by now
            self._draw([*self._heading, self._news.status(state, now, self._look), *self._last_rows()])
            self._drawn_at = now

    def end(self) -> None:
        self._draw([])

    def forget(self) -> None:
        self._height = 0

    def _last_rows(self) -> list[str]:
        room = max((self._look.height or 0) - _AROUND_ROWS, 0)
        self._rows = self._rows[-room:] if room else []
        return self._rows

    def _draw(self, lines: Sequence[str]) -> None:
        """Over what was drawn before. Each line ends with a newline: a prompt follows where we are killed."""
        width = max((self._look.width or 80) - 1, 1)
        text = f"\x1b[{self._height}A\r\x1b[J" if self._height else ""
        text += "".join(f"{line}\n" for line in self._notes) + "".join(f"{line[:width]}\n" for line in lines)
        self._height, self._notes = len(lines), []
        _write(self._stream, text)


def _is_ready(stream: TextIO) -> bool:
    """Whether writing would not wait."""
    try:
        return bool(select.select([], [stream.fileno()], [], 0)[1])
    except (OSError, ValueError):  # no file, as in tests
        return True


def _write(stream: TextIO, text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # whoever read it is gone; the run goes on
        stream.write(text.encode(errors="replace").decode())
        stream.flush()


def bar(done: int, steps: int, look: Look) -> str:
    """How much is done."""
    full = round(_BAR * done / steps) if steps else 0
    return "━" * full + "─" * (_BAR - full) if look.unicode else f"[{'#' * full}{'-' * (_BAR - full)}]"


def left(seconds: float) -> str:
    """`about 12 s left`."""
    return f"about {seconds:.0f} s left" if seconds < 90 else f"about {seconds / 60:.0f} min left"
