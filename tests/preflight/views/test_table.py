"""A preflight for people: failures first, what is alike told once, nothing of a host acts on the terminal."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from nccltool.core.look import Look
from nccltool.core.notices import BELOW
from nccltool.core.verdicts import Verdict
from nccltool.preflight.result import HostVerdict, Preflight
from nccltool.preflight.views import renderer
from tests import samples
from tests.preflight.samples import outcome

WRONG = samples.finding(
    code="wrong-data", message="rank 1 received 4 wrong elements", remedy="do not train on this"
)
SCREEN = Look(width=80, height=24)
HOSTS = ("n1", "n2", "n3")

FAILING = Preflight(
    info=samples.info(nodes=3, world_size=3, hosts=HOSTS, emulated=False),
    verdict=Verdict(status="fail", exit_code=1),
    suite="preflight",
    outcomes=(
        *(outcome("inventory/present", "pass", host) for host in HOSTS),
        *(
            outcome(
                "doctor/LIM001", "warn", host, reason="a process may open 20000 files", page="docs/rules/LIM.md"
            )
            for host in HOSTS
        ),
        outcome("doctor/AWS001", "unknown", reason="no firmware tells", required=False),
        outcome("within", "skip", reason="one rank on each node"),
        outcome(
            "across/data",
            "fail",
            "n2",
            reason="rank 1 received 4 wrong elements\x1b[31m",
            measured=4.0,
            unit="elements",
            findings=(WRONG,),
            page="docs/findings-results.md#wrong-data",
            shown="confirmed",
            repeat="nccltool probe --hosts n1,n2,n3",
            evidence="runs/x/evidence/across-data",
        ),
        outcome(
            "across/all_reduce-busbw-1GiB",
            "fail",
            reason="all_reduce at 1 GiB",
            measured=250e9,
            unit="B/s",
            expected="at least 300 GB/s",
            source="a page",
            hosts=HOSTS,
        ),
        outcome("across/late", "unknown", reason="too noisy", measured=0.02, unit="s", expected="at most 20 ms"),
        outcome("train", "skip", reason="across failed"),
    ),
    hosts=(
        HostVerdict(host="n1", status="undetermined", reason="across/all_reduce-busbw-1GiB", exclude=False),
        HostVerdict(host="n2", status="fail", reason="across/data", exclude=True),
        HostVerdict(host="n3", status="undetermined", reason="across/all_reduce-busbw-1GiB", exclude=False),
    ),
    findings=(WRONG,),
    runs=("runs/x/runs/across/y",),
    duration_s=12.34,
    folder="runs/x",
)


def test_the_table(golden: Callable[[str, str], None]) -> None:
    text = renderer("table")(FAILING)
    assert "\x1b" not in text
    assert text.count("a process may open 20000 files") == 1
    golden("preflight.table", text)


def test_a_screen_has_room_for_it() -> None:
    lines = renderer("table", SCREEN)(FAILING).splitlines()
    assert len(lines) <= 24 - BELOW
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("FAIL preflight on n[1-3]: across/data and 1 more failed; exclude n2")
    assert "    -> do not train on this" in lines
    assert "-v shows the evidence; nccltool explain CODE has details" in lines
    assert lines[-1] == "hosts: 2 undetermined (n[1,3]), 1 fail (n2)"
    every = renderer("table", replace(SCREEN, verbose=True))(FAILING)
    assert "    again: nccltool probe --hosts n1,n2,n3" in every.splitlines()


def test_colors_say_what_failed() -> None:
    text = renderer("table", Look(colors=True))(FAILING)
    assert text.startswith("\x1b[1;31mFAIL\x1b[0m preflight ")
    assert "across     \x1b[1;31mfail\x1b[0m    2 failed" in text


@pytest.mark.parametrize("observed", [None, 130])
def test_interrupted_it_says_how_far_it_came(observed: int | None) -> None:
    outcomes = (
        outcome("inventory/present", "pass", "n1"),
        outcome("reach", "skip", reason="one host"),
        outcome("across", "unknown", reason="interrupted"),
        outcome("train", "unknown", reason="interrupted"),
    )
    verdict = Verdict(status="incomplete", exit_code=130 if observed is None else 0)
    ended = replace(FAILING, verdict=verdict, would_exit=observed, outcomes=outcomes, hosts=())
    first = renderer("table")(ended).splitlines()[0]
    assert first.startswith("INCOMPLETE interrupted: 1 of 3 stages: preflight on n[1-3]: 1 check passed")


def test_observed_it_says_what_it_would_have_been() -> None:
    observed = replace(FAILING, verdict=Verdict(status="fail", exit_code=0), would_exit=1)
    text = renderer("table")(observed)
    assert text.splitlines()[0].endswith("; observed only: the exit code would have been 1")
