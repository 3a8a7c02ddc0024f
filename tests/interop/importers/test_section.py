"""A test that failed leaves the complete ones of its file, and says why it failed; it is never a pass."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop.importers import Told, checks
from tests.interop.importers.test_torn import GOOD, LAST, read, verdict

FAILURE = (
    "node-a: Test NCCL failure common.cu:393 'unhandled system error / Bootstrap : no socket interface found'"
)
ECHO = " .. node-a pid 41200: Test failure common.cu:589"


@pytest.mark.parametrize("footer", ["# Out of bounds values : 0 OK\n", "# Avg bus bandwidth    : 155.435 \n"])
def test_a_footer_without_a_line(footer: str) -> None:
    assert footer in GOOD
    assert verdict(read(GOOD.replace(footer, ""))) == ("unknown", 4)


def test_a_failed_test_leaves_the_complete_ones() -> None:
    stopped = GOOD.partition(LAST)[0] + f"{FAILURE}\n{ECHO}\n"
    tests = read(GOOD + stopped)
    assert [len(test.rows) for test in tests] == [5, 4]
    (finding,) = (one for test in tests for one in checks.findings(test, Told()) if "failed" in one.code)
    assert finding.message == (
        f"a test did not complete: out.txt, line 29: the test stopped inside its table: {FAILURE}"
    )
    assert verdict(tests) == ("incomplete", 3)
    assert [len(test.rows) for test in read(stopped + GOOD)] == [4, 5]


def test_a_test_that_failed_before_its_first_row_is_a_finding_of_its_neighbour() -> None:
    tests = read(GOOD + GOOD.partition("       8 ")[0].rpartition("\n")[0] + f"\n{FAILURE}\n")
    assert len(tests) == 1
    assert FAILURE in tests[0].stopped[0]
    assert verdict(tests) == ("incomplete", 3)


def test_nothing_but_a_failure_is_refused_and_quoted() -> None:
    with pytest.raises(BadInput, match=r"no test came to a result.*unhandled system error"):
        read(GOOD.partition("#                     ")[0] + f"{FAILURE}\n")
