"""The JSON files of nccl-tests -J: versions 1 to 3, and what nccltool writes like them.

Booleans are strings, roots are padded strings, and a number that is none is "nan". A key that is not known in a
result is refused: it could change what the others mean.
"""

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from nccltool.interop.importers import base
from nccltool.interop.importers.base import UNMEASURED, Count, Half, Printed, Report, Row, Told, refuse
from nccltool.probe import nccl_tests
from nccltool.probe.result import Placement

_NEWEST = nccl_tests.JSON_VERSION
_TOOL = "nccl-tests"

Number = float | str
"""A number, or "nan"."""
Boolean = bool | int | str


class _Half(msgspec.Struct, forbid_unknown_fields=True):
    alg_bw: Number
    bus_bw: Number
    nwrong: Number | None
    time: Number | None = None
    cpu_time: Number | None = None
    hip_event_time: Number | None = None
    measured: bool = True
    iterations: Count | None = None


class _Iterations(msgspec.Struct, forbid_unknown_fields=True):
    min_us: Number
    max_us: Number
    avg_us: Number
    p50_us: Number
    p95_us: Number
    p99_us: Number
    stdev_us: Number
    cv_pct: Number
    times_us: tuple[Number, ...]
    skipped_iterations: Count = 0
    per_process_max_times_us: tuple[tuple[Number, ...], ...] = ()


class _Result(msgspec.Struct, forbid_unknown_fields=True):
    size: Count
    count: Count
    type: str
    redop: str
    root: int | str
    in_place: _Half | None = None
    out_of_place: _Half | None = None
    in_place_per_iter: _Iterations | None = None
    out_of_place_per_iter: _Iterations | None = None
    actual_iterations: Count | None = None
    experiment_name: str | None = None


class _Device(msgspec.Struct):
    rank: int
    hostname: str
    group: int = 0


class _Config(msgspec.Struct):
    devices: tuple[_Device, ...]
    nthreads: int = 1
    ngpus: int = 1
    iterations: Count | None = None
    blocking_collectives: Boolean = False


class _OutOfBounds(msgspec.Struct):
    count: Count


class _Average(msgspec.Struct):
    okay: Boolean
    bandwidth: Number | None = None
    bandwidith: Number | None = None
    """As it was spelt before 2.18."""


class _Ours(msgspec.Struct):
    backend: str | None = None
    backend_version: str | None = None
    emulated: bool = False


class _File(msgspec.Struct):
    version: int
    args: tuple[str, ...] = ()
    nccl_version: int | None = None
    start_time: str | None = None
    config: _Config | None = None
    results: tuple[Any, ...] = ()
    """Each a _Result; converted one by one, so that a sentence can name its place."""
    out_of_bounds: _OutOfBounds | None = None
    average_bus_bandwidth: _Average | None = None
    average_bus_bandwidith: _Average | None = None
    errors: tuple[str | None, ...] = ()
    nccltool: _Ours | None = None


def read(whole: Any, where: str, told: Told) -> Report:
    """The test in a decoded file. Raises BadInput."""
    version = whole.get("version") if isinstance(whole, dict) else None
    if not isinstance(version, int) or not 1 <= version <= _NEWEST:
        refuse(where, f"version {version!r} of nccl-tests' JSON; expected 1 to {_NEWEST}", "use a newer nccltool")
    file = base.converted(whole, _File, where, _TOOL)
    average = file.average_bus_bandwidth or file.average_bus_bandwidith
    if file.config is None or file.out_of_bounds is None or average is None:
        refuse(where, "the test was stopped: expected config, out_of_bounds, and average_bus_bandwidth")
    return _report(file, file.config, file.out_of_bounds.count, average, where, told)


