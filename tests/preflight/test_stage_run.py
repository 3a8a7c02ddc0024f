"""How a run of a stage ended, and whose fault that is."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.core.verdicts import Verdict
from nccltool.preflight import host_verdicts, probe_run
from nccltool.probe.result import Run
from tests.preflight.samples import found, ran, run, told
from tests.preflight.test_probe_run import COMPLETED, DATA_PASS, DATA_SKIP, PART

ENDED_BY_N2 = {("across/completed", "n2"): ("fail", "suspected")} | DATA_SKIP


@pytest.mark.parametrize(("code", "shown"), [("rank-died", "alone"), ("deadline", "suspected")])
def test_a_host_is_not_to_blame_for_the_time_that_a_run_was_given(code: str, shown: str) -> None:
    alone = ran(run(found(code, "run", "x")), "n1")
    outcomes = told(probe_run.judged(alone, PART))
    assert outcomes["across/completed", "n1"] == ("fail", shown)


def test_what_the_budget_ends_says_that_the_rest_was_left_out() -> None:
    cut = replace(ran(run(found("deadline", "run", "deadline"))), by_budget=True)
    completed = next(one for one in probe_run.judged(cut, PART) if one.code == "across/completed")
    assert (completed.status, completed.shown) == ("fail", "suspected")
    assert completed.reason.startswith("the budget ended it, and the rest was left out: ")


@pytest.mark.parametrize("code", ["gpu-unusable", "torch-without-gpu"])
@pytest.mark.parametrize(
    ("kind", "name", "host", "shown"),
    [
        ("host", "beta", "n2", "alone"),
        ("rank", "3", "n2", "alone"),  # of four ranks
        ("host", "n[1-64]", None, "suspected"),  # more than may be told one by one
    ],
)
def test_what_a_rank_says_of_its_own_gpu_needs_no_second_test(
    code: str, kind: str, name: str, host: str | None, shown: str
) -> None:
    outcomes = told(probe_run.judged(ran(run(found(code, kind, name))), PART))
    assert outcomes == {("across/completed", host): ("fail", shown)} | DATA_SKIP


@pytest.mark.parametrize("left", [None, run(verdict=Verdict(status="incomplete", exit_code=130))])
def test_a_command_that_somebody_killed_did_not_complete(left: Run | None) -> None:
    outcomes = list(probe_run.judged(replace(ran(left), killed_by="SIGKILL"), PART))
    assert told(outcomes)["across/completed", None] == ("fail", "suspected")
    (finding,) = outcomes[0].findings
    assert (finding.code, finding.message) == (
        "command-killed",
        "the command of this stage was killed by SIGKILL before it completed",
    )
    assert host_verdicts.verdict(outcomes, interrupted=False).exit_code == 3


def test_what_fails_on_one_host_alone_is_its_own() -> None:
    alone = ran(run(found("wrong-data", "rank", "1")), "n2", stage="within")
    outcomes = probe_run.judged(alone, PART)
    assert told(outcomes) == {("within/completed", "n2"): ("pass", ""), ("within/data", "n2"): ("fail", "alone")}


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (run(found("rank-died", "rank", "2")), ENDED_BY_N2),  # ranks 2 and 3 are on the second host
        (run(found("host-lost", "host", "beta")), ENDED_BY_N2),
        (run(found("node-missing", "host", "node 1")), ENDED_BY_N2),
        (run(found("hang", "run", "all ranks")), {("across/completed", None): ("fail", "suspected")} | DATA_SKIP),
        (
            run(found("clock-skew", "host", "beta", "warning")),
            COMPLETED | DATA_PASS | {("across/clock-skew", "n2"): ("warn", "suspected")},
        ),
        (run(found("env-differs", "variable", "X", "warning")), COMPLETED | DATA_PASS),
        (run(found("dip", "run", "x", "info")), COMPLETED | DATA_PASS),
        (None, {("across/completed", None): ("unknown", "")}),
        (
            run(verdict=Verdict(status="incomplete", exit_code=130)),
            {("across/completed", None): ("unknown", "")} | DATA_PASS,
        ),
    ],
)
def test_how_a_run_ended(what: Run | None, expected: Any) -> None:
    assert told(probe_run.judged(ran(what, why_not="killed"), PART)) == expected
