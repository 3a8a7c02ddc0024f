"""Rules of the doctor, by code or by name."""

from collections.abc import Sequence

from nccltool.cli.help_pages.base import in_order, normal
from nccltool.doctor import pages, rules

ABOUT = "what nccltool doctor checks"


def names() -> Sequence[str]:
    return in_order(name for rule in rules.every() for name in (rule.code, rule.name))


def page(word: str) -> str | None:
    rule = rules.find(normal(word))
    return pages.rule(rule.page) if rule else None
