"""Checks of preflight: `reach/ports`, `across/all_reduce-busbw-64MiB`, `doctor/SYN009`."""

import re
from collections.abc import Iterator, Sequence

from nccltool.cli.help_pages.base import in_order, normal, titled
from nccltool.core import manual, members, plugins
from nccltool.preflight import probe_run, stage_run, stages
from nccltool.preflight.result import PAGE, Check
from nccltool.preflight.suite import METRICS

ABOUT = "what nccltool preflight checks"
_RUNBOOK = PAGE.removeprefix("docs/")
_LEVEL = 3
_SIZE = r"(?:-\d+(?:\.\d+)?[kmgt]?i?b)?"


def _declared() -> Iterator[Check]:
    modules = (
        *(members.module(stages.__name__, name, family="checks") for name in stages.NAMES),
        probe_run,
        stage_run,
    )
    for module in modules:
        yield from (one for one in vars(module).values() if isinstance(one, Check))


def names() -> Sequence[str]:
    written = (one.title for one in manual.sections(_RUNBOOK) if one.level == _LEVEL)
    return in_order((*written, *(str(check).strip("/") for check in _declared()), *METRICS))


def page(word: str) -> str | None:
    every = {normal(name): name for name in names()}
    wanted = normal(word)
    name = every.get(wanted) or _of_a_stage(wanted, every)
    if name is None:
        return None
    text = manual.section(_RUNBOOK, name) or _elsewhere(name)
    return titled(name, "check of preflight", text)


def _of_a_stage(wanted: str, every: dict[str, str]) -> str | None:
    """The check whose name stands behind a stage, and an operation or strategy, and in front of a size."""
    stage, _, what = wanted.partition("/")
    if stage not in stages.NAMES:
        return None
    ends = (name for known, name in every.items() if re.search(rf"(?:^|-){re.escape(known)}{_SIZE}$", what))
    return max(ends, key=len, default=None)


def _elsewhere(name: str) -> str:
    """Of a check without a section of its own: the page that it declares."""
    declared = (check.page for check in _declared() if str(check).strip("/") == name and "#" in check.page)
    if where := next(declared, "") or _PAGE_OF.get(name):
        page, _, code = where.partition("#")
        return manual.section(page.removeprefix("docs/"), code)
    stage = name.partition("/")[0]
    plugin = plugins.origin(members.module(stages.__name__, stage, family="checks"))
    assert plugin is not None, f"{name} has no page"
    return f"It comes with the {plugin.title}. `nccltool explain {stage}` shows its stage."


_PAGE_OF = {"data": "docs/findings-results.md#wrong-data"}
"""Checks whose page is that of the finding which they come from."""
