"""A look for people."""

from dataclasses import replace

from nccltool.attach import report, views
from nccltool.attach.seen.job import Unread
from nccltool.attach.views import stack_tree, table
from nccltool.core.look import PLAIN, Look
from tests.attach.seen.looks import hung


def test_the_verdict_is_first_and_ranks_are_folded() -> None:
    lines = table.render(report.report(hung(), ()), PLAIN).splitlines()
    assert lines[0].startswith("FAIL attach: hung for at least")
    assert lines[1].startswith("    train.py, 3 ranks on n1, torchrun, 2 samples over 1.")
    rows = [line for line in lines if "train.py:" in line and line[:1].isdigit()]
    assert [(line.split("  ")[0], "waits in all_reduce" in line, "sleeps" in line) for line in rows] == [
        ("0, 2 (2)", True, False),
        ("1", False, True),
    ]


def test_a_small_screen_has_the_verdict_and_the_groups() -> None:
    text = table.render(report.report(hung(), ()), Look(width=80, height=24))
    assert max(map(len, text.splitlines())) <= 80 + 60  # frames of stacks are not wrapped
    assert "waits in all_reduce" in text


def test_what_was_not_read_is_listed() -> None:
    look = hung()
    (host,) = look.hosts
    unread = tuple(
        Unread(what=f"stack {number}", reason="refused", missing="root", host="n1") for number in range(6)
    )
    text = table.render(report.report(replace(look, hosts=(replace(host, unread=unread),)), ()), PLAIN)
    assert "not read: stack 0 on n1: refused (needs: root)" in text
    assert "and 2 more could not be read; -v shows all" in text


def test_what_many_ranks_have_in_common_is_one_line() -> None:
    look = hung()
    (host,) = look.hosts
    unread = tuple(
        Unread(what=f"Python stack of rank {one}", reason="gone", missing="x", host="n1", pid=one)
        for one in range(9)
    )
    text = table.render(report.report(replace(look, hosts=(replace(host, unread=unread),)), ()), PLAIN)
    assert "not read: Python stack of 9 ranks on n1: gone (needs: x)" in text


def test_a_saved_look_has_no_countdown() -> None:
    live, saved = (table.render(report.report(hung(), (), is_live=one), PLAIN) for one in (True, False))
    assert "the waiting calls time out in 7 min by default" in live
    assert "time out" not in saved
    assert "seen at 20" in saved


def test_other_forms() -> None:
    found = report.report(hung(), ())
    line = views.renderer("nagios", PLAIN)(found)
    assert "| ranks=3 missing=0" in line
    assert views.renderer("json", PLAIN)(found).startswith("{")


def test_ranks_part_where_they_differ() -> None:
    assert stack_tree.lines(hung()) == [
        "2 ranks (0, 2): <module> (train.py:12) > _exception_logger.<locals>.wrapper (c10d_logger.py:83) >"
        " all_reduce (distributed_c10d.py:3252)",
        "rank 1: <module> (train.py:9)",
    ]
