"""Lists of rules and variables, and prose in Markdown; whole pages are held by tests/docs/test_rules.py."""

import pytest

from nccltool.doctor import pages
from tests.conftest import Nccltool


def test_lists(nccltool: Nccltool) -> None:
    rules = nccltool("doctor", "--list-rules").out
    assert "SYN017    error    bad-torch-switch " in rules
    variables = nccltool("doctor", "--list-variables").out.splitlines()
    assert len(variables) == 755
    assert [line.split()[:2] for line in variables if line.startswith("NCCL_IB_HCA ")] == [["NCCL_IB_HCA", "nccl"]]


def test_both_lists(nccltool: Nccltool) -> None:
    said = nccltool("doctor", "--list-rules", "--list-variables").out
    assert "SYN009" in said
    assert "NCCL_IB_HCA" in said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a  *b*\n c", "a \\*b\\* c"),
        ("`a*b` <c>[d] e|f", "`a*b` \\<c\\>\\[d\\] e\\|f"),
        ("NCCL_IB_HCA", "NCCL_IB_HCA"),
    ],
)
def test_prose_means_nothing_to_markdown(text: str, shown: str) -> None:
    assert pages.plain(text) == shown
