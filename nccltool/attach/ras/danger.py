"""Whether a RAS query can harm a job: some versions of NCCL have crashed when asked."""

from dataclasses import dataclass
from typing import Literal

from nccltool.core.versions import Version

RasRisk = Literal["none", "when-ranks-are-missing", "while-initializing", "unknown"]
"""The worst known effect on a job that is no longer starting."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RasDanger:
    """What is known to happen in a range of versions."""

    first: Version
    last: Version
    while_initializing: bool
    """Only a query while a communicator initializes does harm; else also one while ranks are missing."""
    what: str
    source: str


_LAST = 10**6
DANGERS = (
    RasDanger(
        first=Version(2, 24),
        last=Version(2, 26, _LAST),
        while_initializing=True,
        what="a query while a communicator initializes has crashed jobs",
        source="nccl#1669, nccl#1718; fixed in 2.27.3",
    ),
    RasDanger(
        first=Version(2, 27),
        last=Version(2, 27, 2),
        while_initializing=True,
        what="a query while a communicator initializes has crashed jobs",
        source="nccl#1669, nccl#1718; fixed in 2.27.3",
    ),
    RasDanger(
        first=Version(2, 24),
        last=Version(2, 28, 9),
        while_initializing=False,
        what="a query while ranks are missing corrupts memory",
        source="nccl#1762; fixed in 2.29.2",
    ),
    RasDanger(
        first=Version(2, 29),
        last=Version(2, 30, 7),
        while_initializing=True,
        what="a query while any communicator initializes can crash the job",
        source="nccl#2346, open",
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RasPermission:
    """Whether RAS may be asked now, and why not; `risk` is said even where it may."""

    allowed: bool
    risk: RasRisk
    reason: str = ""


def permission(
    version: Version | None,
    *,
    initializing: bool | None,
    stuck: bool,
    opted_out: bool = False,
    opted_in: bool = False,
) -> RasPermission:
    """What section "RAS" of the page for `attach` promises.

    Never while communicators initialize, and never before the job looks stuck, whatever was asked for. Versions
    that can crash a job that runs need an opt-in; those that only crash one that starts do not. initializing=None
    means that nobody knows.
    """
    dangers = () if version is None else tuple(one for one in DANGERS if one.first <= version <= one.last)
    risk = _risk(version, dangers)
    if opted_out:
        return RasPermission(allowed=False, risk=risk, reason="turned off on the command line")
    if version is not None and version < Version(2, 24):
        return RasPermission(allowed=False, risk="none", reason=f"NCCL {version} has no RAS; 2.24 has")
    if initializing:
        return RasPermission(
            allowed=False, risk=risk, reason="communicators initialize, and RAS is never asked then (nccl#2346)"
        )
    if not stuck:
        return RasPermission(allowed=False, risk=risk, reason="the job does not look stuck, and a query is a risk")
    refusal = _refusal(version, dangers, risk=risk, initializing=initializing)
    if refusal and not opted_in:
        return RasPermission(allowed=False, risk=risk, reason=refusal)
    return RasPermission(allowed=True, risk=risk)


def _risk(version: Version | None, dangers: tuple[RasDanger, ...]) -> RasRisk:
    if version is None:
        return "unknown"
    if any(not one.while_initializing for one in dangers):
        return "when-ranks-are-missing"
    return "while-initializing" if dangers else "none"


def _refusal(
    version: Version | None, dangers: tuple[RasDanger, ...], *, risk: RasRisk, initializing: bool | None
) -> str:
    if version is None:
        return "the version of NCCL is unknown, and some versions crash when RAS is asked"
    if risk == "none" or (risk == "while-initializing" and initializing is False):
        return ""
    worst = next((one for one in dangers if not one.while_initializing), dangers[0])
    return f"in NCCL {version}, {worst.what} ({worst.source})"
