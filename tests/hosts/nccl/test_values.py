"""Values as NCCL reads them: numbers, names, algorithms, levels."""

import ctypes
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.versions import Version
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.values import ALGORITHMS, PROTOCOLS, Integer, ListedName

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
    number = values.integer(text)
    assert number
    assert (number.value, number.rest) == (value, rest)


def test_an_empty_number_is_none() -> None:
    assert values.integer("") is None
    assert values.integer("0") == Integer(value=0, rest="", digits=True)


@given(st.text(string.digits + "xXabfF+- \t8", max_size=24))
def test_integer_is_that_of_the_c_library(text: str) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    library.strtoll.restype = ctypes.c_longlong
    ctypes.set_errno(0)
    value = library.strtoll(text.encode(), None, 0)
    expected = None if ctypes.get_errno() else value
    number = values.integer(text)
    if "0b" not in text.lower():  # newer C libraries read binary numbers where they are asked to
        assert (number and number.value) == (expected if text else None)


@given(st.text(string.digits + "+- x", max_size=14))
def test_atoi_is_that_of_the_c_library(text: str) -> None:
    assert values.atoi(text) == ctypes.CDLL(None).atoi(text.encode())


@pytest.mark.parametrize(
    ("text", "exclude", "exact", "entries"),
    [
        ("eth", False, False, [ListedName(name="eth")]),
        ("^=eth0,ib0", True, True, [ListedName(name="eth0"), ListedName(name="ib0")]),
        ("=^eth0", False, True, [ListedName(name="^eth0")]),
        ("=eth1,=eth0", False, True, [ListedName(name="eth1"), ListedName(name="=eth0")]),
        ("^", True, False, []),
        (",,", False, False, []),
        ("mlx5_0:1,:2", False, False, [ListedName(name="mlx5_0", port=1)]),
        ("mlx5_0:1:2:3", False, False, [ListedName(name="mlx5_0", port=1, rail=2, plane=3)]),
        ("mlx5_0::2", False, False, [ListedName(name="mlx5_0", rail=2)]),
        ("mlx5_0:x", False, False, [ListedName(name="mlx5_0", port=0)]),
        ("e" * 70, False, False, [ListedName(name="e" * 63)]),
    ],
)
def test_names(text: str, exclude: bool, exact: bool, entries: list[ListedName]) -> None:
    names = values.names(text, 16)
    assert (names.exclude, names.exact, list(names.entries)) == (exclude, exact, entries)


def test_names_of_old_releases_have_no_rail() -> None:
    assert values.names("mlx5_0:1:2", 32, OLD).entries == (ListedName(name="mlx5_0", port=1),)
    assert len(values.names(",".join("abcdefghijklmnopqrstuvwxyz"), 16).entries) == 16


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
    names = values.names(text, 16)
    assert [name for name in ("eth0", "eth10", "lo", "ib0") if names.chooses(name)] == chosen


def test_a_port_is_chosen_by_its_number() -> None:
    names = values.names("=mlx5_0:2,mlx5_1", 32)
    assert [(name, port) for name in ("mlx5_0", "mlx5_1") for port in (1, 2) if names.chooses(name, port)] == [
        ("mlx5_0", 2),
        ("mlx5_1", 1),
        ("mlx5_1", 2),
    ]


def test_a_list_for_all_and_one_for_a_function() -> None:
    read = values.selection("ring,collnetdirect;allreduce:tree,^", ALGORITHMS)
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
    assert list(values.selection(text, ALGORITHMS).unknown) == unknown


def test_old_releases_have_one_list_and_drop_words() -> None:
    read = values.selection("allreduce:tree,ring", ALGORITHMS, OLD)
    assert set(read.left.values()) == {("Ring",)}
    assert values.selection("^LL128", PROTOCOLS, OLD).left["Reduce"] == ("LL", "Simple")


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
    assert values.path_level(text) == level


@given(st.text(max_size=200))
def test_anything_can_be_read(text: str) -> None:
    values.integer(text)
    values.names(text, 16)
    values.names(text, 32, OLD)
    values.selection(text, ALGORITHMS)
    values.selection(text, PROTOCOLS, OLD)
    values.path_level(text)
    values.atoi(text)
