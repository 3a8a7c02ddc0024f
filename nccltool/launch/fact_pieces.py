"""Snapshots of hosts as events: a snapshot is some tens of KiB, an event at most 4, so it comes in pieces."""

import base64
import zlib
from collections.abc import Iterator

from nccltool.core.errors import BadInput
from nccltool.hosts import facts as hosts_facts
from nccltool.hosts.facts import HostFacts
from nccltool.launch import events

_PIECE = 3000
"""Characters of base64 in an event."""
_MOST_BYTES = 64 * 2**20
"""Of a snapshot: what a damaged or hostile host sends must not fill our memory."""
_MOST_PIECES = 4096


def pieces(node: int, facts: HostFacts) -> Iterator[events.FactsPiece]:
    text = base64.b64encode(zlib.compress(hosts_facts.to_json(facts, indent=0).encode(), 6)).decode()
    parts = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    for number, part in enumerate(parts):
        yield events.FactsPiece(node=node, number=number, of=len(parts), text=part)


class Assembly:
    """Puts the pieces of many nodes together."""

    def __init__(self) -> None:
        self.snapshots: dict[int, HostFacts] = {}
        """By node."""
        self.damaged: dict[int, str] = {}
        """Nodes whose snapshot cannot be read, and why."""
        self._pieces: dict[int, dict[int, str]] = {}
        self._reader = hosts_facts.SnapshotReader()

    def take(self, piece: events.FactsPiece) -> None:
        if piece.of > _MOST_PIECES or piece.node in self.snapshots:
            return
        there = self._pieces.setdefault(piece.node, {})
        there[piece.number] = piece.text
        if len(there) < piece.of:
            return
        del self._pieces[piece.node]
        try:
            unpacker = zlib.decompressobj()
            packed = base64.b64decode("".join(there[number] for number in sorted(there)), validate=True)
            text = unpacker.decompress(packed, _MOST_BYTES)
            if not unpacker.eof:
                raise ValueError("the snapshot is truncated or too long")
            self.snapshots[piece.node] = self._reader.read(text, "a snapshot")
        except (ValueError, zlib.error, BadInput) as error:
            self.damaged[piece.node] = str(error)
