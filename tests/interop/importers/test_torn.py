"""A row that was torn is joined, or named as missing; it is never lost in a pass."""

import re
from collections.abc import Callable

import pytest

from nccltool.core.verdicts import of_findings
from nccltool.interop import importers
from nccltool.interop.importers import Report, Row, Told, checks
from tests.interop.importers import samples

SAMPLE = samples.data("all_reduce-2.19.6.txt").decode()
GOOD = (
    re.sub(r"(?m)^ 17179869184 .*\n", "", SAMPLE)
    .replace("17179869184", "2147483648")
    .replace("207.095", "155.435")
)
"""With the rows that its head promises: 8 B to 2 GiB by 128."""
ROW = next(line for line in GOOD.splitlines() if line.startswith("    16777216"))
LAST = next(line for line in GOOD.splitlines() if line.startswith("  2147483648"))
NCCL = "node-b:41200:41311 [0] NCCL INFO Channel 00/0 : 7[3] -> 0[0] [receive] via NET/IB/2/GDRDMA"


def read(text: str, name: str = "out.txt") -> tuple[Report, ...]:
    return importers.read(text.encode(), name, Told())


def verdict(tests: tuple[Report, ...]) -> tuple[str, int]:
    found = of_findings([finding for test in tests for finding in checks.findings(test, Told())])
    return found.status, found.exit_code


def at(column: int, between: str) -> Callable[[str], str]:
    return lambda row: row[:column] + between + row[column:]


JOINED: dict[str, Callable[[str], str]] = {
    "behind the root": at(ROW.index("-1") + 2, "\n"),
    "inside the time": at(ROW.index("-1") + 9, "\n"),
    "between the halves": at(len(ROW) // 2 + 18, "\n"),
    "another's line behind the root": at(ROW.index("-1") + 2, f"{NCCL}\n"),
    "several lines of another": at(ROW.index("-1") + 2, f"{NCCL}\n{NCCL}\n{NCCL}\n"),
    "the end behind another's line": at(ROW.index("-1") + 2, f"{NCCL}\n{NCCL}"),
    "another's line behind the row": lambda row: f"{row.rstrip()}{NCCL}",
    "a row behind another's words": lambda row: f"{NCCL} {row}",
    "torn twice": lambda row: at(ROW.index("-1") + 2, f"{NCCL}\n")(at(len(ROW) // 2 + 18, f"\n{NCCL}\n")(row)),
}


@pytest.mark.parametrize("way", JOINED.values(), ids=JOINED.keys())
def test_joined(way: Callable[[str], str]) -> None:
    (wanted,) = read(GOOD)
    (found,) = read(GOOD.replace(ROW, way(ROW)))
    assert [row.halves for row in found.rows] == [row.halves for row in wanted.rows]
    assert (found.missing, verdict((found,))) == ((), ("pass", 0))


def test_wrapped_at_80_columns() -> None:
    (wanted,) = read(GOOD)
    lines = [line[start : start + 80] for line in GOOD.splitlines() for start in range(0, len(line) or 1, 80)]
    (found,) = read("\n".join(lines) + "\n")
    assert [numbers(row) for row in found.rows] == [numbers(row) for row in wanted.rows]
    assert found.missing == ()


def numbers(row: Row) -> list[object]:
    """The head of the test is wrapped too: it does not tell the iterations."""
    return [(half.time, half.algbw, half.busbw, half.wrong) for half in row.halves]


MISSED: dict[str, tuple[Callable[[str], str], tuple[str, ...]]] = {
    "gone": (lambda row: "", ("the row for 16 MiB",)),
    "its end is gone": (lambda row: row[:60], ("the row for 16 MiB",)),
    "a field is gone": (lambda row: row[:-9], ("the row for 16 MiB",)),
    "a field too many": (lambda row: f"{row} 9", ("the row for 16 MiB",)),
    "its beginning is gone": (lambda row: row[30:], ("the row for 16 MiB",)),
    "the end of another row": (lambda row: f"{row[:60]}\n{LAST[60:]}", ("the row for 16 MiB",)),
}


@pytest.mark.parametrize(("way", "missing"), MISSED.values(), ids=MISSED.keys())
def test_missed(way: Callable[[str], str], missing: tuple[str, ...]) -> None:
    tests = read(GOOD.replace(ROW, way(ROW)))
    assert tests[0].missing == missing
    assert verdict(tests) == ("unknown", 4)
    (finding,) = (one for one in checks.findings(tests[0], Told()) if one.code == "import-rows-missing")
    assert finding.message == "missing from the output: the row for 16 MiB"
