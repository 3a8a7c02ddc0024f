"""What rules report: a finding about a variable, a host, a device, a file; and what would undo it."""

import re
from dataclasses import dataclass
from functools import partial
from typing import TypedDict, Unpack

from nccltool.core.findings import Severity, Subject, SubjectKind
from nccltool.core.text import escaped, shortened
from nccltool.hosts.nccl.settings import Variable

_LONGEST = 160
"""A value that is longer is shown in part."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fix:
    """A variable that should have another value; None = should not be set."""

    name: str
    value: str | None

    @property
    def command(self) -> str:
        return f"unset {self.name}" if self.value is None else f"export {self.name}={self.value}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LineFix:
    """A line of a configuration file that should have another text."""

    path: str
    number: int
    text: str

    @property
    def command(self) -> str:
        return f"write {escaped(shortened(self.text, _LONGEST))} in line {self.number} of {escaped(self.path)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleFinding:
    """What a rule found once; the doctor adds the code and the page."""

    subject: Subject
    message: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    severity: Severity | None = None
    """None = that of the rule."""
    fix: tuple[Fix | LineFix, ...] = ()


class _More(TypedDict, total=False):
    evidence: tuple[str, ...]
    severity: Severity | None


class _MoreOfVariable(_More, total=False):
    part: str


def finding(
    kind: SubjectKind,
    name: str,
    message: str,
    remedy: str = "",
    fix: tuple[Fix | LineFix, ...] = (),
    **more: Unpack[_More],
) -> RuleFinding:
    """What is wrong with something that is no variable that is set: a host, a device, an interface, a file.

    Without a remedy, the fix is it.
    """
    remedy = remedy or "; ".join(one.command for one in fix)
    return RuleFinding(subject=Subject(kind=kind, name=name), message=message, remedy=remedy, fix=fix, **more)


def about(
    variable: Variable, message: str, remedy: str = "", fix: tuple[Fix, ...] = (), **more: Unpack[_MoreOfVariable]
) -> RuleFinding:
    """What is wrong with a variable; the first evidence is its line, with the value or `part` of it underlined."""
    line = pointed(variable, more.get("part", variable.value))
    evidence = (line, *more.get("evidence", ()))
    if variable.from_file:
        remedy = _in_file(remedy or "; ".join(one.command for one in fix), variable)
    return finding(
        "variable", variable.name, message, remedy, fix, evidence=evidence, severity=more.get("severity")
    )


def _in_file(remedy: str, variable: Variable) -> str:
    """A remedy for a line of a configuration file, where `export` would become part of the name."""
    text = re.sub(r"\bexport (?=\w+=)", "set ", re.sub(r"\bunset\b", "remove", remedy))
    return text if text == remedy else f"in {escaped(variable.origin)}: {text}"


def better_unset(
    variable: Variable, message: str, remedy: str = "", **more: Unpack[_MoreOfVariable]
) -> RuleFinding:
    """What is wrong with a variable that `--fix` unsets."""
    return about(variable, message, remedy, unset(variable), **more)


def better_set(
    variable: Variable, value: str, message: str, remedy: str = "", **more: Unpack[_MoreOfVariable]
) -> RuleFinding:
    """What is wrong with a variable that `--fix` sets to another value."""
    return about(variable, message, remedy, export(variable.name, value), **more)


device = partial(finding, "device")
file = partial(finding, "file")
host = partial(finding, "host")
interface = partial(finding, "interface")
variable = partial(finding, "variable")


def pointed(variable: Variable, part: str = "") -> str:
    """`origin: NAME=value`, and below it a line of carets under `part` of the value."""
    value = escaped(shortened(variable.value, _LONGEST))
    line = f"{escaped(variable.origin)}: {escaped(variable.name)}={value}"
    start = value.find(escaped(part)) if part else -1
    if start < 0:
        return line
    before = len(line) - len(value) + start
    return f"{line}\n{' ' * before}{'^' * len(escaped(part))}"


def unset(*variables: Variable) -> tuple[Fix, ...]:
    return tuple(Fix(name=variable.name, value=None) for variable in variables)


def export(name: str, value: str) -> tuple[Fix, ...]:
    return (Fix(name=name, value=value),)
