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

from nccltool.triage.causes.base import FITS, SAYS, TYPICAL, Clue, Clues, Given, Offender, Timeline

DECIDES = "whether the job works with the variable unset"
EXPLAINS = frozenset({"app-error", "nccl-bug"})

SOURCES = ("graph/tuning", "misc/param", "param/")
SIGNS = {
    "nccl.bad-value": (0.95, "NCCL does not recognize a value in a list"),
    "nccl.bad-comm-id": (SAYS, "NCCL_COMM_ID is not an address"),
    "env.refused": (0.85, "a value was rejected"),
}
SIGNS_OF_FAILURE = {"nccl.ignored-value": (TYPICAL, "a value was ignored as invalid")}
_CHOICES = ("NCCL_ALGO", "NCCL_PROTO")


def clues(timeline: Timeline) -> Given:
    if event := timeline.first("nccl.no-algorithm"):
        is_set = any(map(timeline.variable, _CHOICES)) or bool(event.get("name"))
        strength = SAYS if is_set else FITS
        yield Clue(strength, "NCCL_ALGO and NCCL_PROTO leave no algorithm for the operation", event)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    if found := timeline.part("variable", "nccl.no-algorithm", "nccl.ignored-value", "env.refused", name="name"):
        return found
    value = next((event.get("value") for event in timeline.of("nccl.bad-value") if event.get("value")), None)
    for name, values in timeline.environment.items():
        if value and name.startswith("NCCL_") and any(value in known for known in values):
            return Offender("variable", name)
    names = (*_CHOICES, "NCCL_COMM_ID") if not timeline.has("nccl.bad-comm-id") else ("NCCL_COMM_ID",)
    for name in names:
        if timeline.variable(name) or (name == "NCCL_COMM_ID" and timeline.has("nccl.bad-comm-id")):
            return Offender("variable", name)
    return clues.host_or_rank()
