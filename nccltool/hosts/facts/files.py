"""Files that settings name, and those that NCCL reads."""

import msgspec

from nccltool.hosts.facts.leaves import NOT_READ, Count, Flag, Text


class ConfFile(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A configuration file that NCCL reads, as it is: nothing is parsed."""

    role: str
    """`NCCL_CONF_FILE`; `home`: .nccl.conf in the home of the password database, where NCCL looks up to 2.29;
    `HOME`: that under $HOME, where 2.32 looks, only when it is another folder; `system`: /etc/nccl.conf."""
    path: str
    exists: Flag = NOT_READ
    text: Text = NOT_READ
    """All of it up to 1 MiB, line ends as in the file; a byte that is not UTF-8 is written `\\xNN`.
    Unknown: missing, or not readable by this user."""
    owner_uid: Count = NOT_READ
    mode: Count = NOT_READ
    """Permission bits, e.g. 0o644."""


class FileFact(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A file or folder that a setting names, or whose presence says something."""

    path: str
    asked_by: str
    """The variable that names it; `well-known` for the others."""
    exists: Flag = NOT_READ
    is_dir: Flag = NOT_READ
    readable: Flag = NOT_READ
    writable: Flag = NOT_READ
    parent_writable: Flag = NOT_READ
    """A file could be made in its folder (False also when the folder is missing)."""
    fstype: Text = NOT_READ
    """Of the file system that holds it, e.g. `ext4`, `nfs4`, `lustre`."""
    size_bytes: Count = NOT_READ
    text: Text = NOT_READ
    """Only of NCCL_TOPO_FILE and NCCL_GRAPH_FILE, up to 1 MiB."""
