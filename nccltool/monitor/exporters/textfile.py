"""A file for node_exporter's textfile collector."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.monitor import exposition
from nccltool.monitor.metrics import Sample

SUFFIX = ".prom"
"""The collector reads no others."""


def check(file: str) -> None:
    """Raises BadInput for a name that the collector does not read."""
    path = Path(file)
    if path.suffix != SUFFIX:
        raise BadInput(
            f"--textfile {file}: the collector reads {SUFFIX} files only", f"name it {path.stem}{SUFFIX}"
        )


def write(samples: Iterable[Sample], file: str) -> None:
    """Replace the file in one step, so that no scrape sees half of it. Raises BadInput."""
    check(file)
    try:
        _replace(Path(file), exposition.text(samples))
    except OSError as error:
        raise BadInput(
            f"--textfile {file} cannot be written: {error.strerror}",
            "name a file in the folder of node_exporter's --collector.textfile.directory that you may write to",
        ) from error


def _replace(path: Path, text: bytes) -> None:
    """Two exporters at a time do not write into one temporary file, and the collector does not read that."""
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
