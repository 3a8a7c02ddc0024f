"""What the history says of checks that did not pass: evidence beside the finding; no verdict depends on it."""

from dataclasses import replace
from pathlib import Path

from nccltool.history.ask import seen_before
from nccltool.history.records import ALL_HOSTS
from nccltool.preflight.result import CheckOutcome, Preflight

PERIOD_S = 60 * 86400.0
"""Older runs do not count."""


def told(found: Preflight, file: Path, now: float) -> Preflight:
    """With what a history says of each check that did not pass. Raises BadInput when the file cannot be used."""
    wanted = {(one.host or ALL_HOSTS, one.code) for one in found.outcomes if _is_asked(one)}
    sentences = seen_before(file, wanted, now - PERIOD_S) if wanted else {}
    outcomes = tuple(
        replace(one, before=sentences.get((one.host or ALL_HOSTS, one.code), "")) if _is_asked(one) else one
        for one in found.outcomes
    )
    return replace(found, outcomes=outcomes)


def _is_asked(one: CheckOutcome) -> bool:
    return one.status in ("fail", "warn") and not one.check.is_stage
