"""The document of a localization (docs/json.md): measurements, suspects, doubts."""

from pathlib import Path

import msgspec

from nccltool.core import documents, run_directory
from nccltool.core.documents import RunDocument
from nccltool.core.errors import BadInput
from nccltool.localize import coverage
from nccltool.localize.encounter import Encounter
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.result import Localization, NextTest, Scope, Suspect

KINDS = ("pairs", "localize")
"""Both have the same keys."""


class MeasuredPair(msgspec.Struct, kw_only=True):
    """Two nodes that met."""

    a: str
    b: str
    busbw_bytes_per_s: float | None
    round: int
    rail: str | None = None
    directed: bool = False
    reason: str | None = None


class MeasuredGroup(msgspec.Struct, kw_only=True):
    """A node alone, or three and more that met."""

    members: tuple[str, ...]
    busbw_bytes_per_s: float | None
    round: int
    rail: str | None = None
    reason: str | None = None


class LocalizeDocument(RunDocument, kw_only=True):
    """Of nccltool localize and nccltool pairs."""

    scope: Scope
    reason: str
    suspects: tuple[Suspect, ...]
    undetermined: tuple[tuple[str, ...], ...]
    next_tests: tuple[NextTest, ...]
    noise: float | None
    smallest_visible_fault: float | None
    healthy_busbw_bytes_per_s: float | None
    expected_busbw_bytes_per_s: float | None = None
    links: int | None = None
    links_measured: int | None = None
    pairs: tuple[MeasuredPair, ...]
    groups: tuple[MeasuredGroup, ...] = ()
    sources: tuple[str, ...] = ()
    within: bool = False


def document_of(run: LocalizedRun) -> LocalizeDocument:
    found, covered = run.localization, coverage.of(run)
    return LocalizeDocument(
        schema=documents.SCHEMA,
        kind=run.kind,
        status=run.verdict.status,
        exit_code=run.verdict.exit_code,
        run=run.info,
        findings=run.findings,
        scope=found.scope,
        reason=found.reason,
        suspects=found.suspects,
        undetermined=found.undetermined,
        next_tests=found.next_tests,
        noise=found.noise,
        smallest_visible_fault=found.smallest_visible_fault,
        healthy_busbw_bytes_per_s=found.healthy_busbw_bytes_per_s,
        expected_busbw_bytes_per_s=run.expected_busbw_bytes_per_s,
        links=covered.links if covered else None,
        links_measured=covered.measured if covered else None,
        pairs=tuple(_pair(one) for one in run.encounters if len(one.members) == 2),
        groups=tuple(_group(one) for one in run.encounters if len(one.members) != 2),
        sources=run.sources,
        within=run.is_within,
    )


def to_json(run: LocalizedRun) -> str:
    return documents.encoded(document_of(run))


def _pair(one: Encounter) -> MeasuredPair:
    a, b = one.members
    return MeasuredPair(
        a=a,
        b=b,
        busbw_bytes_per_s=one.busbw_bytes_per_s,
        round=one.round,
        rail=one.rail,
        directed=one.is_directed,
        reason=one.reason,
    )


def _group(one: Encounter) -> MeasuredGroup:
    return MeasuredGroup(
        members=one.members,
        busbw_bytes_per_s=one.busbw_bytes_per_s,
        round=one.round,
        rail=one.rail,
        reason=one.reason,
    )


def from_json(text: bytes, where: str) -> LocalizedRun:
    """The run of a localization. Raises BadInput that names `where` and the key that is wrong."""
    read = documents.decoded(text, where, LocalizeDocument, "a localization", "name a run of nccltool pairs")
    if read.kind not in KINDS:
        raise BadInput(f"{where} is a run of nccltool {read.kind}", "name a run of nccltool pairs")
    return LocalizedRun(
        info=read.run,
        kind=read.kind,
        verdict=read.verdict,
        findings=read.findings,
        encounters=(*map(_of_pair, read.pairs), *map(_of_group, read.groups)),
        localization=Localization(
            scope=read.scope,
            suspects=read.suspects,
            undetermined=read.undetermined,
            next_tests=read.next_tests,
            noise=read.noise,
            smallest_visible_fault=read.smallest_visible_fault,
            healthy_busbw_bytes_per_s=read.healthy_busbw_bytes_per_s,
            reason=read.reason,
        ),
        expected_busbw_bytes_per_s=read.expected_busbw_bytes_per_s,
        sources=read.sources,
        is_within=read.within,
    )


def load(path: Path) -> LocalizedRun:
    """The run in a folder, or in a run.json. Raises BadInput."""
    return from_json(*run_directory.document(path))


def _of_pair(one: MeasuredPair) -> Encounter:
    return Encounter(
        members=(one.a, one.b),
        busbw_bytes_per_s=one.busbw_bytes_per_s,
        round=one.round,
        is_directed=one.directed,
        rail=one.rail,
        reason=one.reason,
    )


def _of_group(one: MeasuredGroup) -> Encounter:
    return Encounter(
        members=one.members,
        busbw_bytes_per_s=one.busbw_bytes_per_s,
        round=one.round,
        rail=one.rail,
        reason=one.reason,
    )
