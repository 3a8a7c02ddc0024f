"""JUDGE hosts of which none was reached: what they have in common is the host that called them. Pure."""

from collections.abc import Sequence

from nccltool.core.findings import Finding, Subject
from nccltool.launch.finding_kinds import HOST_UNREACHABLE, LARGE_PACKETS_LOST

_LOST_PACKETS = (HOST_UNREACHABLE, LARGE_PACKETS_LOST)
"""Of hosts from which nothing came. One that refuses is there, and logins may hang on a file system."""
_ENOUGH = 2
"""Of a single host, nobody knows which end it is."""
_SHOWN = 4


def of_lost(here: str, others: int, lost: Sequence[Finding]) -> Finding | None:
    """About this host, where each of several others was lost for the network; None = it does not stand out."""
    if others < _ENOUGH or len(lost) < others or any(one.kind not in _LOST_PACKETS for one in lost):
        return None
    large = all(one.kind is LARGE_PACKETS_LOST for one in lost)
    what = "large packets between it and each of them are lost" if large else "none of them responds"
    return lost[0].kind.finding(
        subject=Subject(kind="host", name=here),
        message=f"this host, {here}, reaches none of the {others} other hosts: {what}",
        evidence=tuple(one.message for one in lost[:_SHOWN]),
        remedy=f"check the network of {here}: its link, MTU, interface and switch port",
    )
