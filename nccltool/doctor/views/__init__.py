"""SHOW a diagnosis to people and programs: one format a file, found by listing this folder."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from nccltool.core import members

if TYPE_CHECKING:  # the command line takes the names from here, and imports nothing heavy
    from nccltool.doctor.diagnosis import Diagnosis

FORMATS = members.names(__path__, first=("table", "json", "sarif", "junit"))


def renderer(name: str, with_settings: bool = False) -> "Callable[[Diagnosis], str]":
    """The function that turns a diagnosis into text in this format."""
    module = members.module(__name__, name)
    if name == "table":
        return lambda diagnosis: str(module.render(diagnosis, with_settings))
    return cast("Callable[[Diagnosis], str]", module.render)
