"""The words and numbers of nccl-tests: how it writes them."""

import re

import pytest

from nccltool.probe import collectives, nccl_tests
from tests.probe.views.test_nccl_tests import row, run_of, text_of


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (0, 7, "   0.00"),
        (9999.994, 7, "9999.99"),
        (9999.996, 7, "10000.0"),
        (99999.96, 7, " 100000"),
        (9999999.4, 7, "9999999"),
        (9999999.6, 7, "1.0e+07"),
        (999.994, 6, "999.99"),
        (999.996, 6, "1000.0"),
        (999999.6, 6, " 1e+06"),
        (1.5e-9, 6, "  0.00"),
    ],
)
def test_numbers_keep_their_columns(value: float, width: int, text: str) -> None:
    assert nccl_tests.number(value, width) == text


def test_every_operation_is_a_program_of_its_own() -> None:
    run = run_of(*(row(op, 2**20, 100) for op in collectives.NAMES))
    blocks = text_of(run).split("\n\n")
    assert [re.findall(r"Collective test (?:starting|concluded): (\w+)", block) for block in blocks] == [
        [nccl_tests.program(op)] * 2 for op in collectives.NAMES
    ]
    roots = [line.split()[4] for line in text_of(run).splitlines() if line[:1] == " "]
    assert roots == ["-1", "-1", "-1", "0", "0", "0", "0", "-1", "-1", "-1", "-1"]


@pytest.mark.parametrize(
    ("sizes", "step"),
    [
        ((8,), ("bytes", 0)),
        ((8, 16, 32), ("factor", 2)),
        ((8, 24, 40), ("bytes", 16)),
        ((8, 16), ("factor", 2)),
        ((8, 12), ("bytes", 4)),
        ((8, 16, 40), ("bytes", 0)),
        ((32, 16, 8), ("bytes", 0)),
        ((24, 16, 8), ("bytes", 0)),
    ],
)
def test_how_sizes_grow(sizes: tuple[int, ...], step: tuple[str, int]) -> None:
    assert nccl_tests.step(sizes) == step


@pytest.mark.parametrize(("text", "number"), [("2.29.7", 22907), ("2.8.4", 2804), ("2.9.6", 20906)])
def test_version_numbers(text: str, number: int) -> None:
    assert nccl_tests.version_number(text) == number
    assert nccl_tests.version_text(number) == text


def test_no_version_number() -> None:
    assert [nccl_tests.version_number(text) for text in (None, "", "2.13")] == [None, None, None]
