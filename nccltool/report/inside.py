"""Runs inside HTML reports: found in files that the user names, read, and saved as runs of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nccltool.core import run_directory, user_files
from nccltool.core.errors import BadInput
from nccltool.core.written_files import PRIVATE, replace
from nccltool.monitor import run_list
from nccltool.preflight.result import Preflight
from nccltool.probe.result import Run
from nccltool.report import html_data

_HEAD = b"<!doctype html>"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunInside:
    """A run of a report, and its document."""

    run: Run | Preflight
    document: bytes


def are_reports(names: Sequence[str]) -> tuple[bool, ...]:
    """Whether each file is a page of HTML; pipes are not looked into."""
    return tuple(map(_is_page, names))


def _is_page(name: str) -> bool:
    try:
        path = Path(name)
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_HEAD)).lower() == _HEAD
    except (OSError, ValueError):  # whoever reads it says what is wrong
        return False


def runs(name: str) -> tuple[RunInside, ...]:
    """Those of a report. Raises BadInput."""
    data = user_files.contents(name)
    if not html_data.is_report(data):
        raise BadInput(
            f"{name} is an HTML page, but no report of nccltool", "pass a file that nccltool report wrote"
        )
    return tuple(
        RunInside(run=run_list.decoded(one.json, f"{name}: run {one.name}"), document=one.json)
        for one in html_data.documents(data, name)
    )


def keep(one: RunInside, base: Path) -> Path:
    """Save it under its id; a run that is there already stays. Raises BadInput, RunDirError."""
    name = one.run.info.id
    if not name or Path(name).name != name or name.startswith("."):
        raise BadInput(f"the run {name!r} has no id that can be a folder", "the report was changed by hand")
    folder = base / name
    if not folder.exists():
        run_directory.make(folder)
        replace(folder / "job.json", b"{}\n", PRIVATE)
        run_directory.keep(folder, one.document.decode())
    return folder
