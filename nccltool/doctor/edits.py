"""Edits of the settings of a host: a variable of its environment, or a line of a file in the form of that file."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec

from nccltool.core.errors import BadInput
from nccltool.core.findings import Subject
from nccltool.core.text import escaped
from nccltool.doctor.report import Fix, LineFix
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts import env_files
from nccltool.hosts.env_files import EnvFile
from nccltool.hosts.nccl import settings
from nccltool.hosts.sources.env import chosen

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentEdit:
    """A variable of the environment that gets a value; None = it is unset."""

    name: str
    value: str | None

    @property
    def place(self) -> tuple[str, str]:
        return "", self.name

    @property
    def text(self) -> str | None:
        return self.value

    @property
    def line(self) -> str:
        """For a shell."""
        return f"unset {self.name}" if self.value is None else f"export {self.name}={shlex.quote(self.value)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileEdit:
    """A line of a file that gets a text; None = it is removed."""

    path: str
    number: int
    text: str | None
    is_new: bool = False
    """The line is added at the end."""
    of_variables: bool = False
    """The file is one of variables, and none that NCCL reads."""

    @property
    def place(self) -> tuple[str, str]:
        return self.path, str(self.number)

    @property
    def line(self) -> str:
        """For people, as a comment of a shell."""
        if self.is_new:
            return f"# {escaped(self.path)}: add {escaped(self.text or '')}"
        what = "remove this line" if self.text is None else f"set {escaped(self.text)}"
        return f"# {escaped(self.path)}:{self.number}: {what}"


Edit: TypeAlias = EnvironmentEdit | FileEdit


class NotEditable(Exception):
    """What is to be edited has more than one setting, or cannot hold what is meant."""


def edits_of(fixes: Sequence[Fix | LineFix], subject: Subject, host: JudgedHost) -> tuple[Edit, ...]:
    """Where what fixes are about is set, and what is to be there. () where it cannot be said."""
    try:
        edits = list(_removed(fixes, host))
        for fix in fixes:
            if isinstance(fix, LineFix):
                edits.append(FileEdit(path=fix.path, number=fix.number, text=fix.text))
            elif fix.value is not None:
                _set(fix.name, fix.value, subject, host, edits)
    except NotEditable:
        return ()
    return tuple(edits) if all(edit.text is None or edit.text.isprintable() for edit in edits) else ()


def _removed(fixes: Sequence[Fix | LineFix], host: JudgedHost) -> Iterator[Edit]:
    """All that sets what is to be unset: of two lines, the other one would count then."""
    for fix in fixes:
        if isinstance(fix, LineFix) or fix.value is not None:
            continue
        found = [*_lines_of_variables(fix.name, host), *_conf_lines(fix.name, host)]
        for path, number, of_variables in found:
            yield FileEdit(path=path, number=number, text=None, of_variables=of_variables)
        if not found:
            yield EnvironmentEdit(name=_checked(fix.name), value=None)


def _lines_of_variables(name: str, host: JudgedHost) -> Iterator[tuple[str, int, bool]]:
    for file in host.env_files:
        for line in file.lines:
            if line.name == name:
                if line.place is None:
                    raise NotEditable
                yield file.path, line.number, True


def _conf_lines(name: str, host: JudgedHost) -> Iterator[tuple[str, int, bool]]:
    for file, line in host.settings.lines():
        if line.name == name and line.fate == "used":
            yield file.path, line.number, False


def _set(name: str, value: str, subject: Subject, host: JudgedHost, edits: list[Edit]) -> None:
    """Where the variable is set; else in place of the subject; else beside it."""
    path, number, of_variables = _last_line(name, host)
    if number:
        text = _text_of_variables(path, number, name, value, host) if of_variables else f"{name}={value}"
        edits.append(FileEdit(path=path, number=number, text=text, of_variables=of_variables))
        return
    path, number, of_variables = _last_line(subject.name, host) if subject.kind == "variable" else ("", 0, False)
    if number:
        old = FileEdit(path=path, number=number, text=None, of_variables=of_variables)
        if old in edits:
            text = _text_of_variables(path, number, name, value, host) if of_variables else f"{name}={value}"
            edits[edits.index(old)] = replace(old, text=text)
        else:
            edits.append(_added(path, of_variables, name, value, host))
    elif host.env_files:
        edits.append(_added(host.env_files[-1].path, True, name, value, host))
    else:
        edits.append(EnvironmentEdit(name=_checked(name), value=value))


def _last_line(name: str, host: JudgedHost) -> tuple[str, int, bool]:
    """(file, number, whether it is a file of variables) of the line that counts; without a number: none."""
    found = [*_lines_of_variables(name, host)] or [*_conf_lines(name, host)]
    return found[-1] if found else ("", 0, False)


def _text_of_variables(path: str, number: int, name: str, value: str, host: JudgedHost) -> str:
    file = next(one for one in host.env_files if one.path == path)
    line = next(one for one in file.lines if one.number == number)
    text = file.rewritten(line, _checked(name), value)
    if text is None:
        raise NotEditable
    return text


def _added(path: str, of_variables: bool, name: str, value: str, host: JudgedHost) -> FileEdit:
    if of_variables:
        file = next(one for one in host.env_files if one.path == path)
        text, new = file.text, file.new_line(_checked(name), value)
    else:
        text = next(str(one.text) for one in host.facts.conf_files if one.path == path)
        new = f"{name}={value}"
    if new is None:
        raise NotEditable
    number = env_files.next_number(text)
    return FileEdit(path=path, number=number, text=new, is_new=True, of_variables=of_variables)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise NotEditable
    return name


def applied(host: JudgedHost, edits: Sequence[Edit]) -> JudgedHost:
    """The host behind these edits. Raises NotEditable where a file of variables would say something else then."""
    env, conf, files = dict(host.facts.env), list(host.facts.conf_files), list(host.env_files)
    for edit in edits:
        if isinstance(edit, FileEdit) and edit.of_variables:
            files = [_with_variable(file, edit) if file.path == edit.path else file for file in files]
        elif isinstance(edit, FileEdit):
            conf = [
                msgspec.structs.replace(file, text=env_files.with_line(file.text, edit.number, edit.text))
                if file.path == edit.path and isinstance(file.text, str)
                else file
                for file in conf
            ]
        elif edit.value is None:
            env.pop(edit.name, None)
        else:
            env[edit.name] = edit.value
    if host.env_files:
        env = chosen(env_files.environment(files))
    facts = msgspec.structs.replace(host.facts, env=env, conf_files=tuple(conf))
    places = env_files.places(files)
    effective = settings.of(facts, host.settings.version, places)
    return replace(host, facts=facts, settings=effective, env_files=tuple(files))


def _with_variable(file: EnvFile, edit: FileEdit) -> EnvFile:
    """The file behind an edit, if no other line is read differently then. Raises NotEditable."""
    try:
        edited = file.with_line(edit.number, edit.text)
    except BadInput as error:
        raise NotEditable from error
    if _beside(edited, edit.number) != _beside(file, edit.number):
        raise NotEditable
    return edited


def _beside(file: EnvFile, number: int) -> list[tuple[str, str]]:
    return [(line.name, line.value) for line in file.lines if line.number != number]
