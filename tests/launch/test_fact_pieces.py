"""Snapshots in pieces: whole again in any order, and never more than they should be."""

import base64
import random
import zlib

import pytest

from nccltool.hosts.facts import HostFacts
from nccltool.launch import events, fact_pieces
from nccltool.launch.fact_pieces import Assembly
from tests.captured_hosts import healthy


def said(node: int, data: bytes, size: int = 3000) -> list[events.FactsPiece]:
    text = base64.b64encode(data).decode()
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    return [events.FactsPiece(node=node, number=i, of=len(parts), text=part) for i, part in enumerate(parts)]


@pytest.mark.parametrize("kind", ["ib", "laptop"])
def test_a_snapshot_is_whole_again(kind: str) -> None:
    facts = healthy(kind)
    pieces = list(fact_pieces.pieces(3, facts))
    assert all(len(events.encode(piece)) <= events.MAX_LINE for piece in pieces)
    arrived = [events.decode(events.encode(piece).rstrip(b"\n")) for piece in pieces]
    random.Random(1).shuffle(arrived)
    assembly = Assembly()
    for piece in [*arrived, *arrived]:
        assert isinstance(piece, events.FactsPiece)
        assembly.take(piece)
    assert assembly.snapshots == {3: facts}


def test_nodes_do_not_mix() -> None:
    one, two = healthy("ib"), healthy("tcp")
    assembly = Assembly()
    for pair in zip(fact_pieces.pieces(0, one), fact_pieces.pieces(1, two), strict=False):
        for piece in pair:
            assembly.take(piece)
    for piece in [*fact_pieces.pieces(0, one), *fact_pieces.pieces(1, two)]:
        assembly.take(piece)
    assert assembly.snapshots == {0: one, 1: two}


def test_a_piece_that_is_missing_leaves_nothing() -> None:
    assembly = Assembly()
    for piece in list(fact_pieces.pieces(0, healthy("ib")))[1:]:
        assembly.take(piece)
    assert (assembly.snapshots, assembly.damaged) == ({}, {})


@pytest.mark.parametrize(
    "data",
    [
        b"not zlib",
        zlib.compress(b"not JSON"),
        zlib.compress(b'{"schema": 99}'),
        zlib.compress(b" " * (65 * 2**20)),
        zlib.compress(b"[" * 100_000),
    ],
    ids=["bytes", "text", "another schema", "a bomb", "deep"],
)
def test_damaged_pieces_are_said_to_be(data: bytes) -> None:
    assembly = Assembly()
    for piece in said(5, data, 100_000):
        assembly.take(piece)
    assert assembly.snapshots == {}
    assert assembly.damaged[5]


def test_endless_pieces_are_not_kept() -> None:
    assembly = Assembly()
    assembly.take(events.FactsPiece(node=0, number=0, of=10**9, text="A"))
    assert not assembly._pieces


def test_characters_of_no_base64() -> None:
    assembly = Assembly()
    assembly.take(events.FactsPiece(node=0, number=0, of=1, text="\x1b[31m"))
    assert list(assembly.damaged) == [0]


def test_nothing_of_a_snapshot_is_lost_in_json() -> None:
    facts = HostFacts(host="n1")
    assembly = Assembly()
    for piece in fact_pieces.pieces(0, facts):
        assembly.take(piece)
    assert assembly.snapshots == {0: facts}
