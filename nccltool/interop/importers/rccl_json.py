"""The JSON files of rccl-tests -Z json: a list with an object for each size and placement."""

from typing import Annotated, Any, Literal

import msgspec

from nccltool.core.text import counted
from nccltool.interop.importers import base
from nccltool.interop.importers.base import Count, Half, Printed, Report, Row, Told, refuse
from nccltool.probe import collectives

_NAMES = {name: op for op in collectives.NAMES for name in collectives.get(op).rccl_tests}

Positive = Annotated[float, msgspec.Meta(ge=0, le=base.MOST)]


class _Record(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    num_cycle: Count
    name: str
    size: Count
    type: str
    redop: str
    in_place: Literal[0, 1]
    time: Positive
    alg_bw: Positive
    bus_bw: Positive
    wrong: str | int
    nodes: Count | None = None
    ranks: Count | None = None
    ranks_per_node: Count | None = None
    gpus_per_rank: Count | None = None
    gpus: Count | None = None


def read(whole: Any, where: str, told: Told) -> tuple[Report, ...]:
    """The tests in a decoded file, one for each operation. Raises BadInput."""
    if not isinstance(whole, list):
        refuse(where, "not the output of nccl-tests -J or rccl-tests -Z json; expected results, or a list")
    places = [f"{where}, record {index}" for index in range(1, len(whole) + 1)]
    records = [base.converted(value, _Record, at, "rccl-tests") for value, at in zip(whole, places, strict=True)]
    if not records:
        refuse(where, "it contains no results")
    first = records[0]
    for record, place in zip(records, places, strict=True):
        if _world(record) != _world(first):
            refuse(place, "this record is from a different test than the first; expected one test per file")
    ranks = first.ranks * (first.gpus_per_rank or 1) if first.ranks is not None else first.gpus
    nodes = f", {counted(first.nodes, 'node')}" if first.nodes else ""
    report = Report(
        where=where,
        tool="rccl-tests (JSON)",
        op=base.operation(_NAMES.get(first.name, first.name), told, where),
        world_size=base.world_size(ranks, told, where),
        rows=tuple(map(_row, records, places)),
        said=(f"rccl-tests {first.name}: {'unknown ranks' if ranks is None else counted(ranks, 'rank')}{nodes}",),
    )
    return (report,)


def _world(record: _Record) -> tuple[str, int | None, int | None, int | None]:
    return record.name, record.ranks, record.gpus_per_rank, record.gpus


def _row(record: _Record, where: str) -> Row:
    dtype, element_size = base.element_type(record.type, where)
    wrong = str(record.wrong)
    if wrong != "N/A" and not wrong.isdecimal():
        refuse(where, f"wrong {record.wrong!r} is not a count of elements")
    return Row(
        where=where,
        bytes=record.size,
        count=None,
        dtype=dtype,
        element_size=element_size,
        reduce_op=base.reduction(record.redop, where),
        root=None,
        halves=(
            Half(
                placement="in-place" if record.in_place else "out-of-place",
                time=Printed(record.time, base.SIX_DECIMALS),
                algbw=Printed(record.alg_bw, base.SIX_DECIMALS),
                busbw=Printed(record.bus_bw, base.SIX_DECIMALS),
                wrong=None if wrong == "N/A" else int(wrong),
            ),
        ),
    )
