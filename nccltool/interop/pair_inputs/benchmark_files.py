"""Results of nccl-tests, OSU and other benchmarks that ran on two nodes each: an encounter a test.

The nodes are those that the file lists, else those of its name: n1_n2.txt.
"""

import re
from dataclasses import replace
from pathlib import PurePath
from statistics import fmean

from nccltool.interop import importers
from nccltool.interop.importers import Report, Told
from nccltool.interop.pair_inputs.base import PairFile, members, refuse
from nccltool.localize.encounter import Encounter

_LATENCY = ("ping_pong",)
_SUFFIXES = re.compile(r"(\.(txt|out|log|json|csv|gz|xz|zst|bz2))+$", re.IGNORECASE)
_PROGRAM = re.compile(
    r"^(osu|nccl|rccl|bibw|bw|all_?reduce(_perf)?|sendrecv(_perf)?|mpi|perf|pair)[_.-]+", re.IGNORECASE
)
_BETWEEN = ("__", "--", "_vs_", "-vs-", "_to_", "-to-", "_and_", "-and-", ",", "+", "~", "_", "-")


def read(data: bytes, where: str, first_round: int) -> PairFile:
    """The tests in a file. Raises BadInput."""
    found, notes = [], []
    for number, report in enumerate(_reports(data, where)):
        if report.op in _LATENCY:
            notes.append(f"{report.where}: it measures latency; left out")
            continue
        found.append(_encounter(report, where, first_round + number))
    return PairFile(encounters=tuple(found), notes=tuple(notes))


def _reports(data: bytes, where: str) -> tuple[Report, ...]:
    """The printed bus bandwidths count, so that it does not matter what else a file leaves open."""
    told = Told()
    for _ in range(2):
        try:
            return importers.read(data, where, told)
        except importers.OperationNotTold:
            told = replace(told, op="all_reduce")
        except importers.NotTold:
            told = replace(told, ranks=2)
    return importers.read(data, where, told)


def _encounter(report: Report, where: str, number: int) -> Encounter:
    names = report.hosts if report.hosts and len(report.hosts) > 1 else nodes_of_name(where)
    if names is None:
        hint = f"it ran on {report.hosts[0]} alone" if report.hosts else "it does not name its nodes"
        refuse(report.where, hint, "name the file after its two nodes, for example n1_n2.txt")
    rate = _rate(report)
    reason = next(iter((*report.failures, *report.stopped)), "no measured size") if rate is None else None
    return Encounter(members=members(report.where, names), busbw_bytes_per_s=rate, round=number, reason=reason)


def _rate(report: Report) -> float | None:
    """Of the largest size: the mean of its placements."""
    sizes = [(row.bytes, [half.busbw.value for half in row.halves if half.is_measured]) for row in report.rows]
    measured = [(size, rates) for size, rates in sizes if any(rate > 0 for rate in rates)]
    if not measured:
        return None
    return fmean(rate for rate in max(measured)[1] if rate > 0) * 1e9


def nodes_of_name(where: str) -> tuple[str, str] | None:
    """The two nodes that a file is named after; None = it is not clear which."""
    stem = _SUFFIXES.sub("", PurePath(where.rpartition(", ")[2]).name)
    while (shorter := _PROGRAM.sub("", stem, count=1)) != stem:
        stem = shorter
    for sign in _BETWEEN:
        parts = stem.split(sign)
        half = len(parts) // 2
        if len(parts) == 2 or (len(parts) % 2 == 0 and sign in "_-"):  # gpu-01-gpu-02
            a, b = sign.join(parts[:half]), sign.join(parts[half:])
            if a and b and a != b:
                return a, b
    return None
