"""A host, as its lines of NCCL show it."""

import re
from collections import Counter

from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import ObservedHost


class HostBuilder:
    """A host whose lines are being read."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, None]] = {}
        self._transports: Counter[str] = Counter()
        self._ranks: set[int] = set()
        self._environment: dict[str, str] = {}

    def add(self, event: LogEvent) -> None:
        """Take what a line says about the host."""
        note = self._seen.setdefault
        if event.kind in ("nccl.init-start", "nccl.init-complete") and event.rank is not None:
            self._ranks.add(event.rank)
        elif event.kind == "nccl.channel":
            self._transports[_transport(event.get("via"))] += event.repeats or 1
        elif event.kind == "nccl.bootstrap":
            note("interfaces", {})[event.get("interface")] = None
            note("addresses", {})[event.get("address")] = None
        elif event.kind == "nccl.ib":
            note("hcas", {}).update(dict.fromkeys(re.findall(r"\[\d+\]([\w.-]+)", event.get("devices"))))
        elif event.kind == "nccl.gdr-hca":
            note("gdr" if event.get("state") == "Enabled" else "gdr-off", {})[event.get("hca")] = None
        elif event.kind == "nccl.env":
            self._environment[event.get("name")] = event.get("value")
        else:
            names = {
                "nccl.version": "version",
                "nccl.driver": "version",
                "nccl.network": "name",
                "nccl.channels": "count",
            }
            if event.kind in names:
                note(event.kind, {})[event.get(names[event.kind])] = None

    def observed(self, name: str) -> ObservedHost:
        """What is known of it now."""
        seen = {key: tuple(values) for key, values in self._seen.items()}
        return ObservedHost(
            name=name,
            ranks=tuple(sorted(self._ranks)),
            versions=seen.get("nccl.version", ()),
            driver=seen.get("nccl.driver", ()),
            networks=seen.get("nccl.network", ()),
            interfaces=seen.get("interfaces", ()),
            addresses=seen.get("addresses", ()),
            hcas=seen.get("hcas", ()),
            channels=seen.get("nccl.channels", ()),
            transports=dict(self._transports),
            gdr_hcas=seen.get("gdr", ()),
            gdr_hcas_off=seen.get("gdr-off", ()),
            environment=dict(self._environment),
        )


def _transport(via: str) -> str:
    """P2P/CUMEM, SHM, NET/IB/GDRDMA: without the numbers of devices and proxies."""
    if via.startswith("direct shared memory"):
        return "SHM"
    parts = re.sub(r"\(\w+\)", "", via).split("/")
    if parts[0] == "NET":
        return "/".join(["NET", parts[1] if len(parts) > 1 else "?", *(["GDRDMA"] if "GDRDMA" in parts else [])])
    return "/".join(parts[:2]) if parts[0] == "P2P" else parts[0]
