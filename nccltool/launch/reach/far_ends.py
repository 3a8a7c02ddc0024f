"""What a node process on another host, or the shell that was to start it, says of its end."""

from nccltool.launch import finding_kinds
from nccltool.launch.launchers.base import EndCause

PACKAGE_MISSING = EndCause(
    "No module named '?(?:nccltool|torch|msgspec|numpy)",
    finding_kinds.HOST_MISCONFIGURED,
    "its Python lacks a package",
    "install nccltool there or name the right Python: --remote-python /path/to/venv/bin/python",
)
NO_PYTHON = EndCause(
    "",
    finding_kinds.HOST_MISCONFIGURED,
    "it has no such Python",
    "name one that exists there: --remote-python /path/to/venv/bin/python",
)
UNHEARD = EndCause(
    "^no contact with the runner for ",
    finding_kinds.HOST_LOST,
    "it lost contact with this command and ended its part",
    "check whether this command was suspended (Ctrl-Z) or its host was overloaded; if not, check the network",
)
"""What a node process says: see worker/node/remote.py."""
CANNOT_RUN = (126, 127)
"""Exit codes of a shell that cannot start a program."""
