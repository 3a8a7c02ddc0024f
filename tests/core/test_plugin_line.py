"""The line of a monitoring plugin: one line with one bar, whatever is said in it."""

import pytest

from nccltool.core.plugin_line import plugin_line, time_figure
from nccltool.core.verdicts import Status, Verdict


@pytest.mark.parametrize(
    ("status", "code", "word"),
    [("pass", 0, "OK"), ("warn", 0, "WARNING"), ("fail", 1, "CRITICAL"), ("unknown", 4, "UNKNOWN")],
)
def test_the_word_of_a_verdict(status: Status, code: int, word: str) -> None:
    line = plugin_line(Verdict(status=status, exit_code=code), "all_reduce", ["time=1.5s"])
    assert line == f"NCCLTOOL {word} - all_reduce | time=1.5s\n"


def test_text_of_hosts_neither_ends_the_line_nor_begins_the_figures() -> None:
    verdict = Verdict(status="fail", exit_code=1)
    assert plugin_line(verdict, "a|b\nc", ()) == "NCCLTOOL CRITICAL - a/b\\nc\n"
    assert len(plugin_line(verdict, "x" * 5000, ())) < 400


def test_a_duration_that_is_not_known_is_no_figure() -> None:
    assert (time_figure(None), time_figure(2.04)) == ([], ["time=2.0s"])
