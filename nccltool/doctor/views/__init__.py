"""SHOW a diagnosis to people and programs: one format a file, found by listing this folder."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # the command line takes the names from here, and imports nothing heavy
    from nccltool.doctor.diagnosis import Diagnosis

FORMATS = ("table", "json", "sarif", "junit")


def renderer(name: str, with_settings: bool = False) -> "Callable[[Diagnosis], str]":
    """The function that turns a diagnosis into text in this format."""
    module = importlib.import_module(f"nccltool.doctor.views.{name}")
    if name == "table":
        return lambda diagnosis: str(module.render(diagnosis, with_settings))
    return cast("Callable[[Diagnosis], str]", module.render)
