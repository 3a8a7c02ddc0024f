"""nccltool explain: a page for each word, as text for a terminal."""

import re

import pytest

from tests.conftest import Nccltool

ALIKE = [
    ("rank-died", "Rank died", "RANK_DIED", "rank_died"),
    ("exit-codes", "Exit codes", "exit_codes"),
    ("3", "exit 3", "exit code 3", "exit-code-3"),
    ("SYN009", "syn-009", "syn009", "doctor/SYN009", "quoted-value", "quoted value"),
    ("all_reduce", "all-reduce", "ALL_REDUCE"),
    ("nccltool_missing_hosts", "missing hosts", "nccltool_missing_hosts{}", "NCCLTOOL-MISSING-HOSTS"),
    ("NCCL_IB_HCA", "nccl_ib_hca", "NCCL_IB_HCA=mlx5_0"),
    ("NccltoolWrongData", "nccltoolwrongdata"),
    ("reach/ports", "Reach/Ports"),
    ("busbw_bytes_per_s", "BUSBW_BYTES_PER_S", "busbw bytes per s"),
    ("algbw_bytes_per_s", "measurements[].algbw_bytes_per_s"),
    ("n-half", "N half"),
]


@pytest.mark.parametrize("spellings", ALIKE, ids=[first for first, *_ in ALIKE])
def test_a_word_is_found_in_any_spelling(spellings: tuple[str, ...], nccltool: Nccltool) -> None:
    first, *others = (nccltool("explain", *spelled.split()) for spelled in spellings)
    assert (first.code, first.err) == (0, "")
    assert len(first.out.splitlines()) > 2
    assert [other.out for other in others] == [first.out] * len(others)


@pytest.mark.parametrize(
    ("word", "begin"),
    [
        ("rank-died", "rank-died (finding)\n\nerror, exit 3\n"),
        ("within/rank-died", "rank-died (finding)\n"),
        ("ib-link", "ib-link (root cause)\n"),
        ("exit 3", "exit code 3; status incomplete\n"),
        ("reach/ports", "reach/ports (check of preflight)\n"),
        ("across/all_reduce-busbw-64MiB", "busbw (check of preflight)\n"),
        ("within/all_reduce-late-1MiB", "late (check of preflight)\n"),
        ("across/data", "data (check of preflight)\n"),
        ("inventory/nccltool", "inventory/nccltool (check of preflight)\n"),
        ("train/ddp", "ddp (strategy)\n"),
        ("across", "across (stage of preflight)\n"),
        ("nightly", "nightly (suite)\n"),
        ("aws-p5", "aws-p5 (platform)\n"),
        ("NCCLTOOL_RUN_DIR", "NCCLTOOL_RUN_DIR (environment variable)\n"),
        ("env-differs", "env-differs (finding)\n"),
        ("±%", "±% (in the output)\n"),
        ("straggler", "straggler (word)\n"),
        ("late_s", "late_s (key of JSON)\n"),
        ("findings[].page", "page (key of JSON)\n"),
    ],
)
def test_the_page_of_a_word(word: str, begin: str, nccltool: Nccltool) -> None:
    said = nccltool("explain", word)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(begin)


def test_a_word_of_several_kinds_has_a_page_of_each(nccltool: Nccltool) -> None:
    titles = re.findall(r"^busbw \((.*)\)$", nccltool("explain", "busbw").out, re.MULTILINE)
    assert titles == ["check of preflight", "in the output", "word"]


def test_explain_shows_the_rules_of_a_variable(nccltool: Nccltool) -> None:
    assert "TUN002 tiny-buffer" in " ".join(nccltool("explain", "NCCL_BUFFSIZE").out.split())


def test_without_a_word_it_lists_kinds_and_with_a_kind_its_words(nccltool: Nccltool) -> None:
    assert re.search(r"^findings +\d+ ", nccltool("explain").out, re.MULTILINE)
    said = nccltool("explain", "root-causes").out
    assert said.startswith("root-causes: ")
    assert "ib-link" in said


@pytest.mark.parametrize("word", ["rank-died", "ib-link", "exit-codes", "SYN009", "variables", "NCCL_IB_HCA"])
def test_a_page_fits_80_columns(word: str, nccltool: Nccltool) -> None:
    assert max(len(line) for line in nccltool("explain", word).out.splitlines()) <= 80


def test_an_escape_in_an_unknown_word_is_escaped_once(nccltool: Nccltool) -> None:
    assert nccltool("explain", "a\x1bb").err.startswith("Error: unknown word 'a\\x1bb'\n")


def test_words_of_runs_that_do_not_end_are_explained(nccltool: Nccltool) -> None:
    for word in ("interrupted", "in progress"):
        assert nccltool("explain", *word.split()).code == 0
