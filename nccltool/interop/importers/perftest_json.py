"""The JSON files of perftest --out_json: one test at one size.

The file does not name its unit: --report_gbits writes Gb/sec, otherwise MiB/sec. The rate of messages tells which
(perftest_parameters.c, write_bw_report_to_file), because a rate is that times the size.
"""

import json
import re
from typing import Any

import msgspec

from nccltool.interop.importers import perftest, rates
from nccltool.interop.importers.base import MOST, Printed, Report, Row, Told, converted, refuse

_MARK = re.compile(r'\s*\{\s*"test_info"\s*:')
_WITHIN = 0.2
"""How far a rate can be from its messages times their size: rates of few messages are rounded."""
_FILE = "the file that --out_json wrote"


class _Info(msgspec.Struct):
    test: str
    Device: str = "unknown"
    cuda_device: int | None = None
    Use_ROCm_memory: str = "OFF"


class _Results(msgspec.Struct):
    MsgSize: int
    n_iterations: int
    BW_average: float | None = None
    MsgRate: float | None = None
    t_min: float | None = None
    t_max: float | None = None
    t_typical: float | None = None
    t_avg: float | None = None
    percentile_99: float | None = None


class _File(msgspec.Struct):
    test_info: _Info
    results: _Results


def recognises(content: str) -> bool:
    return _MARK.match(content) is not None


def read(content: str, where: str, told: Told) -> tuple[Report, ...]:
    """The test in a file. Raises BadInput."""
    try:
        decoded: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        refuse(where, f"broken JSON: {error}", f"pass {_FILE}, complete and unchanged")
    file = converted(decoded, _File, where, "perftest --out_json")
    kind = perftest.Kind(file.test_info.test.replace("_", " ").replace("RDMA ", "RDMA_").strip())
    if kind.is_round_trip:
        refuse(where, f"nccltool has no operation for round-trip times ({kind.title})")
    if not 0 <= file.results.MsgSize <= 10**18:
        refuse(where, f"MsgSize {file.results.MsgSize} is not a size")
    on_gpu = file.test_info.cuda_device is not None or file.test_info.Use_ROCm_memory == "ON"
    row = _row(file.results, kind, where)
    memory, said = "GPU memory" if on_gpu else "host memory", f"{kind.title}, device {file.test_info.Device}"
    wrong = () if kind.is_latency else _contradictions(file.results, where)
    return (perftest.report(kind, where, told, (row,), memory, said, wrong=wrong),)


def _contradictions(results: _Results, where: str) -> tuple[str, ...]:
    """Whether the rate, in the unit that it is near to, is that of its messages."""
    rate, messages = _number(results.BW_average or 0.0, where), Printed(results.MsgRate or 0.0, 0.5e-6)
    problem = perftest.contradiction(results.MsgSize, rate, messages, _unit(results, where))
    return (problem,) if problem else ()


def _row(results: _Results, kind: perftest.Kind, where: str) -> Row:
    size, iterations = results.MsgSize, results.n_iterations
    if kind.is_latency:
        half = perftest.latency(kind, size, _times(results, where), iterations)
    elif results.BW_average is not None:
        half = perftest.rate(kind, size, _number(results.BW_average, where), _unit(results, where), iterations)
    else:
        half = None
    if half is None:
        refuse(where, "its results have neither BW_average nor t_avg", f"pass {_FILE} of a run without --output")
    return perftest.row(where, size, half)


def _times(results: _Results, where: str) -> dict[str, Printed]:
    named = {
        "t_avg": results.t_avg,
        "t_typical": results.t_typical,
        "t_min": results.t_min,
        "t_max": results.t_max,
        "p99": results.percentile_99,
    }
    return {name: _number(value, where) for name, value in named.items() if value is not None}


def _unit(results: _Results, where: str) -> float:
    """GB/s of one unit of BW_average."""
    by_messages = (results.MsgRate or 0.0) * 1e6 * results.MsgSize / 1e9
    units = (rates.MEBIBYTES, rates.GIGABITS) if by_messages else ()
    rate = results.BW_average or 0.0
    unit = next((unit for unit in units if abs(rate * unit / by_messages - 1) <= _WITHIN), None)
    if unit is None:
        refuse(
            where,
            "its unit is not known: BW_average fits MsgRate neither in MiB/sec nor in Gb/sec",
            "import the text output, which names its unit",
        )
    return unit


def _number(value: float, where: str) -> Printed:
    if not 0 <= value <= MOST:
        refuse(where, f"{value} is not a time or a rate")
    return Printed(value, 0.005)
