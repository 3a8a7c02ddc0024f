"""The interface is right, but a firewall, security group, port, route, or MTU blocks traffic between hosts.

## Meaning
Ranks know each other's addresses but cannot connect, or packets above some size are lost.

## Impact
Init fails or hangs until connections time out (about a minute). Every job that uses both hosts is affected.

## Verify
    nc -vz PEER 29500                          # from the host that reports the error; expected: succeeded
    ping -M do -s 8972 -c 3 PEER               # -s 1472 without jumbo frames; expected: 0% packet loss
    nft list ruleset; iptables -S              # on both hosts; expected: no rule that drops high ports
    ip route get PEER                          # expected: the fabric's interface

## Causes
* A host firewall or cloud security group allows only some ports, but NCCL uses ephemeral ports.
* The security group has no rule for EFA traffic between its members.
* A route between subnets is missing.
* The MTU is 9000 on hosts but 1500 on a switch.
* A Kubernetes network policy blocks the traffic.

## Fix
Allow all traffic between the hosts of a job in the firewall or security group. Blast radius: the rule applies to
every job on these hosts. For one job, set NCCL_SOCKET_IFNAME to another network.

## Escalate
Send the network team the source, the destination, the port, and the time of the failure.
"""

from nccltool.triage.addresses import is_of_containers, is_of_every_host, is_of_libvirt, is_unreachable
from nccltool.triage.causes.base import FITS, SAYS, TYPICAL, Clue, Clues, Given, LogEvent, Offender, Timeline

EXPLAINS = frozenset({"rdzv-store"})
DECIDES = "`nc -vz PEER PORT` from the host that could not connect, with a listener on PEER"

SOURCES = ("misc/socket", "os/linux", "transport/net_socket", "bootstrap", r"tcp_\w+\.c", r"sock(?:cm)?\w*\.c$")
SIGNS = {
    "efa.unreachable": (SAYS, "the fabric provider got no answer from the other host"),
    "efa.failed": (0.75, "a fabric request to another host failed"),
    "mpi.unreachable": (TYPICAL, "MPI found no path between two processes"),
    "mpi.no-callback": (0.85, "an MPI daemon could not connect back to the host that started it"),
    "ucx.unreachable": (TYPICAL, "UCX reported the other host unreachable"),
    "net.no-answer": (0.75, "a connection to another host got no answer"),
    "net.no-route": (TYPICAL, "the operating system has no route to another host"),
    "net.too-long": (TYPICAL, "a packet was too long for the path"),
    "nccl.peer-lost": (0.65, "a host stopped answering on an open connection"),
}
SIGNS_OF_FAILURE = {
    "net.refused": (FITS, "a connection was refused"),
    "net.no-ping": (TYPICAL, "a ping got no reply"),
}
_NO_ROUTE = ("No route to host", "Network is unreachable", "Host is unreachable")
_NO_ANSWER = ("110", "113", "101")
"""Connection timed out, no route to host, network is unreachable. Who refuses may only not have started yet."""
_PEERS = ("nccl.connect-failed", "nccl.retry", "nccl.peer-lost", "gloo.connect-failed")
_SEVERAL = 5
_MANY_RETRIES = 10
"""NCCL waits a growing time between tries: ten are more than the start of a slow peer takes."""


def clues(timeline: Timeline) -> Given:
    """Connections that were refused, dropped or have no route."""
    if event := _failed(timeline):
        error = event.get("error")
        strength = SAYS if error.startswith(_NO_ROUTE) else TYPICAL
        retried = timeline.counts.get("nccl.retry", 0) >= _SEVERAL
        strength = (TYPICAL if retried else FITS) if "refused" in error else strength
        yield Clue(strength, f"a connection to {event.get('peer')} failed: {error}", event)
    yield from _in_mesh(timeline)
    if event and is_of_containers(event.get("peer")):
        yield Clue(FITS, "the address belongs to a container network that is local to its host", event)
    if own := timeline.first(*_PEERS, "net.no-answer", where=lambda e: is_of_every_host(e.get("peer"))):
        yield Clue(-0.6, "every host has that address on its own container bridge", own)
    elif private := timeline.first("net.no-route", where=lambda e: is_of_libvirt(e.get("peer"))):
        yield Clue(-0.6, "the address is in a virtual machine network that exists only on its host", private)
    if timeline.hung and timeline.nodes > 1 and not timeline.has("nccl.init-complete", "nccl.rings"):
        yield Clue(0.5, "ranks on several hosts started init, and none completed it", timeline.hung)
    retries = timeline.of("nccl.retry")
    tries = max((int(event.get("try") or 0) for event in retries), default=0)
    many = max(tries, timeline.counts.get("nccl.retry", 0)) >= _MANY_RETRIES
    silent = timeline.first("nccl.retry", where=lambda e: e.get("error").startswith("Connection timed out"))
    if silent and not many and timeline.failed and not timeline.has("nccl.rings", "nccl.init-complete"):
        yield Clue(FITS, "a host did not answer NCCL's connections", silent)
    if many and not timeline.has("nccl.rings", "nccl.init-complete"):
        yield Clue(0.6, "a connection was retried and never succeeded", retries[0])
    if event := timeline.first("store.retry", where=lambda e: timeline.failed and e.get("errno") in _NO_ANSWER):
        yield Clue(0.75, f"the store's host does not answer: {event.get('error')}", event)
    if event := timeline.first(
        "gloo.connect-failed", where=lambda e: e.get("peer") and not is_unreachable(e.get("peer"))
    ):
        yield Clue(0.6, "Gloo could not connect all ranks", event)


_CUT_OFF = ("nccl.peer-closed", "net.no-answer", "net.refused", "nccl.connect-failed", "store.closed")


def _in_mesh(timeline: Timeline) -> Given:
    """A proxy beside the ranks, and connections that were cut or came to nothing before any step."""
    mesh = timeline.first("net.mesh")
    if mesh and not timeline.steps_before and (timeline.hung or timeline.has(*_CUT_OFF)):
        yield Clue(TYPICAL, "a service mesh's proxy is between the ranks, and connections fail", mesh)


def _failed(timeline: Timeline) -> LogEvent | None:
    far = timeline.first("nccl.connect-failed", where=lambda e: not is_unreachable(e.get("peer")))
    return far or timeline.first("nccl.connect-failed")


def _mesh_said(timeline: Timeline) -> str:
    return " ".join(event.text.lower() for event in timeline.of("net.mesh"))


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The device or address that cannot be reached."""
    if next(_in_mesh(timeline), None):
        return Offender("process", "istio-proxy" if "istio" in _mesh_said(timeline) else "linkerd-proxy")
    if timeline.has("mpi.no-callback") and (lost := timeline.part("host", "job.exit", "mpi.exit", name="node")):
        return lost
    unheard = next((event for event in clues.proofs()[:1] if event.kind == "net.no-ping"), None)
    above = [one for one in timeline.of("net.pinged") if unheard and timeline.before(one, unheard)]
    if above:
        return Offender("host", above[-1].get("peer"))
    silent = timeline.first("store.retry", where=lambda e: e.get("host") and e.get("errno") in _NO_ANSWER)
    told = timeline.first_part(
        "address", *_PEERS, "net.no-route", "net.no-answer", "efa.unreachable", "net.stranger", name="peer"
    )
    if told and told.name[:1].isalpha() and ":" not in told.name:
        told = Offender("host", told.name)
    return (
        timeline.first_part("device", "efa.unreachable", name="device")
        or told
        or (Offender("host", silent.get("host")) if silent else None)
        or clues.host_or_rank()
    )
