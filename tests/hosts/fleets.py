"""Hosts that are alike but for one."""

from typing import Any

from msgspec.structs import replace

from nccltool.core.findings import Finding
from nccltool.hosts.facts import HostFacts
from tests import captured_hosts


def fleet(count: int = 8, **odd: Any) -> list[HostFacts]:
    """Hosts alike but for the last, which has other fields."""
    base = captured_hosts.healthy("ib")
    alike = [replace(base, host=f"n{n:03}", boot_id=f"boot {n}") for n in range(1, count + 1)]
    return [*alike[:-1], replace(alike[-1], **odd)]


def only(found: tuple[Finding, ...]) -> Finding:
    (finding,) = found
    return finding
