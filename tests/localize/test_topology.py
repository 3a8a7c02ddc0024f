"""A topology answers only what it was told."""

import pytest

from nccltool.localize.topology import Topology

TWO_LEAVES = Topology(leaf_of={"a": "s1", "b": "s2", "c": "s1"}, rails_of={"a": ("0", "1")})


@pytest.mark.parametrize(
    ("one", "other", "expected"), [("a", "c", False), ("a", "b", True), ("a", "x", None), ("x", "y", None)]
)
def test_paths_across_leaves(one: str, other: str, expected: bool | None) -> None:
    assert TWO_LEAVES.is_across(one, other) is expected


def test_leaves_and_rails() -> None:
    assert TWO_LEAVES.leaves() == {"s1": ("a", "c"), "s2": ("b",)}
    assert TWO_LEAVES.rails("a") == ("0", "1")
    assert TWO_LEAVES.rails("b") == ()
    assert Topology().leaf("a") is None
    assert Topology().leaves() == {}


def test_a_name_without_its_domain() -> None:
    assert TWO_LEAVES.leaf("b.cluster.example") == "s2"


def test_racks_in_names() -> None:
    by_name = Topology(is_by_name=True).of(["r1n1", "r1n2.x", "r2n1", "login"])
    assert dict(by_name.leaf_of) == {"r1n1": "r1", "r1n2.x": "r1", "r2n1": "r2"}
    assert TWO_LEAVES.of(["r1n1"]) is TWO_LEAVES
