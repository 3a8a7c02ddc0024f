"""SHOW a diagnosis to people and programs: one format a file, found by listing this folder."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from nccltool.core import members
from nccltool.core.look import PLAIN, Look

if TYPE_CHECKING:  # the command line takes the names from here, and imports nothing heavy
    from nccltool.doctor.diagnosis import Diagnosis

FORMATS = members.names(__path__, first=("table", "json", "sarif", "junit"))


def renderer(name: str, look: Look = PLAIN, with_settings: bool = False) -> "Callable[[Diagnosis], str]":
    """The function that turns a diagnosis into text in this format; the table is for a screen."""
    module = members.module(__name__, name)
    if name == "table":
        return lambda diagnosis: str(module.render(diagnosis, look, with_settings))
    return cast("Callable[[Diagnosis], str]", module.render)
