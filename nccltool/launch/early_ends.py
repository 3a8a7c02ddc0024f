"""Node processes that ended before they should: before the start, and before their ranks were done."""

from collections.abc import Sequence
from dataclasses import replace

from nccltool.core import processes
from nccltool.core.findings import Finding, Subject
from nccltool.hosts.sources import net
from nccltool.launch import blame, finding_kinds
from nccltool.launch.launchers.base import last_said
from nccltool.launch.session import NodeProcess

RESOLVE_S = 1.0
"""How long to wait for the address of a name that ssh has just used."""


def ended_early(host: str, exit_code: int, lines: Sequence[str]) -> Finding:
    """Its node process ended before it was told to start."""
    return finding_kinds.HOST_MISCONFIGURED.finding(
        subject=Subject(kind="host", name=host),
        message=f"{host} cannot be used: the node process there ended (exit code {exit_code}) before it started",
        evidence=last_said(lines),
        remedy="run there: python -c 'import torch, nccltool'; to use another Python, pass --remote-python",
    )


def node_failed(process: NodeProcess, has_begun: bool, message: str = "") -> Finding:
    """It ended before its ranks were done, and no rank is known to have caused it. `has_begun`: the ranks met."""
    host, code = process.command.host, process.exit_code() or 0
    how = f"was killed by {processes.signal_name(-code)}" if code < 0 else f"ended (exit code {code})"
    check = "" if has_begun else "; check that python -c 'import torch' works there"
    return finding_kinds.NODE_FAILED.finding(
        subject=Subject(kind="host", name=host) if host else Subject(kind="run", name="node process"),
        message=message or f"the node process{f' on {host}' if host else ''} {how} before its ranks were done",
        evidence=tuple(process.said)[-10:],
        remedy=blame.killed_remedy(host or "this host", -code)
        if code < 0
        else f"read log.txt in the run directory{check}",
    )


def loopback(name: str) -> str:
    """The loopback address that a host's name leads to here; empty = it leads elsewhere."""
    addresses = net.resolve(name, RESOLVE_S) or ()
    return addresses[0] if addresses and all(net.is_loopback(address) for address in addresses) else ""


def with_address(finding: Finding) -> Finding:
    """A host that refuses may be this one, which a wrong line in /etc/hosts leads to."""
    name = finding.subject.name
    address = loopback(name) if finding.kind is finding_kinds.HOST_REFUSED and name != "localhost" else ""
    if not address:
        return finding
    return replace(
        finding,
        evidence=(f"{name} resolves to {address} here, which is this host", *finding.evidence),
        remedy=f"correct the address of {name} in /etc/hosts here or use its address",
    )
