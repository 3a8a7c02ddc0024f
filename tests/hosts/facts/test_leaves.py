"""A leaf is a value, or the reason why there is none; a list of the kernel is its numbers."""

import msgspec
import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import (
    Interface,
    Network,
    NotKnown,
    known,
    numbers,
    or_none,
)
from nccltool.hosts.facts.leaves import all_unknown


def test_known() -> None:
    assert known(0) == 0
    assert known(()) == ()
    with pytest.raises(NotKnown, match=r"^no$"):
        known(Unknown("no"))
    assert (or_none(3), or_none(Unknown("no"))) == (3, None)


def test_unknown_is_readable_in_json() -> None:
    assert msgspec.json.encode(Unknown("why")) == b'{"unknown":"why"}'


def test_all_unknown_fills_leaves_only() -> None:
    part = all_unknown(Network, "no", addresses=())
    assert (part.interfaces, part.addresses, part.addresses_source) == (Unknown("no"), (), "")
    assert all_unknown(Interface, "no", name="x").kind == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [("0-3,8", {0, 1, 2, 3, 8}), ("", set()), ("5\n", {5}), ("3-1", set()), ("0-0,2", {0, 2})],
)
def test_numbers_of_a_list(text: str, found: set[int]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize("text", ["all", "0-", "-3", "0,,1", "0x3", "0-9999999999999", "0-3:1/2", "\u0663"])
def test_what_is_no_list_of_numbers(text: str) -> None:
    with pytest.raises(NotKnown, match="is not a list of CPUs"):
        numbers(text)
