"""What was measured: nodes that met, and how fast they were together. Frozen."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Encounter:
    """One measurement of some nodes, at the same time as the other encounters of its round."""

    members: tuple[str, ...]
    """Names of the nodes: two of a pair, more of a group, one of a node alone."""
    busbw_bytes_per_s: float | None
    """None: they were to meet, but there is no number; `reason` says why."""
    round: int = 0
    """Encounters with the same number ran at the same time."""
    is_directed: bool = False
    """Whether only the first member sent, to the second."""
    rail: str | None = None
    """The rail that they used; None: all rails together."""
    reason: str | None = None
    """Why there is no number."""
