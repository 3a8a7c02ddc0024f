"""JUDGE a host: one family of rules a file or folder, one small function a rule; found by listing this folder."""

import pkgutil
from functools import cache
from importlib import import_module

from nccltool.doctor.rules.base import Rule


@cache
def every() -> tuple[Rule, ...]:
    """All rules, in order of their codes."""
    modules = [import_module(info.name) for info in pkgutil.walk_packages(__path__, f"{__name__}.")]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, Rule)}
    return tuple(sorted(found, key=lambda rule: rule.code))


def find(word: str) -> Rule | None:
    """The rule of a code (SYN009, syn-009) or a name (quoted-value); None = there is none."""
    code = word.upper().replace("-", "")
    return next((rule for rule in every() if rule.code == code or rule.name == word.lower()), None)
