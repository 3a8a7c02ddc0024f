"""SHOW a preflight to people and programs: one format a file, found by listing this folder."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from nccltool.core import members

if TYPE_CHECKING:  # the command line takes the names from here, and imports nothing heavy
    from nccltool.preflight.result import Preflight

FORMATS = members.names(__path__, first=("table", "json", "junit", "ctrf", "nagios", "hosts"))


def renderer(name: str) -> "Callable[[Preflight], str]":
    """The function that turns a preflight into text in this format."""
    return cast("Callable[[Preflight], str]", members.module(__name__, name).render)
