"""NCCL or Gloo uses a wrong, missing, virtual, or loopback interface.

## Meaning
NCCL uses the interface in NCCL_SOCKET_IFNAME, and Gloo uses the one in GLOO_SOCKET_IFNAME. Without these
variables, they use the first interface other than lo or docker. That interface does not reach the other hosts,
has no address, or does not exist.

## Impact
A multi-host job does not start: ranks fail in init or wait until they time out. If it does start, it can be slow.

## Verify
    grep -h 'Bootstrap' LOG | sort -u          # expected: one interface name, one subnet across all hosts
    ip -br -4 addr                             # on each host; expected: that interface, UP, with an address
    getent hosts $(hostname)                   # expected: not 127.0.0.1 or 127.0.1.1
    ip route get PEER_ADDRESS                  # expected: "dev" with that interface

## Causes
* The interface has different names on different hosts (eth0, ens3).
* An exclusion list (^docker0) replaces the built-in one, and so allows lo again.
* NCCL selects a bridge, a tunnel, or a veth pair in a container.
* The hostname resolves to a loopback address.

## Fix
Set the interface that reaches the other hosts: NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0, or a common
prefix if names differ. Restart the job. Blast radius: this job. Changes to /etc/hosts or to the interface affect
all jobs on the host.

## Escalate
Contact the network team if the interface for this traffic is missing, down, or without an address.
"""

import re

from nccltool.triage.addresses import (
    is_of_containers,
    is_of_every_host,
    is_of_libvirt,
    is_unreachable,
    is_virtual,
)
from nccltool.triage.causes.base import FITS, SAYS, TYPICAL, Clue, Clues, Given, LogEvent, Offender, Timeline

DECIDES = "interface and subnet in each host's Bootstrap line, compared with `ip -br addr` there"

SIGNS = {
    "nccl.no-interface": (SAYS, "NCCL found no usable interface"),
    "gloo.no-interface": (SAYS, "Gloo found no address for the interface"),
    "net.no-interface": (0.85, "a requested interface is missing"),
    "net.stranger": (0.75, "processes reached the wrong peers: several hosts have the same address"),
    "gloo.no-device": (TYPICAL, "Gloo could not open its device"),
    "gloo.no-mesh": (FITS, "Gloo's processes did not meet, and no connection failed"),
    "gloo.unresolved": (FITS, "a hostname is not an address of its host, and Gloo used the loopback interface"),
    "net.no-own-address": (0.75, "a process found no local address that other hosts can reach"),
    "nccl.no-family": (0.8, "a socket of the address family could not be created"),
    "nccl.bad-family": (TYPICAL, "a rank sent an address without a family: it had no usable interface"),
}
_CONNECTS = (
    *("nccl.connect-failed", "nccl.retry", "gloo.connect-failed", "store.retry", "store.timeout"),
    *("net.no-answer", "net.no-route", "ucx.peer-closed"),
)


def clues(timeline: Timeline) -> Given:
    """Interfaces that cannot work, and addresses that peers cannot reach."""
    if found := timeline.first("nccl.ib", where=lambda e: e.get("oob").startswith(":")):
        yield Clue(TYPICAL, "a rank has no interface other than its HCAs (OOB is empty)", found)
    if event := _to_itself(timeline):
        yield Clue(SAYS, f"a rank connects to {_peer(event)}, which is not the address of another host", event)
    if (event := timeline.first("net.any-address")) and not timeline.has("job.progress"):
        yield Clue(0.75, "a process found no address of its own that other hosts can reach", event)
    connects = timeline.has("nccl.connect-failed", "gloo.connect-failed")
    retries = timeline.has("nccl.retry")
    if (event := _virtual(timeline)) and (timeline.failed or retries):
        strength = SAYS if connects or timeline.hung or retries else FITS
        yield Clue(strength, f"{event.get('interface')} does not reach other hosts", event)
    elif event := _first_of_several(timeline):
        yield Clue(0.8, "the first of several interfaces belongs to a container network", event)
    elif (connects or timeline.hung) and _subnets_differ(timeline):
        event = _odd_bootstrap(timeline)
        yield Clue(0.8, "hosts use interfaces in different subnets and cannot connect", event)


def _first_of_several(timeline: Timeline) -> LogEvent | None:
    """A bridge of containers that was taken before another interface, and the connection over it that failed."""
    failed = timeline.first("nccl.connect-failed", where=lambda e: is_of_containers(e.get("peer")))
    if failed is None:
        return None
    listed = (_LISTED.findall(event.text) for event in timeline.of("nccl.bootstrap", "nccl.socket"))
    several = (pairs for pairs in listed if len(pairs) > 1)
    taken = any(
        is_of_containers(pairs[0][1]) and not all(is_of_containers(own) for _, own in pairs) for pairs in several
    )
    return failed if taken else None


def _peer(event: LogEvent) -> str:
    return event.get("peer") or event.get("host")


