"""A comparison as JUnit XML: valid, and green where the exit code is 0."""

import pytest

from nccltool.compare.result import Comparison
from nccltool.compare.views.comparison import render
from tests.compare.samples import STEADY, compared, of, run, side
from tests.support import junit

ROW = "compare.rows all_reduce 1 MiB float32 sum in-place stream"
SECOND = ROW.replace("1 MiB", "2 MiB")
TWO = side("two", *(run(f"t{place}", [time, time]) for place, time in enumerate(STEADY)))
SLOWER = of("b", *(1.2 * time for time in STEADY))


@pytest.mark.parametrize(
    ("comparison", "exit_code", "cases"),
    [
        (
            compared(of("a", *STEADY), SLOWER),
            1,
            {"compare verdict": ["failure"], ROW: ["failure"]},
        ),
        (
            compared(of("a", *STEADY), of("b", *STEADY)),
            0,
            {"compare verdict": ["system-out"], ROW: ["system-out"]},
        ),
        (
            compared(of("a", 1, 1.3, 0.8), of("b", 1.1, 1.5, 0.9)),
            4,
            {"compare verdict": ["error"], ROW: ["error"]},
        ),
        (
            compared(TWO, of("b", *STEADY)),
            0,
            {"compare verdict": ["system-out"], ROW: ["system-out"], SECOND: ["skipped"]},
        ),
        (
            compared(TWO, TWO),
            0,
            {
                "compare verdict": ["system-out"],
                ROW: ["system-out"],
                SECOND: ["system-out"],
                "compare.rows typical row": ["system-out"],
            },
        ),
    ],
    ids=["slower", "same", "cannot tell", "a row of A only", "a typical row"],
)
def test_the_cases(comparison: Comparison, exit_code: int, cases: dict[str, list[str]]) -> None:
    text = render(comparison, "junit")
    assert (junit.valid(text), comparison.verdict.exit_code) == (cases, exit_code)
    assert junit.is_green(text) == (exit_code == 0)
