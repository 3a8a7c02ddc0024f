"""The log shows only the consequences of another rank's exit.

## Meaning
Ranks lost a peer: connections were closed or reset, or the store disappeared. The peer's own log shows why it
exited, but was not provided.

## Impact
The job died with the peer.

## Verify
    grep -hE 'closed by (remote )?peer|reset by peer' LOG | sort | uniq -c
    # expected: one address in most lines
    sacct -j JOB -o JobID,NodeList,State,ExitCode      # expected: the first step that is not COMPLETED
    dmesg -T | tail -50                                # on the peer's host; expected: no Xid, no oom-kill

## Causes
* The other rank crashed, raised an exception, exited early, or was killed for lack of memory.
* The host of the other rank went down.

## Fix
Get the log of the suspect rank or host and its kernel log, then run nccltool triage on all logs together. Blast
radius: none.

## Escalate
Ask whoever has the logs of the other host for them.
"""

from collections import Counter

from nccltool.triage.addresses import is_unreachable
from nccltool.triage.causes.base import FITS, Clue, Clues, Given, LogEvent, Offender, Timeline
from nccltool.triage.timeline.exits import ProcessExit

DECIDES = "log and kernel log of the peer whose connection was closed"
EXPLAINS = frozenset({"other"})

SIGNS_OF_FAILURE = {
    "gloo.peer-closed": (0.6, "a peer closed its connection"),
    "nccl.peer-closed": (0.6, "a peer closed its connection"),
    "mpi.peer-closed": (0.6, "an MPI process lost its peer"),
    "ucx.peer-closed": (0.6, "a peer closed or refused its UCX connection"),
    "job.actor-died": (0.4, "Ray lost a worker"),
    "job.task-lost": (0.6, "a task stopped sending heartbeats"),
    "store.closed": (FITS, "the connection to the store was lost"),
    "torch.no-dump": (0.6, "a rank left no flight recorder dump, but the others did"),
    "app.rank-left": (FITS, "a rank logged that it exits"),
}


def clues(timeline: Timeline) -> Given:
    """Closed connections; against it speaks every failure that is named."""
    if not timeline.failed:
        return
    if event := timeline.first("torch.nccl-error", where=lambda e: "remote process exit" in e.text):
        yield Clue(FITS, "NCCL reported that a remote process exited", event)
    if (gone := _ended_elsewhere(timeline)) is not None:
        yield Clue(0.7, "a process crashed on a host whose log is not here", gone.event)
    if lost := _store_lost(timeline):
        yield Clue(0.6, "the store was lost after the ranks had joined and worked", lost)
    named = (event for event in (*timeline.failures(), *timeline.of("nccl.warning")) if not _is_of_the_end(event))
    if other := next(named, None):
        yield Clue(-0.5, "the log shows a different failure", other)
    if timeline.timeouts:
        yield Clue(-0.3, "ranks timed out, but peers usually notice an exit sooner")


def _ended_elsewhere(timeline: Timeline) -> ProcessExit | None:
    """The process that a launcher saw crash on a host without lines here, while others lost their peer."""
    told = {event.host for event in timeline.everything() if event.family == "nccl" and event.host}
    crashed = (ended for ended in timeline.exits if ended.signal in _CRASHES)
    away = (ended for ended in crashed if ended.event.get("node") not in ("", *told))
    return next(away, None) if told and timeline.has("nccl.peer-closed", "gloo.peer-closed") else None


_CRASHES = frozenset({4, 6, 7, 8, 11})
"""Signals with which a process ends itself."""


def _store_lost(timeline: Timeline) -> LogEvent | None:
    """A rendezvous that broke after it had been complete."""
    joined = timeline.first("store.joined", "torchrun.joined", "job.progress")
    return timeline.first("store.rendezvous", where=lambda e: joined and timeline.before(joined, e))


def _is_of_the_end(event: LogEvent) -> bool:
    """Whether a line only tells that processes were ended, or that they have waited for others."""
    return event.family in ("job", "mpi", "torch", "store", "run") or event.kind == "app.rank-left"


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The rank that left, else the peer that most others lost."""
    if event := timeline.first("app.rank-left", where=lambda e: e.rank is not None):
        return Offender("rank", str(event.rank))
    if (gone := _ended_elsewhere(timeline)) is not None and gone.rank is not None:
        return Offender("rank", str(gone.rank))
    if silent := timeline.first("torch.no-dump"):
        return Offender("rank", silent.get("ranks").split(",")[0])
    lost = timeline.of("gloo.peer-closed", "nccl.peer-closed", "job.actor-died")
    peers = Counter(event.get("peer") for event in lost if event.get("peer"))
    if peers:
        peer = peers.most_common(1)[0][0]
        if host := timeline.host_of(peer):
            return Offender("host", host)
        if not is_unreachable(peer):
            return Offender("address", peer)
    if own := timeline.first("store.closed", where=lambda e: e.get("peer") and not is_unreachable(e.get("peer"))):
        return Offender("host", own.get("peer"))
    if task := timeline.part("task", "job.task-lost", name="lost"):
        return task
    store = timeline.part("host", "store.endpoint", name="host") if _store_lost(timeline) else None
    return store or clues.rank_or_host()