def _to_itself(timeline: Timeline) -> LogEvent | None:
    """A connection to an address that only its own host has."""
    several = timeline.nodes > 1 or (timeline.world_size or 0) > 1
    for event in timeline.of(*_CONNECTS):
        peer = _peer(event)
        if event.role == "doubt" and not timeline.failed:
            continue
        if is_unreachable(peer) and (several or event.family == "gloo") and event.family != "store":
            return event
        if is_of_every_host(peer) or (peer.startswith("172.17.") and timeline.nodes > 1):
            return event  # every host has the default bridge, with the same addresses
        if event.kind == "net.no-route" and is_of_libvirt(peer):
            return event
        if is_of_containers(peer) and timeline.nodes > 1 and timeline.first("nccl.bootstrap", where=_is_bridge):
            return event
    return None


def _is_bridge(event: LogEvent) -> bool:
    return event.get("interface").startswith(("docker", "br-", "virbr", "cni", "podman"))


def _virtual(timeline: Timeline) -> LogEvent | None:
    if timeline.nodes < 2:
        return None
    return timeline.first(
        "nccl.bootstrap",
        where=lambda e: is_virtual(e.get("interface")) or is_unreachable(e.get("address")),
    )


_LISTED = re.compile(r"\[\d+\]([^\s:]+):([\w.:%]+?)<")


def _owner(timeline: Timeline, address: str) -> str | None:
    """The interface that has an address, among those that NCCL lists for its sockets."""
    events = (*timeline.of("nccl.socket"), *timeline.of("nccl.bootstrap"))
    listed = (pair for event in events for pair in _LISTED.findall(event.text))
    plain = address.partition("%")[0]  # the number of a scope differs from host to host
    return next((interface for interface, own in listed if own.partition("%")[0] == plain), None)


def _shared(timeline: Timeline) -> str | None:
    """The interface that has the same address on two hosts: whoever connects to it meets itself."""
    owners: dict[tuple[str, str], set[str]] = {}
    for event in timeline.of("nccl.socket", "net.listed"):
        listed = _LISTED.findall(event.text) or [(event.get("interface"), event.get("address"))]
        for own in listed:
            owners.setdefault(own, set()).add(event.host or "")
    return next((name for (name, _), hosts in owners.items() if len(hosts) > 1), None)


def _network(address: str) -> str:
    return ".".join(address.split(".")[:2]) if "." in address else address.split("%")[0][:9]


def _subnets_differ(timeline: Timeline) -> bool:
    """Different names, and other first halves of the address: one name in two subnets is a matter of routes."""
    found = timeline.of("nccl.bootstrap")
    networks = {_network(event.get("address")) for event in found}
    return len({event.get("interface") for event in found}) > 1 and len(networks) > 1


def _odd_bootstrap(timeline: Timeline) -> LogEvent | None:
    """The interface of the host that cannot connect, where it is not that of the host it connects to."""
    failed = timeline.first("nccl.connect-failed")
    own = timeline.first("nccl.bootstrap", where=lambda e: failed and e.host == failed.host)
    return own or timeline.first("nccl.bootstrap")


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    if met := timeline.part("address", "net.stranger", name="peer"):
        return met
    if timeline.has("nccl.no-interface"):
        choosing = ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME", "NCCL_COMM_ID", "NCCL_SOCKET_FAMILY")
        if name := next(filter(timeline.variable, choosing), None):
            return Offender("variable", name)
    asked = timeline.variable("GLOO_SOCKET_IFNAME")
    if asked and not asked.isalnum() and timeline.has("gloo.no-interface"):
        return Offender("variable", "GLOO_SOCKET_IFNAME")  # a list or an exclusion, which Gloo takes for a name
    if found := timeline.part("interface", "gloo.no-interface", "net.no-interface", name="interface"):
        return found
    if event := _virtual(timeline):
        return Offender("interface", event.get("interface"))
    if timeline.has("net.stranger") and (shared := _shared(timeline)):
        return Offender("interface", shared)
    if _first_of_several(timeline) and (own := timeline.first("nccl.bootstrap")):
        return Offender("interface", own.get("interface"))
    if timeline.has("nccl.bad-family") and (found := _without_address(timeline)):
        return found
    if event := _to_itself(timeline):
        interface = _owner(timeline, _peer(event))
        return Offender("interface", interface) if interface else Offender("address", _peer(event))
    if _subnets_differ(timeline) and (event := _odd_bootstrap(timeline)):
        return Offender("interface", event.get("interface"))
    found = clues.host_or_rank()  # any rank tells of a mesh that could not be made
    return found if found and found.kind == "host" else _choosing(timeline) or found


def _choosing(timeline: Timeline) -> Offender | None:
    """The variable to set, where nothing tells which interface each process of Gloo took."""
    return Offender("variable", "GLOO_SOCKET_IFNAME") if timeline.has("gloo.no-mesh", "gloo.unresolved") else None


def _without_address(timeline: Timeline) -> Offender | None:
    """The interface that a process was told to take, whose line then shows no address."""
    empty = timeline.first("nccl.ib", where=lambda e: e.get("oob").startswith(":"))
    told = timeline.first(
        "nccl.env", where=lambda e: e.get("name") == "NCCL_SOCKET_IFNAME" and (not empty or e.pid == empty.pid)
    )
    return Offender("interface", told.get("value").lstrip("=^")) if told else None
