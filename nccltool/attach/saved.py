"""What was seen of a job, saved in a folder without secrets, so that it can be looked at elsewhere."""

from pathlib import Path

import msgspec

from nccltool.attach.seen.job import JobLook
from nccltool.core import documents, redact, user_files, written_files
from nccltool.core.documents import SCHEMA
from nccltool.core.errors import BadInput, ResultNotWritten

FILE = "look.json"
_LARGEST = 512 << 20


class SavedLook(msgspec.Struct, kw_only=True):
    """The document of a saved look."""

    look: JobLook
    schema: int = SCHEMA
    form: str = "look"


def save(folder: str, look: JobLook) -> None:
    """Raises BadInput, ResultNotWritten."""
    path = Path(user_files.folder("--save", folder)) / FILE
    try:
        written_files.replace(path, written(look).encode(), written_files.PRIVATE)
    except OSError as error:
        raise ResultNotWritten(
            f"--save {path} cannot be written: {error.strerror}", "name another folder"
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
    text = user_files.contents(file, "--from", remedy="name a folder that --save wrote", largest=_LARGEST)
    saved = documents.decoded(text, f"--from {file}", SavedLook, "a saved look", "name a folder that --save wrote")
    if saved.form != "look":
        raise BadInput(f"--from {file} is a document of form {saved.form!r}", "name a folder that --save wrote")
    return saved.look
