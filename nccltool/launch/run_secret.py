"""The file of --rdzv-secret-file: what commands that were started one by one have in common, and nobody else."""

import os
import stat
from pathlib import Path

from nccltool.core import user_files
from nccltool.core.errors import BadInput

_SHORTEST = 32
"""Characters: 128 bits in hexadecimal digits. A recorded proof can be tried out against shorter ones, and NIST
SP 800-131A asks for 112 bits."""
_LONGEST = 4096
_HOW = "(umask 077; openssl rand -hex 32 > FILE), and copy it to the other hosts"


def read(file: str | None) -> str:
    """The secret in hexadecimal digits; empty = no file. Raises BadInput."""
    if file is None:
        return ""
    where = f"--rdzv-secret-file {file}"
    text = user_files.contents(file, "--rdzv-secret-file", largest=_LONGEST).strip()
    _check_mode(file, where)
    if len(text) < _SHORTEST:
        raise BadInput(f"{where} has {len(text)} characters, and a secret needs {_SHORTEST} or more", _HOW)
    return text.hex()


def _check_mode(file: str, where: str) -> None:
    """A file of root that others may read is root's to judge: so Kubernetes mounts a Secret."""
    about = Path(file).stat()
    others_write = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    others_read = about.st_uid == os.getuid() != 0 and about.st_mode & (stat.S_IRGRP | stat.S_IROTH)
    if others_write or others_read:
        mode, can = stat.S_IMODE(about.st_mode), "write" if others_write else "read"
        raise BadInput(f"{where}: other users can {can} it (mode {mode:03o})", f"chmod 600 {file}")
