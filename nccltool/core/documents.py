"""What the JSON documents that other programs read (docs/json.md) have in common; each room has its own."""

from typing import Any, TypeVar

import msgspec

from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding
from nccltool.core.run_info import RunInfo
from nccltool.core.verdicts import Status, Verdict

SCHEMA = 1


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


def encoded(document: Any) -> str:
    """Indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def decoded(text: bytes, where: str, form: type[AnyDocument]) -> AnyDocument:
    """Read a document. Raises BadInput that names `where` and the key that is wrong."""
    try:
        document = msgspec.json.decode(text, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(
            f"{where} is not a run of nccltool: {error}", "name a run.json, or a run's folder"
        ) from error
    schema = getattr(document, "schema", SCHEMA)
    if schema != SCHEMA:
        raise BadInput(f"{where} has schema {schema}, this nccltool reads {SCHEMA}", "use its own version")
    return document


def kind_of(text: bytes, where: str) -> str:
    """The command whose run a document is of. Raises BadInput."""
    return decoded(text, where, _Kind).kind
