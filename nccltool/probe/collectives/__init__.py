"""The collectives: one file each, found by listing this folder."""

import importlib
from functools import cache
from pathlib import Path
from typing import cast

from nccltool.core.errors import BadInput
from nccltool.probe.collectives.base import Collective, Part

__all__ = ["NAMES", "Collective", "Part", "get", "in_folder"]

NAMES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "all_to_all",
    "send_recv",
    "ping_pong",
)
"""In the order in which they are run and shown; a test holds it against the folder."""


def in_folder() -> tuple[str, ...]:
    """The collectives that have a file here."""
    here = Path(__file__).parent
    return tuple(sorted(f.stem for f in here.glob("*.py") if f.stem not in ("__init__", "base")))


@cache
def get(name: str) -> Collective:
    """The collective called `name`."""
    if name not in NAMES:
        raise BadInput(f"{name!r} is not an operation", f"choose from {', '.join(NAMES)}")
    return cast(Collective, importlib.import_module(f"nccltool.probe.collectives.{name}"))
