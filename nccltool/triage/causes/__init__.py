"""JUDGE a timeline: one root cause a file, found by listing this folder; its docstring is its runbook page."""

import inspect
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import cast

from nccltool.core import members, plugins
from nccltool.triage.causes.base import Cause

LABELS = members.names(__path__, family="causes")
_COLLECT = "Attach the archive from `nccltool bundle --add-log LOG`: facts, findings, logs, and the newest run."


@cache
def find(label: str) -> Cause:
    module = members.module(__name__, label, family="causes")
    plugin = plugins.origin(module)
    return _of_plugin(plugin, module) if plugin else cast(Cause, module)


def _of_plugin(plugin: plugins.ToolPlugin, module: ModuleType) -> Cause:
    """One that says nothing when it fails."""
    whole = SimpleNamespace(**vars(module))
    if given := getattr(module, "clues", None):
        whole.clues = plugins.guarded(plugin, lambda timeline: tuple(given(timeline)), lambda why: ())
    whole.offender = plugins.guarded(plugin, module.offender, lambda why: None)
    return cast(Cause, whole)


def page(label: str) -> str | None:
    """The page of a root cause, in Markdown; None = there is no such cause."""
    if label not in LABELS:
        return None
    return f"# {label}\n\n{inspect.cleandoc(find(label).__doc__ or '')}\n\n{_COLLECT}\n"


def section(label: str, name: str) -> str:
    """One section of a page, without its heading."""
    return (page(label) or "").partition(f"\n## {name}\n")[2].partition("\n## ")[0].strip()


def summary(label: str) -> str:
    return (page(label) or "").split("\n\n")[1].replace("\n", " ")
