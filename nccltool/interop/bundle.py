"""One archive of all that somebody else needs to help: facts, findings, runs, logs; secrets are taken out.

What could not be read is in the manifest with the reason, not left out in silence.
"""

import hashlib
import io
import json
import os
import socket
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path

from nccltool import __version__
from nccltool.attach import saved
from nccltool.core import external_commands, redact, written_files
from nccltool.core.errors import BadInput, NccltoolError
from nccltool.core.unknown import Unknown
from nccltool.doctor import run as doctor_run
from nccltool.doctor.options import DoctorOrder
from nccltool.doctor.views import json as doctor_document
from nccltool.hosts import reader
from nccltool.hosts.views import table as render_facts
from nccltool.triage import jobs as triage_jobs
from nccltool.triage.incident import report_to_json

PATIENCE_S = 20.0
"""For one external command."""
HEAD, TAIL = 8 * 2**20, 24 * 2**20
"""Bytes of a longer file that are kept: how it began, and how it ended."""
COMMANDS = {
    "kernel.log": ("dmesg", "--time-format", "iso"),
    "nvidia-smi.txt": ("nvidia-smi", "-q"),
    "topology.txt": ("nvidia-smi", "topo", "-m"),
    "rdma.txt": ("ibv_devinfo", "-v"),
    "addresses.txt": ("ip", "-statistics", "address"),
    "routes.txt": ("ip", "route", "show", "table", "all"),
}
README = """This archive was made by `nccltool bundle`.

manifest.json   list of files, SHA-256 sums, number of secrets removed, and files that could not be read
facts.json      facts of the host; to check them again: nccltool doctor --facts facts.json
doctor.json     findings of nccltool doctor on this host
runs/ID/        runs; to show one: nccltool runs runs/ID
logs/           log files given with --add-log
triage.json     result of nccltool triage on these logs
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class BundlePart:
    """A file of the archive, or why it is not there."""

    name: str
    text: str = ""
    missing: str = ""
    cut: int = 0
    """Bytes of its middle that were left out."""


def default_name() -> str:
    return f"nccltool-bundle-{socket.gethostname()}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.tar.gz"


def bundle(
    runs: Sequence[Path],
    logs: Sequence[Path],
    command: tuple[str, ...],
    file: Path,
    looks: Sequence[Path] = (),
) -> tuple[int, tuple[BundlePart, ...]]:
    """Write the archive: (secrets that were taken out, parts that are missing). `looks`: folders that
    `nccltool attach --save` wrote. Raises BadInput."""
    entries: list[dict[str, object]] = []
    secrets, missing = 0, []
    root = file.name.removesuffix(".gz").removesuffix(".tar")
    try:
        with (
            written_files.replacing(file, written_files.PRIVATE) as handle,
            tarfile.open(fileobj=handle, mode="w:gz", compresslevel=6) as archive,
        ):
            for part in (*_parts(runs, logs, command), *_looks(looks)):
                if part.missing:
                    missing.append(part)
                    entries.append({"name": part.name, "missing": part.missing})
                    continue
                text, removed = redact.redacted(part.text)
                secrets += removed
                data = text.encode(errors="backslashreplace")
                _add(archive, f"{root}/{part.name}", data)
                digest = hashlib.sha256(data).hexdigest()
                counts = {"secrets_removed": removed, "bytes_cut": part.cut}
                entries.append({"name": part.name, "sha256": digest, **counts})
            manifest = {"schema": 1, "kind": "bundle", "nccltool": __version__, "parts": entries}
            _add(archive, f"{root}/manifest.json", json.dumps(manifest, indent=2).encode() + b"\n")
    except OSError as error:
        raise BadInput(
            f"--output {file} cannot be written: {error.strerror}", "name a file in a folder with free space"
        ) from error
    return secrets, tuple(missing)


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    info.mtime = int(datetime.now(UTC).timestamp())
    archive.addfile(info, io.BytesIO(data))


def _parts(runs: Sequence[Path], logs: Sequence[Path], command: tuple[str, ...]) -> Iterator[BundlePart]:
    yield BundlePart(name="README.txt", text=README)
    yield _tried("facts.json", lambda: render_facts.render(reader.take(), "json"))
    yield _tried("doctor.json", lambda: doctor_document.to_json(doctor_run.diagnose(DoctorOrder(), command)))
    packages = {f"{dist.metadata['Name']}=={dist.version}\n" for dist in metadata.distributions()}
    yield BundlePart(name="packages.txt", text="".join(sorted(packages, key=str.lower)))
    for name, argv in COMMANDS.items():
        yield _said(name, argv)
    for run in runs:
        for file in sorted(run.rglob("*")):
            if file.is_file() and not file.is_symlink():  # what a link leads to is not of the run
                yield _file(f"runs/{run.name}/{file.relative_to(run)}", file)
    for log in logs:
        yield _file(f"logs/{log.name}", log)
    if texts := [*(str(run / "log.txt") for run in runs), *map(str, logs)]:
        yield _tried("triage.json", lambda: report_to_json(triage_jobs.report(texts, command)))


def _looks(folders: Sequence[Path]) -> Iterator[BundlePart]:
    """Looks at running jobs, and the verdicts of that time."""
    for folder in folders:
        name, look = f"attach/{folder.resolve().name}", str(folder)
        yield _tried(f"{name}/{saved.FILE}", partial(_look_of, look))
        if (verdict := folder / saved.VERDICT).is_file():
            yield _file(f"{name}/{saved.VERDICT}", verdict)


def _look_of(folder: str) -> str:
    return saved.written(saved.load(folder))


def _tried(name: str, make: Callable[[], str]) -> BundlePart:
    try:
        return BundlePart(name=name, text=make())
    except NccltoolError as error:
        return BundlePart(name=name, missing=error.message)


def _said(name: str, argv: Sequence[str]) -> BundlePart:
    done = external_commands.run(argv, PATIENCE_S)
    if isinstance(done, Unknown):
        return BundlePart(name=name, missing=done.reason)
    if done.code:
        said = next(iter(done.err.strip().splitlines()), "")
        return BundlePart(name=name, missing=f"`{' '.join(argv)}`: exit code {done.code} {said}".rstrip())
    return BundlePart(name=name, text=done.out)


def _file(name: str, path: Path) -> BundlePart:
    """A file as text; of a long one the beginning and the end."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            if size <= HEAD + TAIL:
                return BundlePart(name=name, text=file.read().decode(errors="backslashreplace"))
            head = file.read(HEAD)
            file.seek(size - TAIL)
            tail = file.read(TAIL)
    except OSError as error:
        return BundlePart(name=name, missing=f"cannot be read: {error.strerror}")
    cut = size - HEAD - TAIL
    between = f"\n[{cut} bytes left out]\n".encode()
    return BundlePart(name=name, text=(head + between + tail).decode(errors="backslashreplace"), cut=cut)
