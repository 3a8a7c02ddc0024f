"""Traces for people."""

from nccltool.core.look import PLAIN, Look
from nccltool.trace.report import report
from nccltool.trace.run import trace
from nccltool.trace.views import render, renderer
from tests.trace.samples import SHIPPED, built, event


def test_the_verdict_is_first() -> None:
    text = render(trace([str(SHIPPED)], ()), PLAIN)
    assert text.startswith(
        "WARN trace: suspect: rank 2; waiting for the late rank takes 57 % of a step; 45.4 ms per step\n"
        "    4 traces from 1 host, 4 ranks, gloo"
    )
    assert "group 0: 8 collectives matched; last of 8 steps: rank 2 in 8" in text


def test_unknown_is_a_question_mark() -> None:
    text = render(report([built()], {}, ()), PLAIN)
    assert text.startswith("UNKNOWN trace: no steps marked")


def test_nothing_acts_on_a_terminal() -> None:
    bad = built(event("evil\x1b[31m\n", 0, 100), event("gloo:all_reduce", 0, 1, "user_annotation"))
    assert "\x1b" not in render(report([bad], {"\x1b[2J": "\x1b"}, ()), Look(width=80))


def test_the_forms() -> None:
    told = report([built()], {}, ())
    assert renderer("json", PLAIN)(told).startswith("{")
    assert renderer("table", PLAIN)(told) == render(told, PLAIN)
