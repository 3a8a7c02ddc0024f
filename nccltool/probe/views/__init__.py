"""SHOW a run to people and programs: one format a file, found by listing this folder."""

import importlib
from collections.abc import Callable, Sequence
from typing import cast

from nccltool.probe.result import Run

FORMATS = ("table", "json", "csv", "nccl-tests", "nccl-tests-json")
"""As users write them; the file has underscores."""


def renderer(name: str) -> Callable[[Run], str]:
    """The function that turns a run into text in this format."""
    module = importlib.import_module(f"nccltool.probe.views.{name.replace('-', '_')}")
    return cast(Callable[[Run], str], module.render)


def joined(runs: Sequence[Run], name: str) -> str:
    """Several runs in one text: one after the other, in CSV under one heading."""
    texts = [renderer(name)(run) for run in runs]
    if name == "csv":
        texts = [*texts[:1], *(text.partition("\n")[2] for text in texts[1:])]
    return ("\n" if name in ("table", "nccl-tests") else "").join(texts)
