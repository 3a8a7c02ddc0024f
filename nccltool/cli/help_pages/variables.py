"""Variables of NCCL, torch, Gloo and plugins, and the rules about each."""

import re
from collections.abc import Sequence

from nccltool.cli.help_pages.base import known
from nccltool.doctor import pages, rules
from nccltool.doctor.rules.base import Rule
from nccltool.hosts.nccl import variables as nccl_variables

ABOUT = "environment variables of NCCL, torch, Gloo, and plugins"


def names() -> Sequence[str]:
    return tuple(nccl_variables.every())


def page(word: str) -> str | None:
    every = nccl_variables.every()
    name = known(word.partition("=")[0], every)
    if name is None:
        return None
    return pages.variable(every[name], [rule.page for rule in rules.every() if _is_about(rule, name)])


def _is_about(rule: Rule, variable: str) -> bool:
    page = rule.page
    return bool(re.search(rf"(?<!\w){variable}(?!\w)", " ".join((page.what, page.example, page.instead))))
