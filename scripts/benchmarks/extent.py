"""How much a benchmark does: all of it, or its smallest form, which shows in seconds that it still works."""

import os
from typing import TypeVar

VARIABLE = "NCCLTOOL_BENCH_SMALLEST"
IS_SMALLEST = os.environ.get(VARIABLE) == "1"

Setting = TypeVar("Setting")


def of(whole: Setting, smallest: Setting) -> Setting:
    """The setting that applies."""
    return smallest if IS_SMALLEST else whole
