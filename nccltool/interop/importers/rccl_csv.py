"""The CSV files of rccl-tests -Z csv -x FILE: a line for each size and placement.

Records are those of its JSON. Builds with MPI have columns for nodes and ranks; some versions leave `nodes` out of
the heading, and not of the rows (Reporter::writeFile in src/common.cu).
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nccltool.core.text import counted
from nccltool.interop.importers import rates, rccl_json
from nccltool.interop.importers.base import Report, Told, refuse

_MARK = re.compile(r"numCycle\s*,\s*collective\s*,")
_TAIL = ("size", "type", "redop", "inplace", "time", "algbw", "busbw", "#wrong")
_HEADINGS = (
    ("numcycle", "collective", "nodes", "ranks", "rankspernode", "gpusperrank", *_TAIL),
    ("numcycle", "collective", "ranks", "rankspernode", "gpusperrank", *_TAIL),
    ("numcycle", "collective", "gpus", *_TAIL),
)
_KEYS = {
    "numcycle": "numCycle",
    "collective": "name",
    "rankspernode": "ranksPerNode",
    "gpusperrank": "gpusPerRank",
    "inplace": "inPlace",
    "algbw": "algBw",
    "busbw": "busBw",
    "#wrong": "wrong",
}
_TEXTS = ("name", "type", "redop", "wrong")
_RATES = ("time", "algBw", "busBw")


def recognises(content: str) -> bool:
    return _MARK.match(content) is not None


def _cells(line: str) -> list[str]:
    """None of a line that is no CSV, such as one with a carriage return in it."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def read(content: str, where: str, told: Told) -> tuple[Report, ...]:
    """The test in a file. Raises BadInput."""
    text = rates.lines(content)
    if not text.whole:
        refuse(where, "it ends inside its heading")
    heading = tuple(word.strip().lower() for word in text.whole[0][1].split(","))
    if heading not in _HEADINGS:
        refuse(f"{where}, line 1", f"the columns are not those of rccl-tests -Z csv: {', '.join(heading)}")
    records, torn = [], []
    for number, line in text.whole[1:]:
        if line.strip():
            record = _record(heading, _cells(line))
            records += [record] if record else []
            torn += [] if record else [f"line {number}: {line[:80]}"]
    if not records:
        refuse(where, "it contains no results")
    reports = rccl_json.read(records, where, told)
    found = [rates.cut(where, f"{counted(len(torn), 'row')} cannot be read", torn)] if torn else []
    found += [rates.cut(where, f"it ends inside line {text.cut}")] if text.cut is not None else []
    return tuple(replace(report, tool="rccl-tests (CSV)", found=(*report.found, *found)) for report in reports)


def _record(heading: Sequence[str], fields: Sequence[str]) -> Mapping[str, Any] | None:
    """A record as the JSON has it; None = the row is torn."""
    names = list(heading)
    if len(fields) == len(names) + 1 and names[2] == "ranks":
        names.insert(2, "nodes")
    if len(fields) != len(names):
        return None
    record: dict[str, Any] = {}
    for name, text in zip((_KEYS.get(name, name) for name in names), fields, strict=True):
        value = text.strip()
        number = rates.number(value) if name in _RATES else None
        record[name] = value if name in _TEXTS else number.value if number else rates.whole_bytes(value)
    return None if None in record.values() else record
