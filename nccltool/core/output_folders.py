"""Folders that the user names for what comes out of a run: known to take files before anything is started."""

import tempfile
from pathlib import Path

from nccltool.core.errors import BadInput


def folder(option: str, name: str) -> str:
    """Make it, and its whole name, since ranks may begin elsewhere. Raises BadInput when it takes no files."""
    try:
        path = Path(name).absolute()
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{option} {name}: no file can be made there: {reason}", "name another folder") from error
    return str(path)
