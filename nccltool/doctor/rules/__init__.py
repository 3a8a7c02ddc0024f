"""JUDGE a host: one family of rules a file, one small function a rule; found by listing this folder."""

import pkgutil
from functools import cache
from importlib import import_module

from nccltool.doctor.rules.base import Rule


@cache
def every() -> tuple[Rule, ...]:
    """All rules, in order of their codes."""
    modules = [info.name for info in pkgutil.iter_modules(__path__) if info.name != "base"]
    found = [
        value
        for name in modules
        for value in vars(import_module(f"{__name__}.{name}")).values()
        if isinstance(value, Rule)
    ]
    return tuple(sorted(found, key=lambda rule: rule.code))


def find(word: str) -> Rule | None:
    """The rule of a code (SYN009, syn-009) or a name (quoted-value); None = there is none."""
    code = word.upper().replace("-", "")
    return next((rule for rule in every() if rule.code == code or rule.name == word.lower()), None)
