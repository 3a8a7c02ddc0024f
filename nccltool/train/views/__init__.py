"""SHOW smoke trainings to people and programs: one format a file, found by listing this folder."""

from collections.abc import Callable
from typing import cast

from nccltool.core import members
from nccltool.train.result import TrainRun

FORMATS = members.names(__path__, first=("table", "json"))


def renderer(name: str) -> Callable[[TrainRun], str]:
    """The function that turns a run into text in this format."""
    return cast(Callable[[TrainRun], str], members.module(__name__, name).render)
