"""LOOK at results of other tools: what nccl-tests, rccl-tests, and other benchmarks print and write.

A file that is cut, a column that is not known and a row that cannot be read are refused or become a finding:
numbers that were guessed cannot be told from numbers that were measured.
"""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import nccltool.interop.importers.inspector as inspector
import nccltool.interop.importers.mpigraph as mpigraph
import nccltool.interop.importers.nccl_json as nccl_json
import nccltool.interop.importers.nearest as nearest
import nccltool.interop.importers.nvbandwidth as nvbandwidth
import nccltool.interop.importers.osu as osu
import nccltool.interop.importers.param as param
import nccltool.interop.importers.perftest as perftest
import nccltool.interop.importers.perftest_json as perftest_json
import nccltool.interop.importers.rccl_csv as rccl_csv
import nccltool.interop.importers.rccl_json as rccl_json
import nccltool.interop.importers.superbench as superbench
import nccltool.interop.importers.text as text
import nccltool.interop.importers.writers as writers
from nccltool.core import archives, json_file_logs, plugins
from nccltool.core.text import counted
from nccltool.interop.importers.base import (
    GuardedImporter,
    Half,
    Importer,
    NotTold,
    OperationNotTold,
    Report,
    Row,
    Told,
    Unrecognised,
    refuse,
)

__all__ = [
    "Half",
    "NotTold",
    "OperationNotTold",
    "Report",
    "Row",
    "SourceFile",
    "Told",
    "Unrecognised",
    "read",
    "sources",
]

_JSON = re.compile(r"\s*(\{|\[\s*[\[{\]])")
"""A text can begin with a bracket too: mpirun --tag-output writes [1,0]<stdout>: before each line."""
_TABLE = re.compile(r"^#\s+size\s+count\s", re.MULTILINE)
"""The heading of nccl-tests, in a text that has other benchmarks too."""
_OTHERS: tuple[Importer, ...] = (
    osu,
    perftest,
    perftest_json,
    mpigraph,
    param,
    inspector,
    rccl_csv,
    superbench,
    nvbandwidth,
)
"""Benchmarks other than nccl-tests and rccl-tests: each tells by its own mark whether a text is its own."""


_OF_RESULTS = {"results", "size", "name", "version"}
"""What a JSON file of nccl-tests has, or a record of rccl-tests; what else is missing in one is named."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""What PowerShell's > writes."""
_PRINTED = re.compile(r"#\s+size\s+count\s|# nThread \d|# Using devices|# OSU \S|#bytes\s+#iterations")
_KEY = re.compile(r"[A-Za-z_]\w{0,40}", re.ASCII)
_MOST_LINES = 10_000
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file with results, which can be one of an archive."""

    name: str
    content: bytes
    tests: tuple[Report, ...]


def read(data: bytes, where: str, told: Told) -> tuple[Report, ...]:
    """The tests in a file or an archive. Raises BadInput that names the place and what was expected there."""
    return tuple(test for source in sources(data, where, told) for test in source.tests)


def sources(data: bytes, where: str, told: Told) -> tuple[SourceFile, ...]:
    """The files with results: the one that was given, or those in it. Raises BadInput as `read` does."""
    files = archives.files(data, where)
    if len(files) == 1:
        name, content = files[0]
        return (SourceFile(name, content, _of_file(content, name, told)),)
    found: list[SourceFile] = []
    others: list[str] = []
    for name, content in files:
        try:
            found.append(SourceFile(name, content, _of_file(content, name, told)))
        except Unrecognised:
            others.append(name.removeprefix(f"{where}, "))
    if not found:
        why = f"none of its {counted(len(files), 'file')} contains a result of {nearest.LOOKED_FOR}"
        refuse(where, why, "name the file with the output")
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        note = f"passed over, because no result is in them: {', '.join(others[:_SHOWN])}{more}"
        first, *rest = found[0].tests
        found[0] = replace(found[0], tests=(replace(first, said=(*first.said, note)), *rest))
    return tuple(found)


def _of_file(data: bytes, where: str, told: Told) -> tuple[Report, ...]:
    data = json_file_logs.unwrapped(data, times=False)
    content = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig", errors="replace")
    if not content.strip():
        raise Unrecognised(f"{where}: it is empty; expected a result of {nearest.LOOKED_FOR}", nearest.UNCHANGED)
    if others := _readings(content):
        tests = tuple(test for other, own in others for test in other.read(own, where, told))
        return (*tests, *text.read(content, where, told)) if _TABLE.search(content) else tests
    if not _JSON.match(content):
        return text.read(content, where, told)
    whole = _decoded(content, where)
    parts = whole if isinstance(whole, list) else [whole]
    if parts and not any(isinstance(part, dict) and _OF_RESULTS & part.keys() for part in parts):
        problem, remedy = nearest.of(content)
        raise Unrecognised(f"{where}: {problem}", remedy)
    if any(isinstance(part, dict) and "results" in part for part in parts):
        places = [where] if whole is not parts else [f"{where}, [{index}]" for index in range(len(parts))]
        return tuple(nccl_json.read(part, place, told) for part, place in zip(parts, places, strict=True))
    return rccl_json.read(whole, where, told)


def _readings(content: str) -> list[tuple[Importer, str]]:
    """Who reads what: the text as it is, or where nobody knows it, that of each writer without its labels."""
    known = (*_OTHERS, *_of_plugins())
    plain = [(other, content) for other in known if other.recognises(content)]
    if plain or _JSON.match(content):
        return plain
    return [(other, own) for own in writers.texts(content) for other in known if other.recognises(own)]


def _of_plugins() -> Iterator[Importer]:
    """Importers of other packages: a failure refuses what one called its own, and nothing else."""

    def refused(why: str) -> tuple[Report, ...]:
        raise plugins.refused(why)

    for module in plugins.usable("importers").values():
        if plugin := plugins.origin(module):
            yield GuardedImporter(
                recognises=plugins.guarded(plugin, module.recognises, lambda why: False),
                read=plugins.guarded(plugin, module.read, refused),
            )


def _decoded(content: str, where: str) -> object:
    try:
        return json.loads(content, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        if key := _key_of_output(content):
            remedy = f"pass the lines themselves: jq -r .{key} FILE | nccltool import -"
            refuse(where, f"each line is JSON, and the output is under the key {key}", remedy)
        refuse(f"{where}, line {error.lineno}", f"broken JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        refuse(where, f"broken JSON: {error}")


def _key_of_output(content: str) -> str | None:
    """Under which key a log of JSON lines has what a benchmark printed; None = it is no such log."""
    for line in content.split("\n", _MOST_LINES)[:_MOST_LINES]:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for key, value in entry.items() if isinstance(entry, dict) else ():
            if isinstance(value, str) and _PRINTED.search(value) and _KEY.fullmatch(key):
                return str(key)
    return None


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not a number in JSON")
