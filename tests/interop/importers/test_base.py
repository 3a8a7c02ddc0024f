"""What importers share: numbers as they are printed, and what the user may say of a file."""

import pytest

from nccltool.interop.importers import Told
from nccltool.interop.importers.base import printed
from tests.interop.importers.test_text import GOOD, refused


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (Told(op="reduce"), "out.txt: it is a test of all_reduce, but --op says reduce"),
        (Told(ranks=9), "out.txt: it lists 8 ranks, but --ranks says 9"),
    ],
)
def test_what_is_told_must_not_contradict(told: Told, sentence: str) -> None:
    assert refused(GOOD, told) == sentence


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("0", 0, 0.5),
        ("12.50", 12.5, 0.005),
        ("123.4", 123.4, 0.05),
        ("1.2e+07", 1.2e7, 0.05e7),
        ("2e+10", 2e10, 0.5e10),
        ("7e-05", 7e-5, 0.5e-5),
    ],
)
def test_a_number_and_its_rounding(text: str, value: float, half: float) -> None:
    number = printed(text)
    assert number
    assert (number.value, number.half) == pytest.approx((value, half))


@pytest.mark.parametrize("text", ["", "x", "1,5", "0x10", "1e999", "--1", "1.2.3", "٣", "9" * 40])
def test_no_number(text: str) -> None:
    assert printed(text) is None
