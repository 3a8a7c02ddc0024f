"""Calls between hosts, as outcomes: which check fails, and who is to blame."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.launch.events import Node, Reached
from nccltool.launch.host_survey import Survey
from nccltool.launch.instructions import Goal
from nccltool.preflight.stages import reach
from nccltool.preflight.stages.reach import ReachPart
from tests.preflight.samples import told


def reached(failing: dict[tuple[int, int], str]) -> Survey:
    """Three hosts of which each calls each; some calls fail, for a reason."""
    nodes = {
        n: Node(
            node=n,
            host=f"h{n + 1}",
            host_id="",
            nccltool="",
            gpus=0,
            addresses=(f"10.0.0.{n}",),
            port=7,
            data_port=8,
        )
        for n in range(3)
    }
    calls = [(a, Goal(node=b, port=8, addresses=())) for a in range(3) for b in range(3) if a != b]
    answers = []
    for a, goal in calls:
        why = failing.get((a, goal.node), "")
        by_name = why.startswith("name:")
        address = f"10.0.0.{goal.node}"
        failures = (f"h{goal.node + 1}: unknown",) if by_name else (f"{address}: {why}",) if why else ()
        there = () if why and not by_name else (address,)
        if why != "silent":
            lost = "".join(failures) if why == MTU else ""
            answer = Reached(
                node=a, goal=goal.node, port=8, addresses=there, failures=failures, large_packets_lost=lost
            )
            answers.append(answer)
    return Survey(
        hosts={n: f"n{n + 1}" for n in range(3)}, nodes=nodes, calls=tuple(calls), reached=tuple(answers)
    )


FW, MTU = "no answer within 5 s", "it accepts the connection, but its data does not arrive within 5 s"


@pytest.mark.parametrize(
    ("failing", "names", "expected"),
    [
        ({}, "warn", {}),
        ({(0, 2): FW, (1, 2): FW}, "warn", {("reach/ports", "n3"): ("fail", "confirmed")}),
        (
            {(0, 2): FW},
            "warn",
            {("reach/ports", "n1"): ("fail", "suspected"), ("reach/ports", "n3"): ("fail", "suspected")},
        ),
        ({(0, 2): MTU, (1, 2): MTU}, "warn", {("reach/path-mtu", "n3"): ("fail", "confirmed")}),
        ({(0, 2): "silent", (2, 1): "silent"}, "warn", {("reach/ports", "n3"): ("fail", "confirmed")}),
        ({(0, 2): "name:", (1, 2): "name:"}, "warn", {("reach/names", "n3"): ("warn", "confirmed")}),
        ({(0, 2): "name:", (1, 2): "name:"}, "fail", {("reach/names", "n3"): ("fail", "confirmed")}),
        ({(0, 2): "name:", (1, 2): "name:"}, "ignore", {}),
    ],
)
def test_reach(failing: Any, names: Any, expected: Any) -> None:
    outcomes = list(reach.judged(reached(failing), ReachPart(names=names)))
    assert {key: value for key, value in told(outcomes).items() if value[0] != "pass"} == expected
    passed = {one.host for one in outcomes if one.code == "reach/ports" and one.status == "pass"}
    assert passed | {key[1] for key in expected if key[0] == "reach/ports"} == {"n1", "n2", "n3"}


def test_calls_that_were_not_waited_for_are_unknown() -> None:
    """Of three hosts the third has no answer yet: that it fails with both others is not known."""
    seen = reached({})
    answers = tuple(one for one in seen.reached if 2 not in (one.node, one.goal))
    outcomes = list(reach.judged(replace(seen, reached=answers, cut_short="interrupted"), ReachPart()))
    assert {one.status for one in outcomes if one.host == "n3"} == {"unknown"}
    assert not [one for one in outcomes if one.status == "fail"]
