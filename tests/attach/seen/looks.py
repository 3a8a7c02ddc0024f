"""Looks at jobs, as tests write them."""

from pathlib import Path

from nccltool.attach import saved
from nccltool.attach.seen.job import JobLook

SHIPPED = Path(__file__).parents[2] / "docs/shipped/hung"
"""Of three ranks over Gloo: rank 1 sleeps, the others wait in all_reduce."""


def hung() -> JobLook:
    return saved.load(str(SHIPPED))
