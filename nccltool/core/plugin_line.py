"""A result as a monitoring plugin says it: one line, and figures after a bar."""

from collections.abc import Iterable

from nccltool.core import verdicts
from nccltool.core.text import escaped, shortened
from nccltool.core.verdicts import Status, Verdict

_MOST_TEXT = 300


def plugin_line(verdict: Verdict, text: str, figures: Iterable[str], status: Status | None = None) -> str:
    """The line with its end. `status`: that to say where it is not the verdict's."""
    word = verdicts.PLUGIN_WORDS[verdicts.of_plugin(status or verdict.status, verdict.exit_code)]
    said = shortened(escaped(text), _MOST_TEXT).replace("|", "/")
    numbers = " ".join(figures)
    return f"NCCLTOOL {word} - {said}{f' | {numbers}' if numbers else ''}\n"


def time_figure(seconds: float | None) -> list[str]:
    """The duration as a figure, where it is known."""
    return [] if seconds is None else [f"time={seconds:.1f}s"]
