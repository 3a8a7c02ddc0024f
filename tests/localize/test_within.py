"""Ranks that were measured inside their nodes."""

from dataclasses import replace

import pytest

from nccltool.localize import within
from tests.support.pairs import localization, suspect


@pytest.mark.parametrize("node", ["n1", "vm:0", "a/b"])
def test_a_name_leads_to_its_node(node: str) -> None:
    assert within.home_of(within.name_of(node, 12)) == node
    assert within.home_of(node.replace("/", "")) == node.replace("/", "")


def test_ranks_of_different_nodes_never_meet() -> None:
    topology = within.topology_of(["n1/0", "n1/1", "n2/0"])
    assert topology.can_meet("n1/0", "n1/1")
    assert not topology.can_meet("n1/0", "n2/0")


def test_suspects_are_ranks_and_their_links() -> None:
    found = within.told(localization(suspect("node", "n1/0"), suspect("link", "n1/0", "n1/1")))
    assert [one.kind for one in found.suspects] == ["rank", "rank-link"]


def test_a_reason_speaks_of_ranks() -> None:
    found = within.told(replace(localization(), reason="4 of 6 nodes are slower; a node at half the speed"))
    assert found.reason == "4 of 6 ranks are slower; a rank at half the speed"
