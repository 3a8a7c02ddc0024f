"""Files of variables: of `env`, for docker and podman, for systemd (EnvironmentFile), or for a shell (`.env`).

Also what sets variables beside other things: batch scripts, manifests, and Dockerfiles (job_files/).

They look alike, and are read differently: docker keeps quotes, systemd and a shell remove them. `export` tells a
file of a shell, and `;` before a comment one of systemd; any other is read as docker does, which is how `env`
writes it.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from nccltool.core.errors import BadInput
from nccltool.core.text import shortened
from nccltool.hosts import shell_words
from nccltool.hosts.job_files import dockerfile, script
from nccltool.hosts.job_files.base import JobSetting
from nccltool.hosts.nccl import settings
from nccltool.hosts.shell_words import NotAssigned, UnreadableValue
from nccltool.hosts.sources.env import is_kept

STANDARD_INPUT = "standard input"
Form: TypeAlias = Literal["env -0", "docker", "systemd", "shell", "script", "manifest", "Dockerfile"]
_READ_ONLY = frozenset({"env -0", "script", "manifest", "Dockerfile"})
"""Forms in which no line is added."""
_OF_SHELL = re.compile(r"^[ \t]*(?:export|(?:declare|typeset) -x)[ \t]+[A-Za-z_]", re.MULTILINE)
_OF_MANIFEST = re.compile(r"^(?:apiVersion|services):|\A\s*\{\s*\"apiVersion\"", re.MULTILINE)
_OF_SYSTEMD = re.compile(r"^[ \t]*;", re.MULTILINE)
_FUNCTION = re.compile(r"^[^=\n]+=\(\) \{(?:[^\n]*\}$|.*?^\}$)", re.MULTILINE | re.DOTALL)
"""Of bash, as `env` prints those that are exported."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BARE = re.compile(r"[A-Za-z_][\w.-]*\*?", re.ASCII)
_ALONE = re.compile(r"[ \t]*(?:(?:export|(?:declare|typeset) -x)[ \t]+)?", re.ASCII)
_COMMENT = re.compile(r"[ \t;\r]*(?:(?<=[ \t;])#.*)?")
_ONE_EACH = "write one variable per line, as `env` prints them; for values with line breaks use `env -0`"
_SOURCED = "add the line `env -0 > FILE` to the job where its variables are set, and pass that FILE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """What is around the name and the value of an assignment in its line."""

    before: str
    value: str
    """As it is written."""
    after: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvLine:
    """A variable that a line sets."""

    number: int
    name: str
    value: str
    place: Place | None
    """None: the line has more than this assignment, or less."""
    is_exported: bool = True
    """Also where the file is sourced, and not only with `set -a`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvFile:
    """A file of variables; the last line of a name counts."""

    path: str
    form: Form
    text: str
    lines: tuple[EnvLine, ...]
    environ: Mapping[str, str] = field(repr=False)
    """Of the command: it has what the file only names."""

    def rewritten(self, line: EnvLine, name: str, value: str) -> str | None:
        """A line with another name and value, quoted as it was; None: it cannot be written so."""
        if line.place is None or not value.isprintable():
            return None
        if self.form != "shell" and "$" in line.place.value:  # meant for what replaces it
            return None
        written = value if self.form == "docker" else shell_words.quoted(value, line.place.value)
        return f"{line.place.before}{name}={written}{line.place.after}"

    def new_line(self, name: str, value: str) -> str | None:
        """A line for a variable that the file has not; None: it cannot be written so."""
        if self.form in _READ_ONLY or not value.isprintable():
            return None
        written = value if self.form == "docker" else shlex.quote(value)
        return f"{'export ' if self.form == 'shell' else ''}{name}={written}"

    def with_line(self, number: int, line: str | None) -> "EnvFile":
        """The file with another line. Raises BadInput."""
        return _read_as(self.form, with_line(self.text, number, line), self.path, self.environ)