def _report(file: _File, config: _Config, failed: int, average: _Average, where: str, told: Told) -> Report:
    ours = file.nccltool or _Ours()
    group = config.devices[0].group if config.devices else 0
    together = [device for device in config.devices if device.group == group]
    # a process lists its first GPU only
    ranks = len(together) * config.nthreads * config.ngpus or None
    mean = average.bandwidth if average.bandwidth is not None else average.bandwidith
    if mean is None:
        refuse(where, "average_bus_bandwidth has no bandwidth")
    version = nccl_tests.version_text(file.nccl_version) if file.nccl_version else None
    places = [f"{where}, results[{index}]" for index in range(len(file.results))]
    results = [base.converted(row, _Result, at, _TOOL) for row, at in zip(file.results, places, strict=True)]
    return Report(
        where=where,
        tool=f"nccl-tests (JSON version {file.version})",
        op=base.operation(file.args[0] if file.args else None, told, where),
        world_size=base.world_size(ranks, told, where),
        hosts=tuple(dict.fromkeys(device.hostname for device in together)) or None,
        backend=ours.backend or "nccl",
        backend_version=ours.backend_version or version,
        emulated=ours.emulated,
        cadence="isolated" if _true(config.blocking_collectives, where) else "stream",
        cpu_time=any(
            half and half.cpu_time is not None for row in results for half in (row.out_of_place, row.in_place)
        ),
        rows=tuple(_row(result, config, place) for result, place in zip(results, places, strict=True)),
        out_of_bounds=failed,
        average=_number(mean, where),
        under_minimum=average.okay != "unchecked" and not _true(average.okay, where),
        errors=tuple(text for text in file.errors if text),
        said=tuple(_said(file, config, len(together))),
    )


def _said(file: _File, config: _Config, together: int) -> Iterator[str]:
    if file.args:
        yield " ".join(file.args)
    if file.start_time:
        yield f"started {file.start_time} in the time zone of its host"
    if len(config.devices) > together:
        yield (
            f"{len(config.devices)} processes ran in groups; "
            f"the numbers are from the {together} in the first group"
        )


def _row(result: _Result, config: _Config, where: str) -> Row:
    dtype, element_size = base.element_type(result.type, where)
    root = str(result.root).strip()
    if not root.removeprefix("-").isdecimal():
        refuse(where, f"root {result.root!r} is not a rank")
    common = result.actual_iterations if result.actual_iterations is not None else config.iterations
    halves = []
    if result.out_of_place:
        halves.append(_half("out-of-place", result.out_of_place, result.out_of_place_per_iter, common, where))
    if result.in_place:
        halves.append(_half("in-place", result.in_place, result.in_place_per_iter, common, where))
    return Row(
        where=where,
        bytes=result.size,
        count=result.count,
        dtype=dtype,
        element_size=element_size,
        reduce_op=base.reduction(result.redop, where),
        root=int(root) if int(root) >= 0 else None,
        halves=tuple(halves),
    )


def _half(placement: Placement, half: _Half, single: _Iterations | None, common: int | None, where: str) -> Half:
    time = half.time if half.time is not None else half.cpu_time
    if time is None:
        refuse(where, f"{placement} has neither time nor cpu_time")
    samples = single.times_us[single.skipped_iterations :] if single else ()
    return Half(
        placement=placement,
        time=_number(time, where),
        algbw=_number(half.alg_bw, where),
        busbw=_number(half.bus_bw, where),
        wrong=None if half.nwrong is None else int(_finite(half.nwrong, where)),
        samples_us=tuple(_finite(sample, where) for sample in samples),
        repeats=not half.measured,
        iterations=half.iterations if half.iterations is not None else common,
    )


def _number(value: Number, where: str) -> Printed:
    if isinstance(value, str):
        if value not in ("nan", "-nan"):
            refuse(where, f'{value!r} is not a number; expected one, or "nan"')
        return UNMEASURED
    if value < 0:
        refuse(where, f"{value} is negative")
    if base.MOST < value < math.inf:
        refuse(where, f"{value} is implausibly large")
    return Printed(value, base.SIX_DECIMALS) if math.isfinite(value) else UNMEASURED


def _finite(value: Number, where: str) -> float:
    number = _number(value, where).value
    if not math.isfinite(number):
        refuse(where, f"{value!r} is not a number")
    return number


def _true(value: Boolean, where: str) -> bool:
    known = {"true": True, "false": False, "1": True, "0": False}
    word = str(value).lower()
    if word not in known:
        refuse(where, f'{value!r} is neither "true" nor "false"')
    return known[word]
