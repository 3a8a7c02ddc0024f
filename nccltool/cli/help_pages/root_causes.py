"""Root causes that triage names: each file of them has its page."""

from collections.abc import Sequence

from nccltool.cli.help_pages.base import known
from nccltool.triage import causes

ABOUT = "why a job failed, as nccltool triage names it"


def names() -> Sequence[str]:
    return causes.LABELS


def page(word: str) -> str | None:
    name = known(word, names())
    return (causes.page(name) or "").replace(f"# {name}\n", f"# {name} (root cause)\n", 1) if name else None