def read(data: bytes, path: str, environ: Mapping[str, str]) -> EnvFile:
    """What is in a file. Raises BadInput that names the line."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput(f"--env-file {path} is UTF-16", "save it as UTF-8")
    text = data.decode(errors="surrogateescape").removeprefix("\ufeff")
    without_functions = _FUNCTION.sub("", text)
    form: Form = "docker"
    if "\0" in text:
        form = "env -0"
    elif dockerfile.is_dockerfile(text):
        form = "Dockerfile"
    elif _OF_MANIFEST.search(text):
        form = "manifest"
    elif script.is_script(without_functions):
        form = "script"
    elif _OF_SHELL.search(without_functions):
        form = "shell"
    elif _OF_SYSTEMD.search(without_functions):
        form = "systemd"
    return _read_as(form, text, path, environ)


def _read_as(form: Form, text: str, path: str, environ: Mapping[str, str]) -> EnvFile:
    lines = tuple(_READERS[form](text, f"--env-file {path}", environ))
    return EnvFile(path=path, form=form, text=text, lines=lines, environ=environ)


def with_line(text: str, number: int, line: str | None) -> str:
    """A text with another line; None = an empty one: the others keep their numbers."""
    lines = text.split("\n")
    if number > len(lines):
        lines.append("")
    end = "\r" if lines[number - 1].endswith("\r") else ""
    lines[number - 1] = (line or "") + end
    return "\n".join(lines)


def next_number(text: str) -> int:
    """Of the line that is added at the end."""
    lines = text.split("\n")
    return len(lines) if not lines[-1] else len(lines) + 1


def environment(files: Iterable[EnvFile]) -> dict[str, str]:
    """The variables of these files; a later one wins."""
    return {line.name: line.value for file in files for line in file.lines}


def places(files: Iterable[EnvFile]) -> dict[str, str]:
    """FILE:LINE of each variable."""
    return {line.name: f"{file.path}:{line.number}" for file in files for line in file.lines}


def _refused(where: str, number: int, text: str, what: str, remedy: str = _ONE_EACH) -> BadInput:
    name, equals, _ = text.partition("=")  # the value may be a secret
    return BadInput(f"{where}:{number}: {shortened(f'{name}{equals}', 60)!r} {what}", remedy)


def _after_zeros(text: str, where: str, environ: Mapping[str, str]) -> Iterator[EnvLine]:
    for number, word in enumerate(text.split("\0"), start=1):
        if not word.partition("=")[0].isprintable():
            raise BadInput(
                f"{where}: entry {number}, {shortened(word, 60)!r}, is not a variable",
                "pass the output of `env` or `env -0`",
            )
    found = settings.environment_of_process(text.encode(errors="surrogateescape"))
    for number, (name, value) in enumerate(found.items(), start=1):
        yield EnvLine(number=number, name=name, value=value, place=None)


def _of_docker(text: str, where: str, environ: Mapping[str, str]) -> Iterator[EnvLine]:
    """docker and podman: nothing is unquoted, `#` begins a comment only at the begin, a bare NAME is passed on."""
    function = 0
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.removesuffix("\r")
        bare = line.lstrip()
        name, equals, value = bare.partition("=")
        if function:
            function = 0 if line == "}" else function
        elif equals and value.startswith("() {"):
            function = 0 if value.endswith("}") else number
        elif not bare or bare.startswith("#"):
            continue
        elif not equals and _BARE.fullmatch(name):
            yield from _passed_on(number, name, line.removesuffix(name), environ)
        elif not equals or not name:
            raise _refused(where, number, line, "is not NAME=value")
        elif any(letter.isspace() for letter in name):
            raise _refused(where, number, line, "has a space in the name", "write NAME=value without spaces")
        else:
            place = Place(before=line[: len(line) - len(bare)], value=value, after="")
            yield EnvLine(number=number, name=name, value=value, place=place)
    if function:
        raise BadInput(f"{where}:{function}: the function does not end", "pass the output of `env -0`")


def _passed_on(number: int, name: str, before: str, environ: Mapping[str, str]) -> Iterator[EnvLine]:
    """The variable of this command that a line names, or with `*` all that begin so, as podman has it."""
    if name.endswith("*"):
        for one in sorted(environ):
            if one.startswith(name[:-1]):
                yield EnvLine(number=number, name=one, value=environ[one], place=None)
    elif name in environ:
        place = Place(before=before, value="", after="")
        yield EnvLine(number=number, name=name, value=environ[name], place=place)


_KEY = re.compile(r"([ \t]*)([^=\n]*)(=?)[ \t]*")
_PIECE = re.compile(r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<rest>(?:[^\\\n]|\\.)+)""", re.DOTALL)


def _of_systemd(text: str, where: str, environ: Mapping[str, str]) -> Iterator[EnvLine]:
    """EnvironmentFile of systemd.exec(5): quotes are removed, a backslash at the end joins lines."""
    at, number, text = 0, 1, text.replace("\r\n", "\n")
    while at < len(text):
        key = _KEY.match(text, at)
        assert key is not None  # each part may be empty
        name, start = key[2].rstrip(), at
        if (not name and not key[3]) or name.startswith(("#", ";")):
            at = _end_of_line(text, at)
        elif not key[3] or not _NAME.fullmatch(name):
            raise _refused(where, number, text[at : _end_of_line(text, at)].strip(), "is not NAME=value")
        else:
            value, at = _value_of_systemd(text, key.end(), where, number)
            written = text[key.end() : at]
            is_whole = "\n" not in written.rstrip("\n")
            place = Place(before=key[1], value=written.strip(), after="") if is_whole else None
            yield EnvLine(number=number, name=name, value=value, place=place)
        number += text.count("\n", start, at)


