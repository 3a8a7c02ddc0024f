"""Fault injection: NCCLTOOL_FAULT makes one chosen rank misbehave at a chosen place.

`ACTION:KEY=VALUE,...`, for example `kill:rank=1,op=all_reduce,size=1MiB,at=timing`; docs/faults.md has the words.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any

from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding, Subject
from nccltool.core.text import shortened, whole
from nccltool.core.units import parse_bytes
from nccltool.launch.finding_kinds import FAULT_INJECTED

OF_TRAININGS = ("sum", "duplicate", "lose", "scale", "misroute", "swap", "forget", "mean", "alone", "thaw")
"""Only a training can do these."""
NUMERICAL = ("corrupt", *OF_TRAININGS)
"""Those that change numbers and nothing else."""
ACTIONS = ("kill", "stop", "hang", "raise", "exit", "slow", "oom", *NUMERICAL)
PLACES = ("start", "hello", "enter", "timing", "check", "save", "input")
VARIABLE = "NCCLTOOL_FAULT"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One rank, one place, and what it does there."""

    action: str
    rank: int = 1
    op: str | None = None
    size: int | None = None
    at: str = "timing"
    ms: int = 50
    step: int | None = None
    attempt: int | None = None

    @property
    def text(self) -> str:
        """As `parse` reads it."""
        changed = [one.name for one in fields(self)[1:] if getattr(self, one.name) != one.default]
        words = ",".join(f"{name}={getattr(self, name)}" for name in changed)
        return f"{self.action}:{words}" if words else self.action

    def hits(self, rank: int, at: str, op: str = "", size: int = 0, step: int = 0) -> bool:
        """Whether this rank must misbehave here."""
        here = self.rank == rank and self.at == at
        ops = (None, op, op.partition(":")[0])  # an operation, with or without its skew
        return here and self.op in ops and self.size in (None, size) and self.step in (None, step)


def parse(text: str, ops: Collection[str] = ()) -> Fault | None:
    """The fault that `text` asks for; None for an empty text. Raises BadInput with the word that is wrong.

    `ops` are the operations and strategies that there are; where it is empty, somebody has looked before.
    """
    if not text:
        return None
    action, _, rest = text.partition(":")
    if action not in ACTIONS:
        raise _bad(f"{action!r} is not an action", f"choose from {', '.join(ACTIONS)}")
    pairs = dict(_pair(word) for word in rest.split(",") if word)
    fault = Fault(action=action, **{key: _value(key, value, ops) for key, value in pairs.items()})
    if fault.at in ("start", "hello") and (fault.op or fault.size):
        raise _bad(f"at={fault.at} comes before any operation", "remove op= and size= or choose another at=")
    return replace(fault, at="check") if action in NUMERICAL else fault


def _pair(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    known = [f.name for f in fields(Fault) if f.name != "action"]
    if not equals or key not in known:
        raise _bad(f"{word!r} is not KEY=VALUE with a known key", f"known keys: {', '.join(known)}")
    return key, value


def _value(key: str, text: str, ops: Collection[str]) -> Any:
    if key == "size":
        try:
            return parse_bytes(text)
        except BadInput as error:
            raise _bad(error.message, error.remedy) from error
    if key in ("rank", "ms", "step", "attempt"):
        number = whole(text)
        if number is None:
            raise _bad(f"{key}={shortened(text, 40)} is not a number", f"write {key}=1")
        if key == "step" and not number:
            raise _bad("there is no step 0", "steps start at 1")
        return number
    allowed = PLACES if key == "at" else ops
    if allowed and text not in allowed:
        raise _bad(f"{key}={text} is not valid", f"choose from {', '.join(allowed)}")
    return text


def _bad(message: str, remedy: str) -> BadInput:
    return BadInput(f"{VARIABLE}: {message}", remedy)


def checked(text: str, ranks: int | None) -> str:
    """A drill that is one of a rank that there is, as far as their number is known. Raises BadInput."""
    fault = parse(text)
    if fault is not None and ranks and fault.rank >= ranks:
        raise _bad(f"this run has no rank {fault.rank}", "ranks start at 0")
    return text


def findings(text: str) -> tuple[Finding, ...]:
    """What a result says of a drill, so that nobody takes it for a real failure."""
    fault = parse(text)
    if fault is None:
        return ()
    message = f"a fault was injected into rank {fault.rank}: {text}"
    return (FAULT_INJECTED.finding(subject=Subject(kind="run", name=VARIABLE), message=message),)
