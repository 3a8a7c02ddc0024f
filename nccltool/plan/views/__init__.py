"""SHOW a plan to people and programs: one format a file, found by listing this folder."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from nccltool.core import members
from nccltool.core.look import PLAIN, Look

if TYPE_CHECKING:  # the command line takes the names from here, and imports nothing heavy
    from nccltool.plan.result import Plan

FORMATS = members.names(__path__, first=("table", "json", "markdown"))


def renderer(name: str, look: Look = PLAIN) -> "Callable[[Plan], str]":
    """The function that turns a plan into text in this format; the table is for a screen."""
    render = members.module(__name__, name).render
    return cast("Callable[[Plan], str]", partial(render, look=look) if name == "table" else render)
