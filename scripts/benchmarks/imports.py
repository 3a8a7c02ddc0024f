"""How published results are imported: a second, independent reader of their rows is the yardstick.

`scripts/bench imports --folder DIR` reads the files of tests/data/*_results.jsonl, which name them by
repository, commit, path, and blob, from DIR/OWNER+NAME/PATH. Without a folder it reads the samples of the tests.
"""

import argparse
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import extent, strict_table
from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Report, Told
from nccltool.interop.importers.base import NotTold, OperationNotTold

ROOT = Path(__file__).parents[2]
LISTS = sorted((ROOT / "tests/data").glob("*_results.jsonl"))
_RANKS = 4
"""For files that do not tell how many ranks they are of."""
SAMPLES = ROOT / "tests/interop/importers/samples"
FILES = int(extent.of("100000", "5"))
Numbers = Counter[tuple[int, float, float, float]]
"""(bytes, time, algbw, busbw) of the placements of rows, as printed"""


@dataclass
class Figures:
    """What came of the files."""

    files: int = 0
    imported: int = 0
    measurements: int = 0
    asked: int = 0
    """Files that were imported once --ranks was given."""
    unnamed: list[str] = field(default_factory=list)
    """Files that do not name their operation: --op is asked for."""
    joined: int = 0
    """Rows that only the importer read, because they were torn."""
    differences: list[str] = field(default_factory=list)
    """Files with numbers that the second reader does not find."""
    lost: list[str] = field(default_factory=list)
    """Files with rows that the second reader finds and the importer neither has nor names as missing."""
    named: list[str] = field(default_factory=list)
    """Files with rows that the importer names as missing."""
    refused: Counter[str] = field(default_factory=Counter)
    refused_with_rows: list[str] = field(default_factory=list)


def main(options: Sequence[str] = ()) -> bool:
    """Whether no file differs and no row is lost in silence."""
    parser = argparse.ArgumentParser("scripts/bench imports", description=__doc__)
    parser.add_argument("--folder", type=Path, help="where the published files are")
    folder = parser.parse_args(options).folder
    figures = Figures()
    for name, data in list(_published(folder) if folder else _samples())[:FILES]:
        _read(name, data, figures)
    print(
        f"{figures.files} files, {figures.imported} imported, {figures.measurements} measurements, of these "
        f"{figures.joined} from torn rows\n{figures.asked} files need --ranks, {len(figures.unnamed)} --op\n"
        f"{len(figures.differences)} files differ, {len(figures.lost)} lost rows "
        f"in silence, {len(figures.named)} have rows that are named as missing\n"
        f"{sum(figures.refused.values())} refused, {len(figures.refused_with_rows)} of them with rows"
    )
    for why, count in figures.refused.most_common():
        print(f"  {count} x {why}")
    for title in ("differences", "lost", "unnamed", "refused_with_rows"):
        for name in getattr(figures, title):
            print(f"{title}: {name}")
    return not figures.differences and not figures.lost


def _published(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The files of the lists that are there and are what the lists mean."""
    for line in [line for one in LISTS for line in one.read_text().splitlines()]:
        one = json.loads(line)
        file = folder / one["repository"].replace("/", "+") / one["path"]
        if file.is_file():
            data = file.read_bytes()
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
            if blob == one["blob"]:
                yield f"{one['repository']}/{one['path']}", data


def _samples() -> Iterator[tuple[str, bytes]]:
    for file in sorted(SAMPLES.glob("*.txt")):
        yield file.name, file.read_bytes()


def _read(name: str, data: bytes, figures: Figures) -> None:
    figures.files += 1
    text = data.decode(errors="replace")
    halves = strict_table.halves(text)
    strict = Counter((half.bytes, float(half.time), float(half.algbw), float(half.busbw)) for half in halves)
    try:
        tests, has_asked = _imported(data, name)
    except OperationNotTold:
        figures.unnamed.append(name)
        return
    except BadInput as refused:
        why = re.sub(r"\d+", "N", refused.message.removeprefix(name)).lstrip(", :N")
        figures.refused[re.sub(r"'.*'|N, line N", "...", why)[:90]] += 1
        if strict or strict_table.other_rows(text):
            figures.refused_with_rows.append(f"{name}: {refused.message}")
        return
    found = _numbers(tests)
    figures.imported += 1
    figures.asked += has_asked
    figures.measurements += found.total()
    if strict:
        more, fewer = _numbers_of(found - strict), _numbers_of(strict - found)
    else:
        rows, others = sum(len(test.rows) for test in tests), strict_table.other_rows(text)
        more, fewer = max(rows - others, 0), max(others - rows, 0)
    is_joined = any(" joined, from line" in said for test in tests for said in test.said)
    figures.joined += more if is_joined else 0
    if more and not is_joined:
        figures.differences.append(name)
    is_named = any(test.missing or test.stopped for test in tests)
    if fewer:
        (figures.named if is_named else figures.lost).append(name)


def _imported(data: bytes, name: str) -> tuple[Sequence[Report], bool]:
    """The tests, and whether the file leaves it open how many ranks they are of. Raises BadInput."""
    try:
        return importers.read(data, name, Told()), False
    except NotTold:
        return importers.read(data, name, Told(ranks=_RANKS)), True


def _numbers(tests: Sequence[Report]) -> Numbers:
    return Counter(
        (row.bytes, half.time.value, half.algbw.value, half.busbw.value)
        for test in tests
        for row in test.rows
        for half in row.halves
    )


def _numbers_of(numbers: Numbers) -> int:
    """How many there are; nan equals nothing, so that it is counted by none."""
    return sum(count for key, count in numbers.items() if all(number == number for number in key))
