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

import re
from collections.abc import Iterator

from nccltool.core.text import whole
from nccltool.triage.causes.base import FITS, SAYS, TYPICAL, Clue, Clues, Given, LogEvent, Offender, Timeline

DECIDES = "whether the job works with the variable unset"
EXPLAINS = frozenset({"none", "app-error", "nccl-bug", "peer-exited", "ib-config", "net-interface"})

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
    "env.rejected": (0.85, "a program refused the value of a variable"),
    "env.unused": (FITS, "no program reads a variable whose name resembles a known one"),
    "nccl.bad-rank": (0.75, "a rank is not below the world size that the ranks were given"),
}
_NAMING = (
    *("nccl.no-algorithm", "nccl.ignored-value", "nccl.setting-ignored", "env.refused", "env.misspelled"),
    *("env.rejected", "env.unused"),
)
_CHOICES = ("NCCL_ALGO", "NCCL_PROTO")


def clues(timeline: Timeline) -> Given:
    if (name := _detour(timeline)) and timeline.failed:
        event = timeline.first("nccl.env", "shell.env", where=lambda e: e.get("name") == name)
        yield Clue(TYPICAL, f"{name} makes the GPUs of one host communicate over the network", event)
    if (port := _no_port(timeline)) and timeline.failed:
        yield Clue(SAYS, f"MASTER_PORT={port.get('value')} is not a number", port)
    if apart := _between_processes(timeline):
        yield apart[1]
    yield from _shown(timeline) if timeline.failed else ()
    if hidden := _hidden(timeline):
        yield Clue(0.85, "LOCAL_RANK is beyond the GPUs that the process sees", hidden)
    misspelled = timeline.first("env.misspelled")
    if misspelled and (timeline.failed or timeline.contrasts):
        yield Clue(0.95, f"{misspelled.get('name')} is misspelled, so NCCL does not read it", misspelled)
    for event in _settings(timeline) if timeline.failed else ():
        if _is_malformed(event):
            yield Clue(
                0.95, f"{event.get('name')} repeats ^ or = inside its list: they belong before it, once", event
            )
        elif event.get("value")[:1] in _QUOTES:
            yield Clue(0.95, f"{event.get('name')} has quotes in its value, which NCCL takes as part of it", event)
        elif _is_beyond(event):
            yield Clue(TYPICAL, f"{event.get('name')}={event.get('value')} is beyond its range", event)
    if (event := _read_by_program(timeline)) and timeline.failed:
        yield Clue(SAYS, f"the program refused the value of {event.get('name')}", event)
    if event := timeline.first("nccl.no-algorithm"):
        is_set = any(map(timeline.variable, _CHOICES)) or bool(event.get("name"))
        strength = SAYS if is_set else FITS
        yield Clue(strength, "NCCL_ALGO and NCCL_PROTO leave no algorithm for the operation", event)


def _between_processes(timeline: Timeline) -> tuple[str, Clue] | None:
    """The variable with which two processes cannot exchange data."""
    closed = timeline.first("ucx.no-transport")
    for name in ("UCX_NET_DEVICES", "UCX_TLS") if closed else ():
        if timeline.variable(name):
            return name, Clue(0.85, f"{name} leaves UCX no transport", closed)
    mode = "HSA_ENABLE_IPC_MODE_LEGACY"
    if (refused := timeline.first("cuda.peer-import")) and timeline.variable(mode) == "1":
        return mode, Clue(0.8, f"{mode}=1 makes ROCm share memory in a way that was rejected", refused)
    ways = {event.get("via").partition("/")[2].partition("/")[0] for event in timeline.of("nccl.channel")}
    refused = timeline.first("cuda.peer-import", "cuda.failed", "cuda.bad-call", "nccl.warning")
    name = "NCCL_CUMEM_ENABLE"
    if refused and {"CUMEM", "IPC"} <= ways and timeline.variable(name):
        return name, Clue(0.8, f"{name} differs between ranks that share GPU memory", refused)
    return None


_NO_NUMBER = re.compile(r"[\w.:-]*[a-zA-Z][\w.:-]*|\d+[.:][\d.:]+")
"""A name or an address; neither a number nor what the shell is still to replace."""


def _no_port(timeline: Timeline) -> LogEvent | None:
    """The line that sets MASTER_PORT to what cannot be a port."""
    ports = (event for event in timeline.of("shell.env") if event.get("name") == "MASTER_PORT")
    return next((event for event in ports if _NO_NUMBER.fullmatch(event.get("value"))), None)


_LISTS = ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME")
"""Variables whose list takes ^ and = once, before its first name."""
_QUOTES = ("'", '"')
_MOST = {"NCCL_IB_TIMEOUT": 31, "NCCL_IB_RETRY_CNT": 7, "NCCL_IB_SL": 15, "NCCL_IB_TC": 255}
"""The largest values that fit the fields of a queue pair (InfiniBand Architecture Specification, volume 1)."""


