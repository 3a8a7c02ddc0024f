"""What rules report: a finding about a variable, a host, a device, a file; and what would undo it."""

from dataclasses import dataclass
from functools import partial

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


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleFinding:
    """What a rule found once; the doctor adds the code and the page."""

    subject: Subject
    message: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    severity: Severity | None = None
    """None = that of the rule."""
    fix: tuple[Fix, ...] = ()


def about(
    variable: Variable,
    message: str,
    *,
    part: str = "",
    evidence: tuple[str, ...] = (),
    remedy: str = "",
    severity: Severity | None = None,
    fix: tuple[Fix, ...] = (),
) -> RuleFinding:
    """What is wrong with a variable; the first evidence is its line, with `part` of the value underlined."""
    return RuleFinding(
        subject=Subject(kind="variable", name=variable.name),
        message=message,
        evidence=(pointed(variable, part), *evidence),
        remedy=remedy,
        severity=severity,
        fix=fix,
    )


def better_unset(
    variable: Variable,
    message: str,
    *,
    remedy: str | None = None,
    part: str | None = None,
    evidence: tuple[str, ...] = (),
    severity: Severity | None = None,
) -> RuleFinding:
    """What is wrong with a variable that `--fix` unsets; without `part` the whole value is underlined."""
    return about(
        variable,
        message,
        part=variable.value if part is None else part,
        evidence=evidence,
        remedy=f"unset {variable.name}" if remedy is None else remedy,
        severity=severity,
        fix=unset(variable),
    )


def finding(
    kind: SubjectKind,
    name: str,
    message: str,
    *,
    remedy: str = "",
    evidence: tuple[str, ...] = (),
    severity: Severity | None = None,
    fix: tuple[Fix, ...] = (),
) -> RuleFinding:
    """What is wrong with something that is no variable that is set: a host, a device, an interface, a file."""
    return RuleFinding(
        subject=Subject(kind=kind, name=name),
        message=message,
        evidence=evidence,
        remedy=remedy,
        severity=severity,
        fix=fix,
    )


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
    """Remove these variables."""
    return tuple(Fix(name=variable.name, value=None) for variable in variables)


def export(name: str, value: str) -> tuple[Fix, ...]:
    """Set a variable to another value."""
    return (Fix(name=name, value=value),)
