"""SHOW smoke trainings to people and programs: one format a file."""

import importlib
from collections.abc import Callable
from typing import cast

from nccltool.train.result import TrainRun

FORMATS = ("table", "json")


def renderer(name: str) -> Callable[[TrainRun], str]:
    """The function that turns a run into text in this format."""
    return cast(Callable[[TrainRun], str], importlib.import_module(f"nccltool.train.views.{name}").render)
