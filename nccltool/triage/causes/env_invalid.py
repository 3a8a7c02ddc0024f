"""An environment variable has an invalid value.

## Meaning
NCCL, torch, or Gloo rejected a value, such as an unknown algorithm or a malformed address. Or the value excludes
every algorithm that supports the operation.

## Impact
Init or the first collective fails immediately on all ranks.

## Verify
    env | grep -E '^(NCCL|TORCH|GLOO)_'        # on a rank; expected: only variables that you set on purpose
    cat /etc/nccl.conf ~/.nccl.conf            # expected: only settings that you know
    nccltool doctor                            # expected: no findings about values

## Causes
* NCCL_ALGO=Tree is set for an operation that has no tree algorithm.
* NCCL_ALGO=CollNet is set without SHARP.
* The value has a typo or includes quotes or spaces.
* The setting was copied from a different version.

## Fix
Unset the variable or set a value that is documented for this version. Blast radius: this job; for a setting in
/etc/nccl.conf, every job on the host.

## Escalate
Contact the owner of the job template or module file that sets the variable.
"""

from nccltool.triage.causes.base import FITS, SAYS, TYPICAL, Clue, Clues, Given, LogEvent, Offender, Timeline

DECIDES = "whether the job works with the variable unset"
EXPLAINS = frozenset({"none", "app-error", "nccl-bug", "peer-exited"})

SOURCES = ("graph/tuning", "misc/param", "param/")
LASTING = True
SIGNS = {
    "nccl.bad-value": (0.95, "NCCL does not recognize a value in a list"),
    "nccl.bad-comm-id": (SAYS, "NCCL_COMM_ID is not an address"),
    "nccl.setting-ignored": (TYPICAL, "NCCL ignores a setting"),
    "env.refused": (0.85, "a value was rejected"),
}
SIGNS_OF_FAILURE = {
    "nccl.ignored-value": (TYPICAL, "a value was ignored as invalid"),
    "nccl.bad-rank": (0.75, "a rank is not below the world size that the ranks were given"),
}
_NAMING = ("nccl.no-algorithm", "nccl.ignored-value", "nccl.setting-ignored", "env.refused")
_CHOICES = ("NCCL_ALGO", "NCCL_PROTO")


def clues(timeline: Timeline) -> Given:
    if (name := _detour(timeline)) and timeline.failed:
        event = timeline.first("nccl.env", "shell.env", where=lambda e: e.get("name") == name)
        yield Clue(TYPICAL, f"{name} makes the GPUs of one host communicate over the network", event)
    if hidden := _hidden(timeline):
        yield Clue(0.85, "LOCAL_RANK is beyond the GPUs that the process sees", hidden)
    if event := timeline.first("nccl.no-algorithm"):
        is_set = any(map(timeline.variable, _CHOICES)) or bool(event.get("name"))
        strength = SAYS if is_set else FITS
        yield Clue(strength, "NCCL_ALGO and NCCL_PROTO leave no algorithm for the operation", event)


def _hidden(timeline: Timeline) -> LogEvent | None:
    """The line of a process whose LOCAL_RANK is beyond the GPUs that it sees, where one took a missing GPU."""
    if not timeline.has("cuda.invalid-device"):
        return None
    shown = (event for event in timeline.of("shell.visible") if event.get("own"))
    return next((event for event in shown if int(event.get("own")) > event.get("seen").count(",")), None)


_AGAINST_PEERS = {"NCCL_P2P_LEVEL": ("0", "LOC"), "NCCL_P2P_DISABLE": ("1",), "NCCL_SHM_DISABLE": ("1",)}
"""Settings that keep the GPUs of a host from their fast paths."""


def _detour(timeline: Timeline) -> str | None:
    """The setting that makes GPUs of one host talk over the network."""
    of_one = any(made.nodes == 1 for made in timeline.communicators) or timeline.nodes == timeline.world_size == 1
    devices = {event.get("node") for event in timeline.of("bench.device")}
    on_one = (
        (of_one or len(devices) == 1)
        and timeline.nodes == 1
        and any(name.startswith("NET/") for name in timeline.transports)
    )
    names = (name for name, values in _AGAINST_PEERS.items() if timeline.variable(name) in values)
    return next(names, None) if on_one else None


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    if found := timeline.part("variable", *_NAMING, name="name"):
        return found
    if _hidden(timeline):
        return Offender("variable", "LOCAL_RANK")
    if timeline.has("nccl.bad-rank"):
        return Offender("variable", "WORLD_SIZE")
    if name := _detour(timeline):
        return Offender("variable", name)
    value = next((event.get("value") for event in timeline.of("nccl.bad-value") if event.get("value")), None)
    for name, values in timeline.environment.items():
        if value and name.startswith("NCCL_") and any(value in known for known in values):
            return Offender("variable", name)
    names = (*_CHOICES, "NCCL_COMM_ID") if not timeline.has("nccl.bad-comm-id") else ("NCCL_COMM_ID",)
    for name in names:
        if timeline.variable(name) or (name == "NCCL_COMM_ID" and timeline.has("nccl.bad-comm-id")):
            return Offender("variable", name)
    return clues.host_or_rank()
