"""Outcomes of checks to hosts and the one word: whose fault it is shown to be, what may be taken out, what not."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.preflight import host_verdicts
from nccltool.preflight.host_verdicts import again, shared
from nccltool.preflight.result import CheckOutcome, HostVerdict
from tests.preflight.samples import check, found, outcome

HOSTS = ("n1", "n2", "n3")

PRESENT = tuple(outcome("inventory/present", "pass", host) for host in HOSTS)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (outcome("across/data", "pass", hosts=HOSTS), {}),
        (outcome("within/data", "fail", "n2", shown="alone"), {"n2": ("fail", True)}),
        (outcome("across/data", "fail", "n2", shown="confirmed", hosts=HOSTS), {"n2": ("fail", True)}),
        (
            outcome("across/data", "fail", "n2", shown="suspected", hosts=HOSTS),  # who sent it?
            dict.fromkeys(HOSTS, ("undetermined", False)),
        ),
        (outcome("across/data", "fail", "n2", shown="suspected"), {"n2": ("undetermined", False)}),
        (outcome("across/late", "fail", "n2", shown="suspected", hosts=HOSTS), {"n2": ("undetermined", False)}),
        (
            outcome("across/completed", "fail", shown="suspected", hosts=HOSTS),
            dict.fromkeys(HOSTS, ("undetermined", False)),
        ),
        (outcome("doctor/LIM001", "fail", "n2", shown="everywhere"), {"n2": ("fail", False)}),
        (outcome("inventory/present", "fail", "n3", shown="alone"), {"n3": ("missing", True)}),
        (outcome("inventory/present", "fail", "n3", shown="suspected"), {"n3": ("missing", False)}),
        (outcome("doctor/LIM001", "warn", "n1", shown="alone"), {"n1": ("warn", False)}),
        (outcome("inventory/gpus", "unknown", "n1"), {"n1": ("unknown", False)}),
        (outcome("doctor/AWS001", "unknown", "n1", required=False), {}),
    ],
)
def test_hosts(one: CheckOutcome, expected: dict[str, tuple[str, bool]]) -> None:
    found = host_verdicts.of_hosts((*PRESENT, one), HOSTS)
    assert {one.host: (one.status, one.exclude) for one in found if one.status != "pass"} == expected
    assert [one.host for one in found] == list(HOSTS)


def test_a_host_of_which_nothing_is_known_does_not_pass() -> None:
    assert host_verdicts.of_hosts((), ("n1",)) == (
        HostVerdict(host="n1", status="unknown", reason="nothing was checked", exclude=False),
    )


def test_the_reasons_say_what_was_not_tested() -> None:
    outcomes = (*PRESENT, outcome("across", "skip", reason="doctor failed"), outcome("train", "skip"))
    assert {one.reason for one in host_verdicts.of_hosts(outcomes, HOSTS)} == {"not tested: across, train"}


@pytest.mark.parametrize(
    ("outcomes", "interrupted", "expected"),
    [
        ((outcome("across/data", "pass"),), False, ("pass", 0)),
        ((outcome("across/data", "pass"), outcome("doctor/X", "warn")), False, ("warn", 0)),
        ((outcome("across/data", "pass"), outcome("doctor/X", "unknown", required=False)), False, ("pass", 0)),
        ((outcome("across/data", "pass"), outcome("across/late", "unknown")), False, ("unknown", 4)),
        ((outcome("across/data", "skip"),), False, ("unknown", 4)),
        ((), False, ("unknown", 4)),
        ((outcome("doctor/X", "fail"), outcome("across/late", "unknown")), False, ("fail", 1)),
        ((outcome("across/completed", "fail"), outcome("doctor/X", "fail")), False, ("incomplete", 3)),
        ((outcome("inventory/present", "fail"),), False, ("incomplete", 3)),
        ((outcome("across/completed", "fail"),), True, ("incomplete", 130)),
    ],
)
def test_the_one_word(outcomes: tuple[CheckOutcome, ...], interrupted: bool, expected: tuple[str, int]) -> None:
    found = host_verdicts.verdict(outcomes, interrupted)
    assert (found.status, found.exit_code) == expected


def test_the_lists() -> None:
    def host(name: str, status: Any, exclude: bool = False) -> HostVerdict:
        return HostVerdict(host=name, status=status, reason="", exclude=exclude)

    found = host_verdicts.lists(
        (
            host("n1", "pass"),
            host("n2", "warn"),
            host("n3", "fail", True),
            host("n4", "fail"),
            host("n5", "missing", True),
            host("n6", "undetermined"),
            host("n7", "unknown"),
        )
    )
    assert found == {
        "hosts.pass": "n1\nn2\n",
        "hosts.fail": "n3\nn4\n",
        "hosts.missing": "n5\n",
        "hosts.undetermined": "n6\n",
        "hosts.unknown": "n7\n",
        "nodes.exclude": "n3\nn5\n",
    }


@pytest.mark.parametrize(
    ("code", "failing", "hosts", "shown"),
    [
        ("rank-died", ("n1",), {"n1", "n2"}, "alone"),
        ("rank-died", ("n1", "n2"), {"n1", "n2"}, "everywhere"),
        ("rank-died", ("n1",), {"n1"}, "alone"),
        ("interface-unusable", ("n1",), {"n1"}, "everywhere"),
        ("interface-unusable", ("n1",), {"n1", "n2"}, "alone"),
        ("gpu-unusable", ("n1",), {"n1"}, "alone"),
        ("gpu-unusable", ("n1", "n2"), {"n1", "n2"}, "everywhere"),
        ("torch-without-gpu", ("n1",), {"n1"}, "everywhere"),
        ("torch-without-gpu", ("n1",), {"n1", "n2"}, "alone"),
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
        (PAIR, PASSED, "confirmed", "reproduced with n3 alone, but not among n[1,3] without it"),
        (PAIR, replace(PASSED, host="n1", status="fail"), "suspected", "but also among n[1,3] without it"),
        (replace(PASSED, hosts=("n2", "n3")), PASSED, "suspected", "not reproduced with n3 alone"),
        (replace(PAIR, host="n3"), PASSED, "suspected", "not reproduced with n[2-3] alone"),
        (PAIR, replace(PASSED, status="skip"), "suspected", "the test of n[1,3] without it is inconclusive"),
        (PAIR, replace(PASSED, status="unknown"), "suspected", "the test of n[1,3] without it is inconclusive"),
        (PAIR, replace(PASSED, check=check("across/completed")), "confirmed", "not among n[1,3] without it"),
        (
            PAIR,
            replace(PASSED, check=check("across/completed"), status="unknown"),
            "suspected",
            "the test of n[1,3] without it is inconclusive",
        ),
    ],
)
def test_a_second_test(pair: CheckOutcome, without: CheckOutcome, shown: str, said: str) -> None:
    (one,) = again((FAILED,), "n2", (pair,), (without,))
    assert one.shown == shown
    assert one.hosts == (() if without.status == "pass" else ("n1", "n2"))  # the others are cleared
    if pair.host != "n3":
        assert said in one.reason
