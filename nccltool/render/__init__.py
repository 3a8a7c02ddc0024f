"""SHOW a run to people and programs: one format a file, found by listing this folder."""

import importlib
from collections.abc import Callable
from typing import cast

from nccltool.model import Run

FORMATS = ("table", "json", "csv")


def renderer(name: str) -> Callable[[Run], str]:
    """The function that turns a run into text in this format."""
    return cast(Callable[[Run], str], importlib.import_module(f"nccltool.render.{name}").render)
