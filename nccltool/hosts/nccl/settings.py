"""The settings of a process as NCCL builds them: its environment, the user's file, /etc/nccl.conf; the first wins.

NCCL puts the lines of the files into the environment with setenv, without overwriting. It neither trims nor
unquotes, and says nothing about a line that it does not understand. How a line is read differs between releases
(Dialect); where the release is not known, it is read as the newest does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.hosts.facts import ConfFile, HostFacts, NotKnown
from nccltool.hosts.facts.leaves import then
from nccltool.hosts.nccl import values

Fate = Literal["used", "overridden", "ignored", "comment", "blank"]
CONF_FILE = Version(2, 23, 4)
"""The release from which NCCL_CONF_FILE is read."""
_COMMENTS = Version(2, 26, 2)
_CHUNKS = Version(2, 30, 3)
"""The release from which lines are read in pieces of 4095 bytes, a \\r at the end is dropped and $HOME counts."""
_NONE = "none: "
"""How the source of an environment begins that could not be read; the reason follows."""
_NOWHERE: Mapping[str, str] = MappingProxyType({})
_LONGEST_LINE = 4095
_LONGEST_VALUE = 1023


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """A variable, and where its value comes from."""

    name: str
    value: str
    origin: str
    """`environment`, `pid 4242`; or a file and its line: `job.env:1`, `/etc/nccl.conf:3`."""
    from_file: bool = False
    """It comes from a line of a file: a configuration file of NCCL, or a file of variables."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfLine:
    """A line of a configuration file, and what NCCL makes of it."""

    number: int
    text: str
    fate: Fate
    name: str = ""
    value: str = ""
    winner: Variable | None = None
    """What overrides it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedConfFile:
    """A configuration file that NCCL reads, or would if it could."""

    role: str
    path: str
    lines: tuple[ConfLine, ...] | Unknown
    """Unknown: it is not there, or cannot be read; NCCL says nothing then."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NcclSettings:
    """The effective environment of a process. What reads it raises NotKnown where it could not be read."""

    variables: Mapping[str, Variable] = field(default_factory=dict, hash=False)
    files: tuple[ParsedConfFile, ...] = ()
    """In the order in which NCCL reads them."""
    version: Version | None = None
    """Of NCCL; None = read as the newest would."""
    unread: str = ""
    """Why the environment is not known at all."""

    def variable(self, name: str) -> Variable | None:
        """The variable, with where it comes from; None = not set."""
        return self._known().get(name)

    def get(self, name: str) -> str | None:
        """The value of a variable; None = not set."""
        variable = self._known().get(name)
        return variable.value if variable else None

    def integer(self, name: str) -> int | None:
        """The number that NCCL reads from a variable; None = not set, empty, or too large: its default holds."""
        number = values.integer(self.get(name) or "")
        return number.value if number else None

    def names(self, name: str) -> values.NameList | None:
        """A list of interfaces (NCCL_SOCKET_IFNAME) or adapters (NCCL_IB_HCA); None = not set, or too short."""
        value = self.get(name)
        if value is None or (name in _INTERFACES and len(value) < 2):
            return None
        return values.names(value, 16 if name in _INTERFACES else 32, self.version)

    def beginning(self, *prefixes: str) -> Iterator[Variable]:
        """The variables whose names begin so, in order of their names."""
        known = self._known()
        return (known[name] for name in sorted(known) if name.startswith(prefixes))

    def all(self) -> Iterator[Variable]:
        """Every variable that is known, in order of the names."""
        return self.beginning("")

    def read_files(self) -> tuple[ParsedConfFile, ...]:
        """The configuration files that NCCL reads, in its order."""
        self._known()
        return self.files

    def lines(self) -> Iterator[tuple[ParsedConfFile, ConfLine]]:
        """Every line of every file that can be read."""
        for file in self.read_files():
            if not isinstance(file.lines, Unknown):
                yield from ((file, line) for line in file.lines)

    def _known(self) -> Mapping[str, Variable]:
        if self.unread:
            raise NotKnown(self.unread)
        return self.variables


