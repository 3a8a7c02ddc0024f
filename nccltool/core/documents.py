"""What the JSON documents that other programs read (docs/json.md) have in common; each room has its own."""

import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from nccltool import __version__
from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding
from nccltool.core.run_directory import new_id
from nccltool.core.verdicts import Status, Verdict

SCHEMA = 1
_ACTING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""DEL, the C1 controls (0x9b begins a sequence), ends of lines, and what changes the direction of text."""


def this_command() -> tuple[str, ...]:
    """The command line as the user typed it, without the interpreter's path."""
    words = (word.encode(errors="replace").decode() for word in sys.argv[1:])  # a word may not be UTF-8
    return ("nccltool", *words)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunInfo:
    """The circumstances of a run."""

    id: str
    started: str
    """RFC 3339, UTC."""
    command: tuple[str, ...]
    nccltool: str
    torch: str | None
    backend: str | None
    backend_version: str | None
    backend_reason: str | None
    nodes: int | None
    emulated: bool
    world_size: int | None
    hosts: tuple[str, ...]
    limit_source: str | None = None
    """What the limits of the measurements were worked out from."""
    limit_unknown_reason: str | None = None
    """Why they are not known, where they should be: several hosts, or GPUs."""
    transport: str | None = None
    """What carries the bytes, as far as it is known: emulated, local, nvlink, socket, ib, roce."""
    nics: str | None = None
    """The network devices of a host and their rates; empty = no network is used."""
    gpu: str | None = None
    """Models of the ranks' GPUs; empty = they have none."""
    ranks_per_node: int | None = None
    cuda_graph: bool | None = None
    """The calls were replayed from a CUDA graph."""
    tool: str | None = None
    """What measured it, where it was imported; None = nccltool."""
    set_in_ranks: tuple[str, ...] = ()
    """Variables of libraries that nccltool set in the ranks, where nobody else had, as NAME=value."""
    rows_planned: int | None = None
    """How many measurements were asked for; None where that is not known."""
    source: str | None = None
    """The file that it was imported from, with the name that an archive gives it; None = it was measured."""
    duration_s: float | None = None
    """From the start of its processes to their end; None where this command did not start them all."""


def begun_now(command: tuple[str, ...], **known: Any) -> RunInfo:
    """The circumstances of what a command does now, as far as they are `known`."""
    unknown = dict.fromkeys(("torch", "backend", "backend_version", "backend_reason", "nodes", "world_size"))
    of_now = {"id": new_id(), "started": now(), "command": command, "nccltool": __version__}
    return RunInfo(**{**unknown, **of_now, "emulated": False, "hosts": (), **known})


def now() -> str:
    """The time as documents have it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


class RunDocument(msgspec.Struct, kw_only=True):
    """The document of a run of any command that keeps one."""

    schema: int
    kind: str
    status: Status
    exit_code: int
    run: RunInfo
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """Status and exit code."""
        return Verdict(status=self.status, exit_code=self.exit_code)


class _Kind(msgspec.Struct):
    kind: str


AnyDocument = TypeVar("AnyDocument", bound=msgspec.Struct)


def headed(kind: str, **content: Any) -> str:
    """The document of what no run is behind: its head, and what it is about."""
    return encoded({"schema": SCHEMA, "kind": kind, **content}) + "\n"


def encoded(document: Any) -> str:
    return harmless(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def harmless(text: str) -> str:
    """JSON whose characters for terminals are written as escapes; JSON itself asks that of the first 32 only."""
    return text if text.isascii() and "\x7f" not in text else _ACTING.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def decoded(
    text: bytes,
    where: str,
    form: type[AnyDocument],
    what: str = "a run",
    remedy: str = "name a run.json or a run's folder",
) -> AnyDocument:
    """Read a document. Raises BadInput that names `where` and the key that is wrong."""
    try:
        document = msgspec.json.decode(text, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{where} is not {what} of nccltool: {error}", remedy) from error
    schema = getattr(document, "schema", SCHEMA)
    if schema != SCHEMA:
        raise BadInput(
            f"{where} has schema {schema}, but this nccltool reads {SCHEMA}",
            "use the version of nccltool that wrote it",
        )
    return document


def kind_of(text: bytes, where: str) -> str:
    """The command whose run a document is of. Raises BadInput."""
    return decoded(text, where, _Kind).kind
