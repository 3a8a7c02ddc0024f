"""Ranks could not join the rendezvous: bad master address, port in use, or too few ranks.

## Meaning
Before NCCL starts, ranks connect to a TCPStore or a rendezvous at MASTER_ADDR:MASTER_PORT. That failed.

## Impact
The job does not start. Nothing was trained or measured.

## Verify
    getent hosts MASTER_ADDR                   # on every host; expected: the same, routed address
    ss -ltnp 'sport = :29500'  # on the master; expected: this job's process, or nothing before it starts
    nc -vz MASTER_ADDR 29500                   # from the others; expected: succeeded
    squeue -j JOB -o '%D %N'                   # expected: as many nodes as --nnodes

## Causes
* An old process, or another job on the host, uses the same port.
* The name of a pod is not yet in DNS.
* The value of --nnodes is wrong.
* A node started late or not at all.
* A clock is wrong: torchrun's c10d rendezvous drops a node that is about 15 s behind.

## Fix
Port in use: kill the old process or set another --master-port or --rdzv-endpoint. Name not found: use an IP
address or wait for the DNS record. Too few nodes: start the missing nodes, or set a longer timeout, such as
--rdzv-conf join_timeout=900. Blast radius: this job.

## Escalate
If names do not resolve or nodes are missing, contact the owner of DNS or of the scheduler.
"""

import re

from nccltool.triage.causes.base import FITS, HINT, SAYS, TYPICAL, Clue, Clues, Given, Offender, Timeline
from nccltool.triage.timeline import work

DECIDES = "whether MASTER_ADDR resolves on every host and its port is free before the job starts"

SIGNS_OF_FAILURE = {
    "store.in-use": (SAYS, "the port of the store is in use"),
    "store.unresolved": (SAYS, "a hostname could not be resolved"),
    "gloo.unresolved": (TYPICAL, "Gloo could not resolve its own hostname"),
    "mpi.no-start": (0.8, "the launcher could not start processes on all hosts"),
    "store.timeout": (TYPICAL, "the store could not be reached before the timeout"),
    "store.unanswered": (0.65, "no process listened at the coordinator's address"),
    "store.no-address": (0.65, "the address of the store does not belong to this host"),
    "store.too-few": (TYPICAL, "too few ranks or nodes joined"),
    "store.no-environment": (0.65, "a variable that the rendezvous needs is not set"),
    "store.lookup-retry": (FITS, "the name of the store's host is not resolved"),
    "store.rendezvous": (FITS, "the rendezvous failed"),
    "nccl.bind-failed": (0.6, "a process could not bind to an address"),
    "nccl.bootstrap-mismatch": (FITS, "ranks of different jobs or world sizes used one address"),
    "store.keep-alive": (HINT, "a node lost the connection to the rendezvous"),
    "nccl.init-complete": (-FITS, "communicators were created, so the ranks had joined"),
}
_NAMING = ("store.timeout", "store.unresolved", "store.lookup-retry", "store.endpoint", "store.retry")

_SEVERAL = 2
_MET = (
    *("store.joined", "store.listening", "torchrun.joined", "nccl.version", "nccl.init-start", "nccl.bootstrap"),
    *("job.serving", "job.progress", "job.completed", "torchrun.succeeded", "bench.row"),
)
"""What ranks print once they have met."""
_GIVEN_UP = ("job.cancelled", "job.interrupted", "job.sigterm", "job.terminated")
"""How somebody ends ranks that look for each other in vain."""


