"""The JSON files of rccl-tests -Z json: a list with an object for each size and placement."""

from typing import Annotated, Any, Literal

import msgspec

from nccltool.interop.importers.base import (
    MOST,
    Half,
    Printed,
    Report,
    Row,
    Told,
    element_type,
    operation,
    reduction,
    refuse,
    world_size,
)
from nccltool.probe import collectives

_ROUNDED = 0.5e-6
"""rccl-tests writes six decimals."""

_NAMES = {name: op for op in collectives.NAMES for name in collectives.get(op).rccl_tests}

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(ge=0, le=MOST)]


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
        refuse(where, "neither a file of nccl-tests -J nor of rccl-tests -Z json; expected results, or a list")
    records = tuple(_record(value, f"{where}, record {index + 1}") for index, value in enumerate(whole))
    if not records:
        refuse(where, "it holds no results")
    first = records[0]
    different = next((index for index, record in enumerate(records) if _world(record) != _world(first)), None)
    if different is not None:
        refuse(f"{where}, record {different + 1}", "of another test than the first; expected one in a file")
    return (_report(records, where, told),)


def _record(value: Any, where: str) -> _Record:
    try:
        return msgspec.convert(value, _Record)
    except msgspec.ValidationError as error:
        refuse(where, f"not as rccl-tests writes it: {error}")


def _world(record: _Record) -> tuple[str, int | None, int | None, int | None]:
    return record.name, record.ranks, record.gpus_per_rank, record.gpus


def _report(records: tuple[_Record, ...], where: str, told: Told) -> Report:
    first = records[0]
    ranks = first.ranks * (first.gpus_per_rank or 1) if first.ranks is not None else first.gpus
    nodes = f", {first.nodes} nodes" if first.nodes else ""
    return Report(
        where=where,
        tool="rccl-tests (JSON)",
        op=operation(_NAMES.get(first.name, first.name), told, where),
        world_size=world_size(ranks, told, where),
        hosts=None,
        backend="nccl",
        backend_version=None,
        emulated=False,
        cadence="stream",
        cpu_time=False,
        rows=tuple(_row(record, f"{where}, record {index + 1}") for index, record in enumerate(records)),
        out_of_bounds=None,
        average=None,
        under_minimum=False,
        errors=(),
        said=(f"rccl-tests {first.name}: {ranks} ranks{nodes}",),
    )


def _row(record: _Record, where: str) -> Row:
    dtype, element_size = element_type(record.type, where)
    wrong = str(record.wrong)
    if wrong != "N/A" and not wrong.isdecimal():
        refuse(where, f"wrong {record.wrong!r} is not a count of elements")
    return Row(
        where=where,
        bytes=record.size,
        count=None,
        dtype=dtype,
        element_size=element_size,
        reduce_op=reduction(record.redop, where),
        root=None,
        halves=(
            Half(
                placement="in-place" if record.in_place else "out-of-place",
                time=Printed(record.time, _ROUNDED),
                algbw=Printed(record.alg_bw, _ROUNDED),
                busbw=Printed(record.bus_bw, _ROUNDED),
                wrong=None if wrong == "N/A" else int(wrong),
            ),
        ),
    )
