"""SHOW a run to people and programs: one format a file, found by listing this folder."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from nccltool.core import members
from nccltool.core.look import PLAIN, Look

if TYPE_CHECKING:  # the command line takes the names from here, and imports nothing heavy
    from nccltool.probe.result import Run

FORMATS = members.names(__path__, first=("table", "json", "csv", "nccl-tests", "nccl-tests-json", "junit"))


def renderer(name: str, look: Look = PLAIN) -> "Callable[[Run], str]":
    """The function that turns a run into text in this format; the table is for a screen."""
    render = members.module(__name__, name).render
    return cast("Callable[[Run], str]", partial(render, look=look) if name == "table" else render)


def joined(runs: "Sequence[Run]", name: str, look: Look = PLAIN) -> str:
    """Several runs in one text: one after the other, in CSV under one heading, others in one document."""
    if name in ("junit", "ctrf", "sarif", "nagios"):
        return str(members.module(__name__, name).render_all(runs))
    texts = [renderer(name, look)(run) for run in runs]
    if name == "csv":
        texts = [*texts[:1], *(text.partition("\n")[2] for text in texts[1:])]
    return ("\n" if name in ("table", "nccl-tests") else "").join(texts)
