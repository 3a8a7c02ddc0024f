"""What a healthy encounter reaches, as --expect says it: a bandwidth, or a run of pairs that was healthy."""

import math
import os
import re
from pathlib import Path

from nccltool.core import run_directory
from nccltool.core.errors import BadInput
from nccltool.core.text import shortened
from nccltool.core.units import RATES, parse_quantity
from nccltool.localize import document

_EXAMPLE = "--expect 370GB/s (bytes), 400Gb/s (bits), or a run of nccltool pairs"


_STARTS_LIKE_A_NUMBER = re.compile(r"\s*[-+]?[.\d]")
_ENDS_LIKE_A_RATE = re.compile(r"(/s|ps)\s*", re.IGNORECASE)


def of(text: str, runs: Path) -> float:
    """Bytes per second. Raises BadInput."""
    if not text.strip():
        raise BadInput("--expect is empty", _EXAMPLE)
    rate = parse_quantity(text, RATES)
    if rate is not None:
        if not 0 < rate < math.inf:
            raise BadInput(f"--expect {shortened(text, 60)} is no speed", _EXAMPLE)
        return rate
    if not os.path.exists(text) and _looks_like_a_rate(text):  # noqa: PTH110 - Path.exists raises for long names
        raise BadInput(f"--expect {shortened(text, 60)!r} is not a bandwidth with its unit", _EXAMPLE)
    try:
        run = document.load(run_directory.find(runs, text))
    except BadInput as error:
        raise BadInput(f"--expect {shortened(text, 60)}: {error.message}", _EXAMPLE) from error
    healthy = run.localization.healthy_busbw_bytes_per_s
    if healthy is None:
        raise BadInput(f"--expect {shortened(text, 60)}: the healthy speed of this run is unknown", _EXAMPLE)
    return healthy


def _looks_like_a_rate(text: str) -> bool:
    """A number, or something with a unit; the id of a run, as 20250131T..., is none."""
    is_number = _STARTS_LIKE_A_NUMBER.match(text) is not None and "T" not in text
    return is_number or _ENDS_LIKE_A_RATE.fullmatch(text.rstrip()[-2:]) is not None