def clues(timeline: Timeline) -> Given:
    """Against it speaks that whoever did not join was seen at work, or that all had joined."""
    is_whole = not timeline.ends_early and not timeline.unread
    joined = timeline.first("store.joined", "torchrun.joined", "job.progress")
    if timeline.first("store.rendezvous", where=lambda e: joined and timeline.before(joined, e)):
        yield Clue(-FITS, "the rendezvous had been complete before it failed", joined)
    if (absent := timeline.first("job.pod-pending")) and timeline.failed:
        yield Clue(TYPICAL, "a pod of the job was never started", absent)
    elif (
        absent
        and is_whole
        and not any(timeline.before(absent, later) for later in timeline.of("job.pod-started", *_MET))
    ):
        yield Clue(0.5, "a pod of the job was not started, and no line shows that it started later", absent)
    nameless = timeline.first("store.lookup-retry", where=lambda e: not e.get("host"))
    if nameless and timeline.failed:
        yield Clue(0.85, "the address of the store is empty", nameless)
    asked = timeline.of("store.lookup-retry", "store.retry", "store.unanswered")
    failed = any(event.kind not in _GIVEN_UP for event in timeline.troubles())
    if len(asked) >= _SEVERAL and is_whole and not failed and not timeline.has(*_MET):
        yield Clue(0.5, "a process looked for the store, but no line shows that it found it", asked[0])
    if (event := work.beside_wait(timeline)) and timeline.failed:
        yield Clue(-FITS, "a process that had not joined was still working", event)


_PORT = re.compile(
    r"(?:--?(?:master|main_process|rdzv)[_-]?port[= ]+|--rdzv[_-]endpoint[= ]+\S+:)(?P<port>\d{4,5})\b"
)


def _port_told(timeline: Timeline) -> str | None:
    """The port of the store: of the command line, or the one that somebody lists as taken."""
    typed = (_PORT.search(event.text) for event in timeline.of("shell.command"))
    told = next((match["port"] for match in typed if match), None)
    listed = {event.get("port") for event in timeline.of("shell.listens")}
    return told or (listed.pop() if len(listed) == 1 else None)


_LOOPBACK = re.compile(r"\b(?:localhost|127\.0\.0\.1):\d{2,5}\b")
_SEVERAL_NODES = re.compile(r"--nnodes[= ]0*[2-9]")


def _own_address(timeline: Timeline, clues: Clues) -> str | None:
    """The address at which each host of several finds only itself."""
    told = {event.get("node") for event in timeline.of("job.exit")} - {""}
    typed = any(_SEVERAL_NODES.search(event.text) for event in timeline.of("shell.command", "shell.world"))
    several = typed or max(len(told), len(timeline.hosts), timeline.nodes) > 1
    said = (*clues.proofs(), *timeline.of("store.endpoint", "store.listening")) if several else ()
    return next((match[0] for event in said if (match := _LOOPBACK.search(event.text))), None)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The port, or the host that cannot be found."""
    taken = timeline.first_part("port", "store.in-use", "store.endpoint", name="port")
    if timeline.has("store.in-use"):
        port = timeline.variable("MASTER_PORT") or _port_told(timeline)
        if taken or port:
            return taken or Offender("port", port or "")
    if absent := timeline.part("host", "job.pod-pending", name="node"):
        return absent
    met = timeline.first("nccl.bootstrap-mismatch", "nccl.bind-failed")
    if met and not timeline.has("store.timeout", "store.too-few", "store.unresolved"):
        return Clues([Clue(FITS, "", met)]).host_or_rank()
    if own := _own_address(timeline, clues):
        return Offender("address", own)
    absent_tasks = {event.get("task") for event in timeline.of("store.absent")}
    if len(absent_tasks) == 1 and not timeline.has("store.unanswered"):
        return Offender("rank", absent_tasks.pop())
    workers = timeline.first("store.endpoint", where=lambda e: e.text.lstrip().startswith("master_addr="))
    if workers and timeline.has("torchrun.joined"):  # the agents had met: it is their workers' store that fails
        return Offender("host", workers.get("host"))
    if named := timeline.first_part("host", *_NAMING, name="host"):
        return named
    asked = timeline.first("store.unanswered", where=lambda e: e.get("host") and e.get("port"))
    return Offender("address", f"{asked.get('host')}:{asked.get('port')}") if asked else clues.host_or_rank()
