"""What was seen of a job, saved in a folder without secrets, so that it can be looked at elsewhere."""

from pathlib import Path

import msgspec

from nccltool.attach.seen.job import JobLook
from nccltool.core import documents, redact, user_files, written_files
from nccltool.core.documents import SCHEMA
from nccltool.core.errors import BadInput, ResultNotWritten

FILE = "look.json"
VERDICT = "attach.json"
"""The JSON document of the verdict at that time; `--from` checks the look itself."""
_REMEDY = "name a folder that --save wrote"
_LARGEST = 512 << 20


class SavedLook(msgspec.Struct, kw_only=True):
    """The document of a saved look."""

    look: JobLook
    schema: int = SCHEMA
    form: str = "look"


def check(folder: str) -> None:
    """Before looking: whether the folder can be written, and holds no look. Raises BadInput."""
    path = Path(user_files.folder("--save", folder))
    if (path / FILE).exists():
        raise BadInput(f"--save {folder} holds a saved snapshot: {FILE}", "name a new folder")


def save(folder: str, look: JobLook, verdict: str) -> None:
    """`verdict`: the JSON document. Raises ResultNotWritten."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        written_files.replace(path / FILE, written(look).encode(), written_files.PRIVATE)
        written_files.replace(path / VERDICT, redact.redacted(verdict)[0].encode(), written_files.PRIVATE)
    except OSError as error:
        raise ResultNotWritten(
            f"--save {folder} cannot be written: {error.strerror}", "name another folder"
        ) from error


def written(look: JobLook) -> str:
    """Lines of source and of logs may hold secrets, and are redacted."""
    plain = msgspec.json.format(msgspec.json.encode(SavedLook(look=look)), indent=1).decode()
    text, _ = redact.redacted(plain)
    return documents.harmless(text) + "\n"


def load(folder: str) -> JobLook:
    """A saved look: its folder, or the file in it. Raises BadInput."""
    path = Path(folder)
    file = path / FILE if path.is_dir() else path
    text = user_files.contents(file, "--from", remedy=_REMEDY, largest=_LARGEST)
    saved = documents.decoded(text, f"--from {file}", SavedLook, "a saved snapshot", _REMEDY)
    if saved.form != "look":
        raise BadInput(f"--from {file} is a document of form {saved.form!r}", _REMEDY)
    if not saved.look.hosts:
        raise BadInput(f"--from {file} has no host", _REMEDY)
    return saved.look
