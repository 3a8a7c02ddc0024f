"""Whose fault it is shown to be: second tests, and what fails on all hosts alike."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.preflight.result import CheckOutcome
from nccltool.preflight.second_test import again, shared
from tests.preflight.samples import check, found


@pytest.mark.parametrize(
    ("code", "failing", "hosts", "shown"),
    [
        ("rank-died", ("n1",), {"n1", "n2"}, "alone"),
        ("rank-died", ("n1", "n2"), {"n1", "n2"}, "everywhere"),
        ("rank-died", ("n1",), {"n1"}, "alone"),
        ("interface-unusable", ("n1",), {"n1"}, "everywhere"),
        ("interface-unusable", ("n1",), {"n1", "n2"}, "alone"),
    ],
)
def test_what_fails_on_all_hosts_alike_takes_none_out(code: str, failing: Any, hosts: Any, shown: str) -> None:
    said = found(code, "rank", "0")
    each = [
        CheckOutcome(check=check("within/completed"), host=name, status="fail", shown="alone", findings=(said,))
        for name in failing
    ]
    passed = CheckOutcome(check=check("within/data"), host="n1", status="pass")
    *failed, last = shared((*each, passed), hosts)
    assert ({one.shown for one in failed}, last) == ({shown}, passed)


FAILED = CheckOutcome(
    check=check("across/data"),
    host="n2",
    status="fail",
    reason="wrong",
    shown="suspected",
    hosts=("n1", "n2"),
)
PAIR = replace(FAILED, hosts=("n2", "n3"))
PASSED = CheckOutcome(check=check("across/data"), host=None, status="pass", hosts=("n1", "n3"))


@pytest.mark.parametrize(
    ("pair", "without", "shown", "said"),
    [
        (PAIR, PASSED, "confirmed", "so it was again with n3 alone, and not among n[1,3] without it"),
        (PAIR, replace(PASSED, host="n1", status="fail"), "suspected", "but among n[1,3] without it too"),
        (replace(PASSED, hosts=("n2", "n3")), PASSED, "suspected", "it was not so again with n3 alone"),
        (replace(PAIR, host="n3"), PASSED, "suspected", "it was not so again with n[2-3] alone"),
        (PAIR, replace(PASSED, status="skip"), "suspected", "the test of n[1,3] without it says nothing of it"),
        (PAIR, replace(PASSED, status="unknown"), "suspected", "the test of n[1,3] without it says nothing of it"),
        (PAIR, replace(PASSED, check=check("across/completed")), "confirmed", "not among n[1,3] without it"),
        (
            PAIR,
            replace(PASSED, check=check("across/completed"), status="unknown"),
            "suspected",
            "the test of n[1,3] without it says nothing of it",
        ),
    ],
)
def test_a_second_test(pair: CheckOutcome, without: CheckOutcome, shown: str, said: str) -> None:
    (one,) = again((FAILED,), "n2", (pair,), (without,))
    assert one.shown == shown
    assert one.hosts == (() if without.status == "pass" else ("n1", "n2"))  # the others are cleared
    if pair.host != "n3":
        assert said in one.reason
