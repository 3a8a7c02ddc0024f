"""What hosts and ports counted while nodes met: evidence beside bandwidth. Frozen."""

from dataclasses import dataclass
from typing import Literal

CounterKind = Literal["retransmits", "symbol-errors", "link-flaps", "low-rate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CounterEvidence:
    """A counter of a node or of one of its ports that grew, or a port whose rate is below its neighbors'."""

    node: str
    kind: CounterKind
    value: float
    """What was counted during the measurement; for low-rate, the rate as a share of the neighbors'."""
    rail: str | None = None
    """The rail of the port; None: the node as a whole."""
    detail: str = ""
    """Where it was read, as `mlx5_3 port 1`."""
