"""What a healthy encounter reaches, as --expect says it: a bandwidth, or a run of pairs that was healthy."""

from pathlib import Path

from nccltool.core import run_directory
from nccltool.core.errors import BadInput
from nccltool.core.text import shortened
from nccltool.core.units import RATES, parse_quantity
from nccltool.localize import document

_EXAMPLE = "--expect 370GB/s, or a run of nccltool pairs"


def of(text: str, runs: Path) -> float:
    """Bytes per second. Raises BadInput."""
    rate = parse_quantity(text, RATES)
    if rate is not None:
        if rate <= 0:
            raise BadInput(f"--expect {shortened(text, 60)} is no speed", _EXAMPLE)
        return rate
    if text.strip()[:1].isdigit() and not (runs / text).exists() and not Path(text).exists() and "T" not in text:
        raise BadInput(f"--expect {shortened(text, 60)!r} is not a bandwidth with its unit", _EXAMPLE)
    run = document.load(run_directory.find(runs, text))
    healthy = run.localization.healthy_busbw_bytes_per_s
    if healthy is None:
        raise BadInput(f"--expect {shortened(text, 60)}: the healthy speed of this run is unknown", _EXAMPLE)
    return healthy
