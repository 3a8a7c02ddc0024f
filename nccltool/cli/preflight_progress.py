"""What is shown of a preflight while it lasts: its stages."""

from nccltool.cli import progress
from nccltool.core.look import Look
from nccltool.core.text import escaped
from nccltool.core.units import format_seconds
from nccltool.preflight.activity import Activity, StageEnd


class StageNews:
    """A line for each stage that is over, and what the current one does."""

    def __init__(self) -> None:
        self._rows = 0

    def notes(self, state: Activity) -> list[str]:
        return []

    def rows(self, state: Activity) -> list[str]:
        new = state.ends[self._rows :]
        self._rows = len(state.ends)
        return [_row(ended) for ended in new]

    def line(self, row: str, number: int, state: Activity) -> str:
        return row

    def status(self, state: Activity, now: float, look: Look) -> str:
        done = len(state.ends)
        step = ": ".join(word for word in (state.stage, escaped(state.step)) if word)
        elapsed = format_seconds(max(now - state.started_at, 0.1))
        left = state.left_s(now)
        parts = [
            progress.bar(done, state.planned, look),
            f"{done}/{state.planned}",
            step,
            elapsed,
            progress.left(left) if left >= 1 else "",
        ]
        return "  ".join(part for part in parts if part)


def _row(ended: StageEnd) -> str:
    how = f" ({escaped(ended.reason)})" if ended.reason else f", {ended.seconds:.1f} s"
    return f"{ended.stage}: {ended.result}{how}"
