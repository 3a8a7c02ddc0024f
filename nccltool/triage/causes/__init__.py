"""JUDGE a timeline: one root cause a file, found by listing this folder; its docstring is its runbook page."""

import inspect
from functools import cache
from typing import cast

from nccltool.core import members
from nccltool.triage.causes.base import Cause

LABELS = members.names(__path__)
_COLLECT = "Attach the archive from `nccltool bundle --add-log LOG`: facts, findings, logs, and the newest run."


@cache
def find(label: str) -> Cause:
    return cast(Cause, members.module(__name__, label))


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
