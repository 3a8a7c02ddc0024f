"""Hosts and communicators, as NCCL's lines show them."""

import re
from collections import Counter
from dataclasses import dataclass, field

from nccltool.triage.logs.base import LogEvent

_PARTS = {
    "nccl.version": (("versions", "version"),),
    "nccl.driver": (("driver", "version"),),
    "nccl.network": (("networks", "name"),),
    "nccl.channels": (("channels", "count"),),
    "nccl.bootstrap": (("interfaces", "interface"), ("addresses", "address")),
}
"""Kind of event -> what of a host is listed in it, by which part."""


@dataclass(kw_only=True, slots=True)
class ObservedHost:
    """What one host's lines say about it; each list in the order of the lines."""

    name: str
    versions: list[str] = field(default_factory=list)
    driver: list[str] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)
    interfaces: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    hcas: list[str] = field(default_factory=list)
    channels: list[str] = field(default_factory=list)
    transports: Counter[str] = field(default_factory=Counter)
    """P2P/CUMEM, SHM, NET/IB/GDRDMA, NET/Socket ...: how many connections."""
    gdr_hcas: list[str] = field(default_factory=list)
    gdr_hcas_off: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def add(self, event: LogEvent) -> None:
        if event.kind == "nccl.channel":
            self.transports[_transport(event.get("via"))] += event.repeats or 1
        elif event.kind == "nccl.env":
            self.environment[event.get("name")] = event.get("value")
        elif event.kind == "nccl.ib":
            for hca in re.findall(r"\[\d+\]([\w.-]+)", event.get("devices")):
                _note(self.hcas, hca)
        elif event.kind == "nccl.gdr-hca":
            _note(self.gdr_hcas if event.get("state") == "Enabled" else self.gdr_hcas_off, event.get("hca"))
        for listed, part in _PARTS.get(event.kind, ()):
            _note(getattr(self, listed), event.get(part))


def _note(listed: list[str], value: str) -> None:
    if value not in listed:
        listed.append(value)


def _transport(via: str) -> str:
    """P2P/CUMEM, SHM, NET/IB/GDRDMA: without the numbers of devices and proxies."""
    if via.startswith("direct shared memory"):
        return "SHM"
    parts = re.sub(r"\(\w+\)", "", via).split("/")
    if parts[0] == "NET":
        return "/".join(["NET", parts[1] if len(parts) > 1 else "?", *(["GDRDMA"] if "GDRDMA" in parts else [])])
    return "/".join(parts[:2]) if parts[0] == "P2P" else parts[0]


@dataclass(kw_only=True, slots=True)
class ObservedCommunicator:
    """What the lines say about one communicator."""

    id: str
    size: int
    started: set[int] = field(default_factory=set)
    completed: set[int] = field(default_factory=set)
    nodes: int | None = None
    gpus: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    """(host, bus id) -> ranks on it."""

    def add(self, event: LogEvent, host: str) -> None:
        """Take what a line of one of its ranks says."""
        rank = event.rank if event.rank is not None else -1
        if event.kind == "nccl.init-complete":
            self.completed.add(rank)
        elif event.kind == "nccl.init-start":
            self.started.add(rank)
            self.gpus.setdefault((host, event.get("bus")), set()).add(rank)
        else:
            self.nodes = max(self.nodes or 0, int(event.get("nodes")))
