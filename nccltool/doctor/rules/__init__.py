"""JUDGE a host: one family of rules a file or folder, one small function a rule; found by listing this folder."""

import pkgutil
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cache, partial
from importlib import import_module

from nccltool.core import plugins as of_others  # `plugins` is a family of rules
from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost, Results, Rule


@cache
def every() -> tuple[Rule, ...]:
    """All rules, in order of their codes."""
    modules = [import_module(info.name) for info in pkgutil.walk_packages(__path__, f"{__name__}.")]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, Rule)}
    others = _of_plugins({rule.code for rule in found})
    return tuple(sorted((*found, *others), key=lambda rule: rule.code))


def _of_plugins(taken: Set[str]) -> Iterator[Rule]:
    """Rules of other packages, which cannot judge when they fail."""
    for module in of_others.usable("rules").values():
        plugin = of_others.origin(module)
        for rule in {value for value in vars(module).values() if isinstance(value, Rule)} if plugin else ():
            if plugin and rule.code in taken:
                of_others.fail(plugin, f"nccltool has a rule {rule.code}")
            elif plugin:
                yield replace(rule, check=of_others.guarded(plugin, partial(_all, rule), _cannot_judge))


def _all(rule: Rule, hosts: Sequence[JudgedHost]) -> Results:
    return iter(tuple(rule.check(hosts)))


def _cannot_judge(why: str) -> Results:
    return iter((Unknown(why),))


def find(word: str) -> Rule | None:
    """The rule of a code (SYN009, syn-009) or a name (quoted-value); None = there is none."""
    code = word.upper().replace("-", "")
    return next((rule for rule in every() if rule.code == code or rule.name == word.lower()), None)
