"""LOOK at measurements of pairs of nodes, whoever made them: CSV, mpiGraph, nccl-tests, OSU, runs of pairs.

What cannot be read for sure is refused with its file and line; nothing is guessed.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nccltool.core import archives, run_directory, user_files
from nccltool.core.errors import BadInput
from nccltool.core.text import counted, named
from nccltool.interop.importers import Unrecognised
from nccltool.interop.pair_inputs import benchmark_files, csv_rows, mpigraph_matrix
from nccltool.interop.pair_inputs.base import MOST, PairFile, refuse
from nccltool.localize import document
from nccltool.localize.encounter import Encounter

STANDARD_INPUT = "-"
_MOST_FILES = 100_000
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_SHOWN = 3
_TABLES = (".csv", ".tsv")
_MIXED = "pairs of nodes and of ranks inside nodes (--within) cannot be compared"
_WHOLE_FOLDER = "name a folder with one result for each pair, or a CSV file with the columns a,b,busbw"


@dataclass(frozen=True, kw_only=True, slots=True)
class PairInput:
    """What all files hold together."""

    encounters: tuple[Encounter, ...]
    sources: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What was left out, and why."""
    missing: tuple[str, ...] = ()
    """What should be there, and is not."""
    is_within: bool = False
    """Ranks met inside their nodes."""


def read(words: Sequence[str], runs: Path) -> PairInput:
    """The measurements in files, folders, runs under `runs`, and - for standard input. Raises BadInput."""
    if not words or "" in words:
        raise BadInput("a FILE is empty", "name a CSV file, a folder of results, or - for standard input")
    found: list[Encounter] = []
    notes: list[str] = []
    missing: list[str] = []
    read_once: set[str] = set()
    kinds: set[bool] = set()
    for word in words:
        place = os.path.realpath(word)
        if place in read_once:
            notes.append(f"{word} is named twice, and counted once")
            continue
        read_once.add(place)
        one = _of_word(word, runs)
        kinds.add(one.is_within)
        if len(kinds) > 1:
            raise BadInput(f"{word}: {_MIXED}", "pass each kind alone")
        after = max((known.round for known in found), default=-1) + 1 if found else 0
        found += [replace(each, round=each.round + after) for each in one.encounters] if after else one.encounters
        notes += one.notes
        missing += one.missing
    if len(found) > MOST:
        raise BadInput(f"the files have more than {MOST} measurements", "pass fewer files")
    return PairInput(
        encounters=tuple(found),
        sources=tuple(words),
        notes=tuple(notes),
        missing=tuple(missing),
        is_within=True in kinds,
    )


def _of_word(word: str, runs: Path) -> PairFile:
    if word == STANDARD_INPUT:
        return _of_data(user_files.standard_input(), "standard input", 0)
    if not os.path.lexists(word):
        if os.sep in word or Path(word).suffix:
            raise BadInput(f"{word}: no such file or run", "name a CSV file, a folder of results, or a run")
        word = str(run_directory.find(runs, word))
    path = Path(word)
    if not path.is_dir():
        return _of_data(user_files.contents(path), word, 0)
    if run_directory.has_document(path):
        return _of_run(*run_directory.document(path))
    return _of_folder(path)


def _of_run(data: bytes, where: str) -> PairFile:
    run = document.from_json(data, where)
    if not run.encounters:
        refuse(where, "the run measured no pair", "name another run of nccltool pairs")
    return PairFile(encounters=run.encounters, is_within=run.is_within)


def _of_data(data: bytes, where: str, first_round: int, is_one_of_many: bool = False) -> PairFile:
    """One file, whatever it is. Raises BadInput; Unrecognised where nothing says what it is."""
    if not data.strip():
        raise Unrecognised(f"{where}: it is empty", "pass a CSV file with the columns a,b,busbw")
    if data.lstrip()[:1] == b"{" and b'"schema"' in data[:4096]:
        return _of_run(data, where)
    files = archives.files(data, where)
    if len(files) > 1:
        return _together(_several(((content, name) for name, content in files), first_round), where)
    name, data = files[0]
    content = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig", errors="replace")
    if mpigraph_matrix.recognises(content):
        return mpigraph_matrix.read(content, name)
    try:
        return benchmark_files.read(data, name, first_round)
    except Unrecognised:
        if is_one_of_many and not name.lower().endswith(_TABLES):
            raise
        return csv_rows.read(content, name)


def _of_folder(folder: Path) -> PairFile:
    """All files in a folder and below, in the order of their names."""
    files = list(_files(folder))
    if not files:
        refuse(str(folder), "the folder has no files", _WHOLE_FOLDER)
    if len(files) > _MOST_FILES:
        refuse(str(folder), f"the folder has more than {_MOST_FILES} files", "name one with fewer files")
    return _together(_several(((user_files.contents(file), str(file)) for file in files), 0), str(folder))


def _files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and (Path(here) / name).is_file():
                yield Path(here) / name


def _several(contents: Iterator[tuple[bytes, str]], first_round: int) -> Iterator[tuple[PairFile | None, str]]:
    """Each file by itself, one after the other in time; None = nothing says that it is a result."""
    after = first_round
    for data, where in contents:
        try:
            if b"\0" in data[:1024] and not data.startswith(_UTF_16):
                raise Unrecognised(where)
            found = _of_data(data, where, after, is_one_of_many=True)
        except Unrecognised:
            yield None, where
            continue
        after = 1 + max((one.round for one in found.encounters), default=after)
        yield found, where


def _together(parts: Iterator[tuple[PairFile | None, str]], where: str) -> PairFile:
    found: list[Encounter] = []
    notes: list[str] = []
    missing: list[str] = []
    others: list[str] = []
    kinds: set[bool] = set()
    for part, name in parts:
        if part is None:
            others.append(Path(name).name)
            continue
        found += part.encounters
        notes += part.notes
        missing += part.missing
        kinds.add(part.is_within)
    if len(kinds) > 1:
        refuse(where, _MIXED, "pass each kind alone")
    if others:
        why = "it contains no result" if len(others) == 1 else "they contain no results"
        left_out = f"{counted(len(others), 'file')} left out, because {why}: {named(others, _SHOWN)}"
        notes.append(f"{where}: {left_out}")
    if not found:
        refuse(where, f"none of its files is a result of a pair ({named(others, _SHOWN)})", _WHOLE_FOLDER)
    return PairFile(encounters=tuple(found), notes=tuple(notes), missing=tuple(missing), is_within=True in kinds)
