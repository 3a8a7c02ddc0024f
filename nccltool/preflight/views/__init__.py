"""SHOW a preflight to people and programs: one format a file, found by listing this folder."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # the command line takes the names from here, and imports nothing heavy
    from nccltool.preflight.result import Preflight

FORMATS = ("table", "json", "junit", "ctrf", "nagios", "hosts")


def renderer(name: str) -> "Callable[[Preflight], str]":
    """The function that turns a preflight into text in this format."""
    module = importlib.import_module(f"nccltool.preflight.views.{name}")
    return cast("Callable[[Preflight], str]", module.render)