def _end_of_line(text: str, at: int) -> int:
    """Behind the line break."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _value_of_systemd(text: str, at: int, where: str, number: int) -> tuple[str, int]:
    """(value, where the next line begins): quoted parts one after the other, or all up to the end of the line."""
    found = []
    while at < len(text) and text[at] != "\n":
        piece = _PIECE.match(text, at)
        if piece is None or (piece["rest"] is not None and text[at] in "'\""):
            line = text[at : _end_of_line(text, at)].strip()[:1]
            raise BadInput(f"{where}:{number}: the quote {line} is not closed", "close it in the same line")
        at = piece.end()
        if piece["single"] is not None:
            found.append(piece["single"])
        elif piece["double"] is not None:
            found.append(re.sub(r'\\([\\"$`])|\\\n', lambda one: one[1] or "", piece["double"]))
        else:
            found.append(re.sub(r"\\(.)", lambda one: one[1].strip("\n"), piece["rest"], flags=re.DOTALL).rstrip())
        while at < len(text) and text[at] in " \t":
            at += 1
    return "".join(found), at + 1


def _of_shell(text: str, where: str, environ: Mapping[str, str]) -> Iterator[EnvLine]:
    """What `set -a; . FILE` sets, and nothing that a command would have to tell."""
    known = dict[str, str | None]()
    counted, number = 0, 1
    exported = set(environ)
    exports_all = shell_words.EXPORTS_ALL.search(text) is not None
    try:
        for statement in shell_words.statements(text):
            found = dict[str, str | None]()
            for one in statement.assignments:
                if one.raw is None and one.name not in known and one.name not in environ:
                    continue  # an export of what is not set
                number += text.count("\n", counted, one.word.start)
                counted = one.word.start
                value = found[one.name] = _known_value(one, known, environ, f"{where}:{number}")
                if not statement.is_export:
                    known[one.name] = value
                if value is not None:
                    place = _place(text, one) if len(statement.assignments) == 1 else None
                    is_exported = statement.is_export or exports_all or one.name in exported
                    yield EnvLine(number=number, name=one.name, value=value, place=place, is_exported=is_exported)
                if statement.is_export:
                    exported.add(one.name)
            known |= found
    except NotAssigned as error:
        number = 1 + text.count("\n", 0, error.start)
        if str(error):
            raise BadInput(f"{where}:{number}: {error}", "close it") from error
        line = text[error.start : _end_of_line(text, error.start)].strip()
        raise _refused(where, number, line, "is not an assignment", _SOURCED) from error


def _known_value(
    one: shell_words.ShellAssignment, known: Mapping[str, str | None], environ: Mapping[str, str], where: str
) -> str | None:
    """None: not known, of a variable that does not matter. Raises BadInput."""
    if one.raw is None:
        return known[one.name] if one.name in known else environ.get(one.name)
    try:
        return shell_words.value(one.name, one.raw, known, environ)
    except UnreadableValue as why:
        if is_kept(one.name):
            raise BadInput(f"{where}: the value of {one.name} {why}", _SOURCED) from why
        return None


def _place(text: str, one: shell_words.ShellAssignment) -> Place | None:
    if one.raw is None or not shell_words.is_plain(one.raw):
        return None
    begin = text.rfind("\n", 0, one.word.start) + 1
    before, after = text[begin : one.word.start], text[one.word.end : _end_of_line(text, one.word.end)]
    after = after.removesuffix("\n").removesuffix("\r")
    is_all = _ALONE.fullmatch(before) and _COMMENT.fullmatch(after)
    return Place(before=before, value=one.raw, after=after) if is_all else None


def _of_script(text: str, where: str, environ: Mapping[str, str]) -> Iterator[EnvLine]:
    return map(_line, script.settings(text, environ))


def _of_manifest(text: str, where: str, environ: Mapping[str, str]) -> Iterator[EnvLine]:
    from nccltool.hosts.job_files import manifest  # YAML takes longer to import than all of the command line

    return map(_line, manifest.settings(text, where, environ))


def _of_dockerfile(text: str, where: str, environ: Mapping[str, str]) -> Iterator[EnvLine]:
    return map(_line, dockerfile.settings(text))


def _line(one: JobSetting) -> EnvLine:
    return EnvLine(number=one.number, name=one.name, value=one.value, place=None, is_exported=one.is_exported)


_READERS: Mapping[Form, Callable[[str, str, Mapping[str, str]], Iterator[EnvLine]]] = {
    "env -0": _after_zeros,
    "docker": _of_docker,
    "systemd": _of_systemd,
    "shell": _of_shell,
    "script": _of_script,
    "manifest": _of_manifest,
    "Dockerfile": _of_dockerfile,
}