def _settings(timeline: Timeline) -> Iterator[LogEvent]:
    yield from (event for event in timeline.of("nccl.env", "shell.env") if event.get("name") in (*_LISTS, *_MOST))


def _wrong_setting(timeline: Timeline) -> LogEvent | None:
    return next(
        (e for e in _settings(timeline) if _is_malformed(e) or _is_beyond(e) or e.get("value")[:1] in _QUOTES),
        None,
    )


def _is_malformed(event: LogEvent) -> bool:
    rest = event.get("value").partition(",")[2]
    return event.get("name") in _LISTS and re.search(r"(?:^|,)[\^=]", rest) is not None


def _is_beyond(event: LogEvent) -> bool:
    most, value = _MOST.get(event.get("name")), event.get("value")
    return most is not None and value.isdecimal() and len(value) < 10 and int(value) > most


def _read_by_program(timeline: Timeline) -> LogEvent | None:
    """The line of a traceback that reads a variable, right above the exception that its value led to."""
    raised = [
        (event.file, event.line) for event in timeline.of("app.exception") if not _MISSING.search(event.text)
    ]
    reads = timeline.of("app.environ")
    return next(
        (event for event in reads if any((event.file, event.line + far) in raised for far in (1, 2))), None
    )


_MISSING = re.compile(r"^(?:\S*\.)?KeyError\b")
"""A variable that is not set: the launcher did not do so."""


def _hidden(timeline: Timeline) -> LogEvent | None:
    """The line of a process that shows fewer GPUs than its LOCAL_RANK needs, where one took a missing GPU."""
    if not timeline.has("cuda.invalid-device"):
        return None
    shown = timeline.of("shell.visible")
    if own := next((event for event in shown if _is_short(event, event.get("own"))), None):
        return own
    told = (
        *(ended.local for ended in timeline.exits),
        *(timeline.rank_of(e) for e in timeline.of("cuda.invalid-device")),
    )
    last = max((number for number in told if number is not None), default=0)
    return next((event for event in shown if not event.get("own") and _is_short(event, str(last))), None)


def _shown(timeline: Timeline) -> Given:
    """Lines that show a value which explains what failed."""
    if mask := _masked(timeline):
        yield Clue(0.8, f"{mask.get('name')} hides every GPU from the process", mask)
    if event := _quoted(timeline):
        yield Clue(0.85, f"a program refused the value of {event.get('name')}", event)


_FIRST_GPU = re.compile(r"0(?:,|$)")


def _masked(timeline: Timeline) -> LogEvent | None:
    """The mask of a process that sees no GPU: where it does not begin with GPU 0, nothing may be left of it.

    CUDA cuts it at its first entry that does not exist
    (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#env-vars).
    """
    blind = timeline.has("torch.no-gpu", "cuda.no-device")
    return timeline.first("shell.mask", where=lambda e: not _FIRST_GPU.match(e.get("value"))) if blind else None


_REFUSES = re.compile(
    r"(?i)\b(?:invalid|unknown|unsupported|unrecogni[sz]ed|expected|must be|choose|could not find|no slot|"
    r"not (?:in|found|valid|supported|one of))\b"
)
_PLAIN = re.compile(r"(?i)[\d.:,]+|.{0,2}|.*/.*|true|false|auto|none|cuda")
"""Values that also other things have: numbers, paths, and words such as `true`."""


def _quoted(timeline: Timeline) -> LogEvent | None:
    """The line that sets a variable to a value with which an exception finds fault."""
    raised = [event.text for event in timeline.of("app.exception") if _REFUSES.search(event.text)]
    for shown in timeline.of("env.shown") if raised else ():
        value = shown.get("value").strip("'\"")
        whole_word = re.compile(rf"(?<![\w-]){re.escape(value)}(?![\w-])")
        if not _PLAIN.fullmatch(value) and any(map(whole_word.search, raised)):
            return shown
    return None


def _is_short(event: LogEvent, own: str) -> bool:
    number = whole(own)
    return number is not None and number > event.get("seen").count(",")


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
    if _no_port(timeline):
        return Offender("variable", "MASTER_PORT")
    if apart := _between_processes(timeline):
        return Offender("variable", apart[0])
    if hidden := _hidden(timeline):
        return Offender("variable", "LOCAL_RANK" if hidden.get("own") else "CUDA_VISIBLE_DEVICES")
    shown = _masked(timeline) or _quoted(timeline)
    if wrong := shown or _wrong_setting(timeline) or _read_by_program(timeline):
        return Offender("variable", wrong.get("name"))
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
