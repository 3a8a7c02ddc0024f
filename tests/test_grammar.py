"""Values as NCCL reads them: numbers, names, algorithms, levels."""

import ctypes
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool import grammar
from nccltool.grammar import ALGORITHMS, PROTOCOLS, Integer, Name
from nccltool.versions import Version

OLD = Version(2, 21, 5)


@pytest.mark.parametrize(
    ("text", "value", "rest"),
    [
        ("0", 0, ""),
        ("4194304", 4194304, ""),
        (" 22", 22, ""),
        ("-2", -2, ""),
        ("+7x", 7, "x"),
        ("0x40", 64, ""),
        ("0X4g", 4, "g"),
        ("0x", 0, "x"),
        ("010", 8, ""),
        ("08", 0, "8"),
        ("4M", 4, "M"),
        ("true", 0, "true"),
        ("'1'", 0, "'1'"),
        ("9223372036854775807", 2**63 - 1, ""),
        ("9223372036854775808", None, ""),
        ("-9223372036854775808", -(2**63), ""),
        ("1" * 5000, None, ""),
        ("\u0661", 0, "\u0661"),
    ],
)
def test_integer(text: str, value: int | None, rest: str) -> None:
    number = grammar.integer(text)
    assert number
    assert (number.value, number.rest) == (value, rest)


def test_an_empty_number_is_none() -> None:
    assert grammar.integer("") is None
    assert grammar.integer("0") == Integer(value=0, rest="", digits=True)


@given(st.text(string.digits + "xXabfF+- \t8", max_size=24))
def test_integer_is_that_of_the_c_library(text: str) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    library.strtoll.restype = ctypes.c_longlong
    ctypes.set_errno(0)
    value = library.strtoll(text.encode(), None, 0)
    expected = None if ctypes.get_errno() else value
    number = grammar.integer(text)
    if "0b" not in text.lower():  # newer C libraries read binary numbers where they are asked to
        assert (number and number.value) == (expected if text else None)


@given(st.text(string.digits + "+- x", max_size=14))
def test_atoi_is_that_of_the_c_library(text: str) -> None:
    assert grammar.atoi(text) == ctypes.CDLL(None).atoi(text.encode())


@pytest.mark.parametrize(
    ("text", "exclude", "exact", "entries"),
    [
        ("eth", False, False, [Name(name="eth")]),
        ("^=eth0,ib0", True, True, [Name(name="eth0"), Name(name="ib0")]),
        ("=^eth0", False, True, [Name(name="^eth0")]),
        ("=eth1,=eth0", False, True, [Name(name="eth1"), Name(name="=eth0")]),
        ("^", True, False, []),
        (",,", False, False, []),
        ("mlx5_0:1,:2", False, False, [Name(name="mlx5_0", port=1)]),
        ("mlx5_0:1:2:3", False, False, [Name(name="mlx5_0", port=1, rail=2, plane=3)]),
        ("mlx5_0::2", False, False, [Name(name="mlx5_0", rail=2)]),
        ("mlx5_0:x", False, False, [Name(name="mlx5_0", port=0)]),
        ("e" * 70, False, False, [Name(name="e" * 63)]),
    ],
)
def test_names(text: str, exclude: bool, exact: bool, entries: list[Name]) -> None:
    names = grammar.names(text, 16)
    assert (names.exclude, names.exact, list(names.entries)) == (exclude, exact, entries)


def test_names_of_old_releases_have_no_rail() -> None:
    assert grammar.names("mlx5_0:1:2", 32, OLD).entries == (Name(name="mlx5_0", port=1),)
    assert len(grammar.names(",".join("abcdefghijklmnopqrstuvwxyz"), 16).entries) == 16


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("eth", ["eth0", "eth10"]),
        ("=eth0", ["eth0"]),
        ("^eth", ["lo", "ib0"]),
        ("^=eth0", ["eth10", "lo", "ib0"]),
        ("^=", []),
        (",,", ["eth0", "eth10", "lo", "ib0"]),
        ("eth0:1", ["eth0"]),
    ],
)
def test_what_names_choose(text: str, chosen: list[str]) -> None:
    names = grammar.names(text, 16)
    assert [name for name in ("eth0", "eth10", "lo", "ib0") if names.chooses(name)] == chosen


def test_a_port_is_chosen_by_its_number() -> None:
    names = grammar.names("=mlx5_0:2,mlx5_1", 32)
    assert [(name, port) for name in ("mlx5_0", "mlx5_1") for port in (1, 2) if names.chooses(name, port)] == [
        ("mlx5_0", 2),
        ("mlx5_1", 1),
        ("mlx5_1", 2),
    ]


def test_a_list_for_all_and_one_for_a_function() -> None:
    read = grammar.selection("ring,collnetdirect;allreduce:tree,^", ALGORITHMS)
    assert read.left["Broadcast"] == ("Ring", "CollNetDirect")
    assert read.left["AllReduce"] == ("Tree",)
    assert read.unknown == (("word", "^"),)
    assert read.named == ("Ring", "CollNetDirect", "Tree")


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Ring;Tree", [("no function", "Tree")]),
        ("alltoall:Ring", [("function", "alltoall")]),
        (":", [("nothing", ":")]),
        ("", []),
        ("^LL128", [("word", "LL128")]),
    ],
)
def test_what_is_not_understood(text: str, unknown: list[tuple[str, str]]) -> None:
    assert list(grammar.selection(text, ALGORITHMS).unknown) == unknown


def test_old_releases_have_one_list_and_drop_words() -> None:
    read = grammar.selection("allreduce:tree,ring", ALGORITHMS, OLD)
    assert set(read.left.values()) == {("Ring",)}
    assert grammar.selection("^LL128", PROTOCOLS, OLD).left["Reduce"] == ("LL", "Simple")


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("PIX", "PIX"),
        ("pix", None),
        ("0", "LOC"),
        ("3", "PHB"),
        ("99", "SYS"),
        ("9" * 30, "SYS"),
        ("-1", None),
        ("", None),
    ],
)
def test_path_level(text: str, level: str | None) -> None:
    assert grammar.path_level(text) == level


@given(st.text(max_size=200))
def test_anything_can_be_read(text: str) -> None:
    grammar.integer(text)
    grammar.names(text, 16)
    grammar.names(text, 32, OLD)
    grammar.selection(text, ALGORITHMS)
    grammar.selection(text, PROTOCOLS, OLD)
    grammar.path_level(text)
    grammar.atoi(text)
