"""Localizations for tests: the pairs of nccl-tests issue 106, and suspects of every kind."""

from nccltool.core.documents import RunInfo, begun_now
from nccltool.localize.encounter import Encounter
from nccltool.localize.result import Localization, NextTest, Suspect

ISSUE_106 = "a,b,busbw\n644,699,49.36\n632,641,88.36\n284,678,49.28\n641,644,49.30\n404,699,86.81\n"
"""GB/s of all-reduce between two nodes, as users reported them to nccl-tests (issue 106)."""


def met(a: str, b: str, gb_per_s: float | None, number: int = 0, **more: object) -> Encounter:
    """Two nodes that met."""
    rate = None if gb_per_s is None else gb_per_s * 1e9
    return Encounter(members=(a, b), busbw_bytes_per_s=rate, round=number, **more)  # type: ignore[arg-type]


OF_106 = (
    met("644", "699", 49.36),
    met("632", "641", 88.36),
    met("284", "678", 49.28),
    met("641", "644", 49.30),
    met("404", "699", 86.81),
)
NODE = Suspect(
    kind="node",
    subject=("644",),
    confidence=0.96,
    ratio=0.56,
    evidence=("644 - 699: 49.4 GB/s; 404 - 699: 86.8 GB/s", "641 - 644: 49.3 GB/s; 632 - 641: 88.4 GB/s"),
)
FOUND_106 = Localization(
    scope="suspects",
    suspects=(NODE,),
    undetermined=(("284", "678"),),
    next_tests=(
        NextTest(members=("284", "632"), reason="284 with a node that is not slow"),
        NextTest(members=("678", "404"), reason="678 with a node that is not slow"),
    ),
    noise=0.013,
    smallest_visible_fault=0.1,
    healthy_busbw_bytes_per_s=87.6e9,
    reason="1 node is slow",
)


def suspect(kind: str, *subject: str, **more: object) -> Suspect:
    """One of a kind."""
    known: dict[str, object] = {"confidence": 0.95, "ratio": 0.5, "evidence": ()}
    return Suspect(kind=kind, subject=subject, **known | more)  # type: ignore[arg-type]


def localization(*suspects: Suspect, scope: str = "suspects", **more: object) -> Localization:
    """One with these suspects."""
    known: dict[str, object] = {
        "noise": 0.03,
        "smallest_visible_fault": 0.09,
        "healthy_busbw_bytes_per_s": 370e9,
        "reason": "so it is",
    }
    return Localization(scope=scope, suspects=suspects, **known | more)  # type: ignore[arg-type]


def info(*hosts: str) -> RunInfo:
    """Circumstances of a localization."""
    return begun_now(("nccltool", "localize", "pairs.csv"), hosts=hosts, nodes=len(hosts) or None)
