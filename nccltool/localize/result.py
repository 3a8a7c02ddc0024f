"""What comes of a localization. Frozen; the words of the JSON documents."""

from dataclasses import dataclass
from typing import Literal

SuspectKind = Literal["node", "rail", "link", "group", "rank", "rank-link"]
"""The last two: of a measurement inside nodes."""
Direction = Literal["both", "send", "receive"]
Scope = Literal["nothing-slow", "suspects", "undetermined", "fabric-wide", "unknown"]
MOST_INVISIBLE = 0.5
"""If not even a node at half the speed could show, nothing slow means nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspect:
    """What is accused, with proof."""

    kind: SuspectKind
    subject: tuple[str, ...]
    """Names: a node; a rail as node and rail, or the rail alone if it is slow on all nodes; the two nodes of a
    link, the sender first if one direction is slow; the nodes of a group. A rank is `n1/0`."""
    direction: Direction = "both"
    confidence: float
    """0 to 1, calibrated: of the verdicts given with 0.9, nine in ten are right."""
    ratio: float | None
    """Its speed as a share of the healthy one; None: it did not come."""
    evidence: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class NextTest:
    """What to measure next, and why."""

    members: tuple[str, ...]
    rail: str | None = None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Localization:
    """The verdict over encounters."""

    scope: Scope
    suspects: tuple[Suspect, ...] = ()
    """The surest first."""
    undetermined: tuple[tuple[str, ...], ...] = ()
    """Members of encounters that were slow and that nothing explains."""
    next_tests: tuple[NextTest, ...] = ()
    noise: float | None
    """Relative standard deviation of a healthy encounter; None: too few to tell."""
    smallest_visible_fault: float | None
    """The smallest relative loss that these encounters could have shown."""
    healthy_busbw_bytes_per_s: float | None
    """What healthy members reach together."""
    reason: str
    """Why this scope, in one sentence."""
