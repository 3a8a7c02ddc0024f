"""How a rank gave up waiting, and how a process ended, out of the parts of a line."""

import re

from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import CollectiveTimeout, ProcessExit


def timeout_of(event: LogEvent) -> CollectiveTimeout:
    """The collective that a rank gave up waiting for."""
    sequence = event.get("sequence")
    size = event.get("in") or event.get("shape")
    group = event.get("guid") or event.get("pg")
    return CollectiveTimeout(
        rank=event.rank,
        group=group,
        sequence=int(sequence) if sequence else None,
        op=event.get("op"),
        size=f"{size}/{event.get('out')}" if size else "",
        event=event,
    )


_SIGNALS = {"SIGKILL": 9, "SIGTERM": 15, "SIGABRT": 6, "SIGSEGV": 11, "SIGBUS": 7, "SIGINT": 2}
_WORDS = {
    "Killed": 9,
    "Terminated": 15,
    "Segmentation fault": 11,
    "Aborted": 6,
    "Bus error": 7,
    "Out Of Memory": 9,
}


def exit_of(event: LogEvent) -> ProcessExit:
    """How a process ended."""
    code = int(event.get("code")) if re.fullmatch(r"-?\d{1,5}", event.get("code")) else None
    signal = _SIGNALS.get(event.get("signal"))
    if event.get("number").isdecimal():
        signal = int(event.get("number"))
    elif event.get("signal").isdecimal():
        signal = int(event.get("signal"))
    if how := event.get("how"):
        signal = next((number for word, number in _WORDS.items() if how.startswith(word)), signal)
        if match := re.search(r"exit code (\d+)", how):
            code = int(match[1])
    if code is not None and code < 0:
        signal = -code
    elif code is not None and 128 < code < 160:
        signal = code - 128
    rank = event.rank
    if rank is None and event.get("tasks").isdecimal():
        rank = int(event.get("tasks"))
    return ProcessExit(
        rank=rank,
        host=event.host,
        code=code,
        signal=signal,
        first=event.get("root") == "yes",
        event=event,
        local=int(event.get("local")) if event.get("local").isdecimal() else None,
    )
