"""Hints that say nearly the same."""

from nccltool.core.findings import Finding, Subject
from nccltool.probe import folding
from nccltool.probe.finding_kinds import DIP
from nccltool.probe.plan import one_left_out
from tests.samples import finding

OPS = ("all_gather", "gather", "scatter", "reduce", "all_to_all", "broadcast")


def dip(op: str, remedy: str = "look") -> Finding:
    subject = Subject(kind="operation", name=op)
    return DIP.finding(subject=subject, message=f"{op}: a dip", evidence=("e",), remedy=remedy)


def said(*findings: Finding) -> list[tuple[str, tuple[str, ...], str]]:
    return [(one.message, one.evidence, one.remedy) for one in folding.folded(findings)]


def test_what_is_left_out_for_one_reason_is_said_once() -> None:
    few = one_left_out("gather", "gather", "it needs 3 ranks")
    assert said(*(one_left_out(op, f"{op} at 8 B", "too few") for op in OPS), few) == [
        (
            "all_gather at 8 B, gather at 8 B, scatter at 8 B, reduce at 8 B and 2 more were left out: too few",
            (),
            "",
        ),
        ("gather was left out: it needs 3 ranks", (), ""),
    ]


def test_hints_share_their_remedy() -> None:
    assert said(dip("reduce"), dip("scatter"), dip("gather", "another")) == [
        ("reduce: a dip", (), ""),
        ("scatter: a dip", ("e",), "look"),
        ("gather: a dip", ("e",), "another"),
    ]


def test_what_is_no_hint_is_told_whole() -> None:
    assert list(folding.folded([finding(), finding()])) == [finding(), finding()]
    assert list(folding.folded([])) == []
