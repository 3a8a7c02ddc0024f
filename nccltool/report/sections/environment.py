"""Where and how it was measured."""

from collections.abc import Iterator

from nccltool.core.documents import RunInfo
from nccltool.core.text import counted
from nccltool.core.units import format_seconds
from nccltool.report.material import Material
from nccltool.report.parts import FoldPart, KeyFigure, ReportSection, TablePart
from nccltool.report.sections import base

_METHOD = (
    ("time of a row", "mean over the iterations, of the slowest rank in each"),
    ("interval", "95 % interval of the median, widened to the mean where that lies outside"),
    ("busbw", "algorithm bandwidth (size / time) times the factor of the operation, as in nccl-tests"),
    ("units", "1 GB/s = 10**9 B/s; 1 MiB = 2**20 B"),
    ("limit", "the highest busbw that the links allow"),
)


def of(material: Material) -> ReportSection | None:
    info = material.newest.info
    rows = [(name, value) for name, value in _rows(info) if value]
    hosts = FoldPart(
        summary=counted(len(info.hosts), "host"),
        parts=(base.table("Hosts", ("number", "host"), _numbered(info.hosts), 0),),
    )
    return ReportSection(
        id="environment",
        title="Environment and method",
        headline=f"Run {info.id}, started {info.started}, with nccltool {info.nccltool}.",
        figure=_count(info),
        parts=(
            TablePart(title="Environment", headers=("what", "value"), rows=tuple(rows)),
            *((hosts,) if info.hosts else ()),
            FoldPart(summary="Method", parts=(TablePart(headers=("what", "how"), rows=_METHOD),)),
        ),
    )


def _count(info: RunInfo) -> KeyFigure | None:
    count = len(info.hosts) or info.nodes
    return None if count is None else KeyFigure(value=str(count), label="host" if count == 1 else "hosts")


def _numbered(hosts: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(str(number), host) for number, host in enumerate(hosts)]


def _rows(info: RunInfo) -> Iterator[tuple[str, str]]:
    yield "command", " ".join(info.command)
    yield "nodes", f"{info.nodes or base.UNKNOWN}{' (emulated)' if info.emulated else ''}"
    yield "ranks", str(info.world_size or base.UNKNOWN)
    yield "ranks per node", str(info.ranks_per_node or "")
    yield "GPU", info.gpu or ("none" if info.gpu == "" else base.UNKNOWN)
    yield "network", info.nics or ("none is used" if info.nics == "" else base.UNKNOWN)
    yield "transport", info.transport or base.UNKNOWN
    yield "torch", info.torch or base.UNKNOWN
    yield "backend", " ".join(word for word in (info.backend, info.backend_version) if word) or base.UNKNOWN
    yield "why this backend", info.backend_reason or ""
    yield "limits from", info.limit_source or info.limit_unknown_reason or ""
    yield "measured by", info.tool or ""
    yield "imported from", info.source or ""
    yield "set in the ranks", ", ".join(info.set_in_ranks)
    yield "duration", "" if info.duration_s is None else format_seconds(info.duration_s)
