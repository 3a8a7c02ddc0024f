"""SHOW the settings of a fabric in the form of the file that they go into; found by listing this folder."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from nccltool.core import members

if TYPE_CHECKING:  # the command line takes the names from here, and imports nothing heavy
    from nccltool.doctor.fabric_choice import ChosenFabric

FORMATS = members.names(__path__, first=("shell", "conf", "slurm", "kubernetes", "dockerfile"))


def renderer(name: str) -> "Callable[[ChosenFabric], str]":
    """The function that turns a fabric into text in this form."""
    return cast("Callable[[ChosenFabric], str]", members.module(__name__, name).render)