_INTERFACES = ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME")


def of(host: HostFacts, version: Version | None = None, places: Mapping[str, str] = _NOWHERE) -> NcclSettings:
    """The settings of a snapshot, as this version of NCCL would build them. `places`: FILE:LINE of variables."""
    if host.env_source.startswith(_NONE):
        reason = host.env_source.removeprefix(_NONE)
        return NcclSettings(version=version, unread=f"environment unknown: {reason}")
    return build(host.env, _read_by(version, host.conf_files, host.env), version, host.env_source, places)


def build(
    environment: Mapping[str, str],
    files: Sequence[ConfFile] = (),
    version: Version | None = None,
    source: str = "process",
    places: Mapping[str, str] = _NOWHERE,
) -> NcclSettings:
    """The effective environment; `files` are those that NCCL reads, in its order."""
    origin = "environment" if source == "process" else source
    variables = {
        name: Variable(name=name, value=value, origin=places.get(name, origin), from_file=name in places)
        for name, value in environment.items()
    }
    read = tuple(_read(file, variables, version) for file in files)
    return NcclSettings(variables=MappingProxyType(variables), files=read, version=version)


def _read_by(
    version: Version | None, files: Sequence[ConfFile], environment: Mapping[str, str]
) -> tuple[ConfFile, ...]:
    """The files that this version reads: the user's one, then the system's."""
    by_role = {file.role: file for file in files}
    named = environment.get("NCCL_CONF_FILE") and values.since(CONF_FILE, version)
    roles = ("NCCL_CONF_FILE",) if named else ("HOME", "home") if values.since(_CHUNKS, version) else ("home",)
    user = next((by_role[role] for role in roles if role in by_role), None)
    return tuple(file for file in (user, by_role.get("system")) if file is not None)


def _read(file: ConfFile, variables: dict[str, Variable], version: Version | None) -> ParsedConfFile:
    lines = then(file.text, lambda text: tuple(_lines(file.path, text, variables, version)))
    return ParsedConfFile(role=file.role, path=file.path, lines=lines)


def _lines(path: str, text: str, variables: dict[str, Variable], version: Version | None) -> Iterator[ConfLine]:
    """What NCCL makes of each line of a file; what one sets is put into `variables`."""
    newest = values.since(_CHUNKS, version)
    with_comments = values.since(_COMMENTS, version)
    for number, raw in _pieces(text.encode(errors="replace"), newest):
        line = raw.partition(b"\0")[0]  # the end of a C string
        line = line.removesuffix(b"\n")
        line = line.removesuffix(b"\r") if newest else line
        name, found, value = line.partition(b"=")
        shown = line.decode(errors="replace")
        if line.startswith(b"#") and with_comments:
            yield ConfLine(number=number, text=shown, fate="comment")
        elif not found or not name:  # setenv refuses an empty name
            yield ConfLine(number=number, text=shown, fate="ignored" if line.strip() else "blank")
        else:
            key, given = (word[:_LONGEST_VALUE].decode(errors="replace") for word in (name, value))
            winner = variables.get(key)
            if winner is None:
                variables[key] = Variable(name=key, value=given, origin=f"{path}:{number}", from_file=True)
            fate: Fate = "overridden" if winner else "used"
            yield ConfLine(number=number, text=shown, fate=fate, name=key, value=given, winner=winner)


def _pieces(data: bytes, newest: bool) -> Iterator[tuple[int, bytes]]:
    """(line number, what NCCL takes for a line): the newest cut a line that is longer than their buffer."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        whole = line + b"\n"
        step = _LONGEST_LINE if newest else len(whole)
        yield from ((number, whole[start : start + step]) for start in range(0, len(whole), step))


def environment_of_process(data: bytes) -> dict[str, str]:
    """The variables of /proc/<pid>/environ, where programs write titles and other words, too."""
    variables: dict[str, str] = {}
    for word in data.decode(errors="surrogateescape").split("\0"):
        name, found, value = word.partition("=")
        if found and name:
            variables.setdefault(name, value)  # getenv finds the first
    return variables
