"""The words of --split, and files of groups."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.probe.split import GroupMembers, Split
from nccltool.probe.split_reader import Leaves, groups_in, split_of


@pytest.mark.parametrize(
    ("word", "split"),
    [
        ("node", Split(by="node", word="node", also_alone=True)),
        ("rail", Split(by="rail", word="rail", also_alone=True)),
        ("4", Split(by="nodes", word="4", nodes=4, also_alone=True)),
    ],
)
def test_words(word: str, split: Split) -> None:
    assert split_of(word, also_alone=True, leaves=None) == split


def test_leaves() -> None:
    assert split_of("leaf", also_alone=False, leaves=lambda: None) == Split(
        by="leaf", word="leaf", leaves_by_name=True
    )
    split = split_of("leaf", also_alone=False, leaves=lambda: {"s1": ("n1", "n2"), "s\x1b2": ("n3",)})
    assert split is not None
    assert [(one.name, one.hosts) for one in split.members] == [("s1", ("n1", "n2")), (r"s\x1b2", ("n3",))]


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "groups.txt"
    file.write_bytes(b"\xef\xbb\xbf# by rack\nn[01-02], x3\n\n0-1 5  # ranks\n")
    split = split_of(str(file), also_alone=False, leaves=None)
    assert split is not None
    assert [(one.name, one.hosts, one.ranks) for one in split.members] == [
        ("line 2", ("n01", "n02", "x3"), ()),
        ("line 4", (), (0, 1, 5)),
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "groups names no group"),
        (b"# only a remark\n", "groups names no group"),
        (b"\xff\xfe", "groups: not a text file"),
        (b"n1\nn2 n1\n", "groups line 2: n1 is already in line 1"),
        (b"0-3\n2\n", "groups line 2: rank 2 is already in line 1"),
        (b"1 1\n", "groups line 1: rank 1 is already in the same line"),
        (b"n1 n1\n", "groups line 1: n1 is named twice"),
        (b"3-0\n", "groups line 1: 3-0 counts backwards"),
        (b"n1 3\n", "groups line 1: hosts and ranks cannot be mixed"),
        (b"n[1-\n", "groups line 1 'n[1-': the brackets do not match"),
        (b"-rf\n", "groups line 1: '-rf' is not a host"),
    ],
)
def test_files_that_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(BadInput) as refused:
        groups_in(data, "groups")
    assert refused.value.message == problem


@pytest.mark.parametrize(
    ("word", "also_alone", "leaves", "problem"),
    [
        (None, True, None, "--also-alone needs --split"),
        (None, False, dict, "--topology needs --split leaf"),
        ("node", False, dict, "--topology cannot be combined with --split node"),
        ("leaf", False, None, "--split leaf needs --topology FILE"),
        ("leaf", False, dict, "--topology: the file names no leaf switch"),
        ("0", False, None, "--split 0: a group needs at least one node"),
        ("-2", False, None, "--split -2: a group needs at least one node"),
        ("99999999999", False, None, "--split 99999999999: a group needs at least one node"),
        ("nodes", False, None, "--split 'nodes' is not node, rail, leaf, a number of nodes, or a file"),
        ("/", False, None, "--split / cannot be read: Is a directory"),
    ],
)
def test_words_that_are_refused(
    word: str | None, also_alone: bool, leaves: Callable[[], Leaves] | None, problem: str
) -> None:
    with pytest.raises(BadInput) as refused:
        split_of(word, also_alone=also_alone, leaves=leaves)
    assert refused.value.message == problem


@given(st.binary(max_size=200))
def test_any_file_is_read_or_refused(data: bytes) -> None:
    try:
        groups = groups_in(data, "groups")
    except BadInput:
        return
    assert groups
    members: list[GroupMembers] = [one for one in groups if one.hosts or one.ranks]
    assert len(members) == len(groups)
