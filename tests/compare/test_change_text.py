"""Changes and verdicts in words."""

import pytest

from nccltool.compare.change_text import changed, headline, span
from nccltool.compare.result import Side
from tests.compare.samples import STEADY, compared, of, row, run, side


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (0.0, "no change"),
        (-0.0004, "no change"),
        (-0.018, "1.8 % slower"),
        (0.031, "3.1 % faster"),
        (-0.499, "49.9 % slower"),
        (-0.5, "2.0x slower"),
        (0.999, "99.9 % faster"),
        (1.3, "2.3x faster"),
        (1 / 143 - 1, "143x slower"),
        (1 / 1234 - 1, "1,230x slower"),
        (-1.0, "over 1,000,000x slower"),
        (142.0, "143x faster"),
    ],
)
def test_a_change(change: float, text: str) -> None:
    assert changed(change) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1 / 210 - 1, 1 / 90 - 1, "90x to 210x slower"),
        (-0.12, 0.03, "12.0 % slower to 3.0 % faster"),
        (0.02, 0.05, "2.0 % to 5.0 % faster"),
        (-0.9, -0.1, "10.0 % to 10x slower"),
        (-0.03, 0.0001, "3.0 % slower to no change"),
    ],
)
def test_an_interval(low: float, high: float, text: str) -> None:
    assert span(low, high) == text


FEW = (row(1.0, iterations=3, spread=None),)
NOISY = (row(1.0, spread=0.1),)


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (
            of("a", *STEADY),
            of("b", *(143 * time for time in STEADY)),
            "WORSE: all_reduce at 1 MiB: 143x slower (95 % CI 143x to 143x)",
        ),
        (
            of("a", *STEADY),
            of("b", *(0.9 * time for time in STEADY)),
            "BETTER: all_reduce at 1 MiB: 11.1 % faster (95 % CI 10.8 % to 11.4 %)",
        ),
        (
            of("a", *STEADY),
            of("b", *STEADY),
            "SAME: all_reduce at 1 MiB: no change (95 % CI 0.3 % slower to 0.3 % faster), "
            "within the margin of 3 % (1 row)",
        ),
        (
            of("a", 1.0),
            of("b", 1.02),
            "CANNOT TELL: all_reduce at 1 MiB: the interval from 4.6 % slower to 0.8 % faster includes no change",
        ),
        (
            of("a", 1.0),
            side("b", run("b", [], rows=(row(1.04),))),
            "WORSE: all_reduce at 1 MiB: 3.8 % slower (95 % CI 1.1 % to 6.5 %)",
        ),
        (
            of("a", *STEADY),
            of("b", *(1.03 * time for time in STEADY)),
            "CANNOT TELL: all_reduce at 1 MiB: 2.9 % slower, "
            "and the interval from 2.6 % to 3.2 % slower includes the margin of 3 %",
        ),
        (
            side("a", run("a", [], rows=FEW)),
            of("b", 143.0),
            "CANNOT TELL: all_reduce at 1 MiB: too few iterations: 3, at least 5 needed",
        ),
        (
            side("a", run("a", [1.0, 1.0])),
            side("b", run("b", [143.0, 143.0])),
            "WORSE: typical row: 143x slower (95 % CI 139x to 147x); 2 of 2 rows slower",
        ),
        (
            side("a", run("a", [], rows=NOISY)),
            of("b", 1.25),
            "CANNOT TELL: all_reduce at 1 MiB: 20.0 % slower (95 % CI 2.6 % to 34.3 %), "
            "but equal runs differ this much with a probability of 0.026, more than 0.025",
        ),
    ],
)
def test_a_headline(a: Side, b: Side, text: str) -> None:
    assert headline(compared(a, b)) == text
