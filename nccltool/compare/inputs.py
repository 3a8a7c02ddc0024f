"""From words to what is compared: runs by id, folder or file, files of nccl-tests, baselines."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from nccltool.compare import baselines, run_samples
from nccltool.compare.result import RunSample, Side
from nccltool.core import documents, run_directory, user_files
from nccltool.core.documents import this_command
from nccltool.core.errors import BadInput
from nccltool.interop import import_results
from nccltool.interop.finding_kinds import IMPORT_ANOTHER_TEST
from nccltool.interop.importers import Told
from nccltool.interop.importers.base import NotTold
from nccltool.probe.result import Run
from nccltool.train import document

BASELINE = "baseline:"
_LONGEST = 60
_REMEDY = "name runs of nccltool probe or nccltool preflight that measured operations"
_WITHOUT = {"preflight": " that measured no operation across all nodes"}


def side(word: str, base: Path, store: Path) -> Side:
    """What a word names: one run, several with commas between, a file of nccl-tests, or baseline:NAME."""
    if word.startswith(BASELINE):
        return Side(name=word, runs=baselines.Store(store).load(word.removeprefix(BASELINE)).runs)
    runs = [run for part in _parts(word) for run in loaded(part, base)]
    found = {run.info.id: _sample(run) for run in runs}
    short = word if len(found) < 2 or len(word) <= _LONGEST else f"{len(found)} runs, first {next(iter(found))}"
    return Side(name=short, runs=tuple(found.values()))


def _sample(run: Run) -> RunSample:
    """What is compared of a run, with what makes an imported one another test."""
    sample = run_samples.of_run(run.info, run.measurements)
    others = [finding for finding in run.findings if finding.code == IMPORT_ANOTHER_TEST.code]
    texts = (": ".join((finding.message, *finding.evidence)) for finding in others)
    return replace(sample, left_out=(*sample.left_out, *(f"{run.info.id}: {text}" for text in texts)))


def loaded(word: str, base: Path) -> Iterator[Run]:
    """The runs that one word names. Raises BadInput."""
    path = _newest(base) if word == run_directory.LATEST else run_directory.find(base, word)
    if path.is_dir() or _is_ours(path):
        measured = _measured(path)
        if measured is None:
            kind = documents.kind_of(*run_directory.document(path))
            raise BadInput(f"{word} is a run of nccltool {kind}{_WITHOUT.get(kind, '')}", _REMEDY)
        yield document.load(measured)
        return
    for number, imported in enumerate(_imported(word), start=1):
        name = path.name if number == 1 else f"{path.name}#{number}"
        yield replace(imported.run, info=replace(imported.run.info, id=name))  # its id would differ every time


def _imported(word: str) -> tuple[import_results.Imported, ...]:
    """The runs in a file of a benchmark. Raises BadInput."""
    try:
        return import_results.read([word], Told(), this_command())
    except NotTold as error:
        remedy = f"compare the run that this saves: nccltool import {shlex.quote(word)} --ranks N --keep"
        raise BadInput(error.message, remedy) from None


def _newest(base: Path) -> Path:
    """The newest run that measured operations. Raises BadInput."""
    ended = filter(run_directory.has_document, reversed(run_directory.folders(base)))
    if newest := next((folder for folder in ended if _measured(folder)), None):
        return newest
    remedy = "run nccltool probe or nccltool preflight or use another folder: --run-dir"
    raise BadInput(f"no run under {base} measured operations", remedy)


def _measured(path: Path) -> Path | None:
    """The run that measured operations: this one, or the one over all nodes of a preflight; None = neither."""
    kind = documents.kind_of(*run_directory.document(path))
    if kind != "preflight":
        return path if kind == "probe" else None
    ranks = _ranks(path)
    runs = run_directory.inside(path if path.is_dir() else path.parent)
    return next((run for run in filter(run_directory.has_document, runs) if _is_over_all(run, ranks)), None)


def _is_over_all(run: Path, ranks: int | None) -> bool:
    return ranks is not None and _measured(run) is not None and _ranks(run) == ranks


def _ranks(path: Path) -> int | None:
    return documents.decoded(*run_directory.document(path), documents.RunDocument).run.world_size


def _parts(word: str) -> list[str]:
    """A file can have a comma in its name."""
    if os.path.exists(word):  # noqa: PTH110 - Path.exists raises when the name is too long for a file
        return [word]
    parts = [part.strip() for part in word.split(",")]
    if not all(parts):
        raise BadInput(f"{word!r} has an empty item between commas", "name runs as A1,A2,A3")
    return parts


def _is_ours(path: Path) -> bool:
    """Whether a file is a document of nccltool, as far as its beginning tells."""
    try:
        return msgspec.json.decode(user_files.contents(path), type=_Head).kind is not None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


class _Head(msgspec.Struct):
    schema: int
    kind: str | None = None
