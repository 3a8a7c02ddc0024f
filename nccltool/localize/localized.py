"""A localization with what it was made from: the result of `nccltool localize` and `nccltool pairs`. Frozen."""

from dataclasses import dataclass

from nccltool.localize.encounter import Encounter
from nccltool.localize.result import Localization
from nccltool.probe.result import Measurement, Run


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalizedRun(Run):
    """Nodes that met, and who is slow; no row of an operation is in it."""

    measurements: tuple[Measurement, ...] = ()
    kind: str = "localize"
    encounters: tuple[Encounter, ...]
    localization: Localization
    expected_busbw_bytes_per_s: float | None = None
    """What a healthy encounter was said to reach; None = nobody said."""
    sources: tuple[str, ...] = ()
    """The files that were read; empty = it was measured."""
    is_within: bool = False
    """Ranks met inside their nodes, and not nodes."""
