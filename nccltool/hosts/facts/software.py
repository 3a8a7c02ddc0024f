"""Software on a host: configuration files and others that settings name, libraries, plugins, versions."""

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import NOT_READ, Count, Flag, Setting, Text, Texts, known


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


_SHARED = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "fuse.ceph", "wekafs", "panfs", "9p", "cifs", "smb3")


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

    @property
    def is_shared(self) -> bool:
        """Several hosts may have its file system in common; such a one is slow. Raises NotKnown."""
        return known(self.fstype) in _SHARED


class Library(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A shared library on disk, looked at without loading it."""

    path: str
    """As found on the search path."""
    real_path: Text = NOT_READ
    """Behind symbolic links."""
    origin: str
    """`wheel`, `LD_PRELOAD`, `LD_LIBRARY_PATH`, `ldconfig`, `system` (default folders), `conda`, `variable` (a
    NCCL_*_PLUGIN is a path), or `vendor` (a well-known folder that the loader does not search by itself)."""
    version: Text = NOT_READ
    """libnccl: `2.27.3`; aws-ofi-nccl: its release."""
    size_bytes: Count = NOT_READ
    """0 = an empty file, e.g. a mount that failed."""


class Plugin(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A plugin that NCCL could load. Source: the folders that the loader searches."""

    library: Library
    name: str
    """File name, e.g. `libnccl-net-ofi.so`."""
    symbols: Texts = NOT_READ
    """Plugin tables that it exports: ncclNetPlugin_v10, ncclCollNetPlugin_v10, ncclTunerPlugin_v4, ..."""


class Versions(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Software, from files and package metadata; nothing is imported or loaded. '' = not installed."""

    nccltool: str = ""
    python: Text = NOT_READ
    torch: Text = NOT_READ
    """e.g. `2.13.0+cu130`. Source: the metadata of the package."""
    torch_cuda: Text = NOT_READ
    """CUDA of the torch build, e.g. `13.0`; '' = a build without CUDA. Source: torch/version.py, as text."""
    torch_hip: Text = NOT_READ
    """HIP of the torch build, e.g. `6.4.43482-0f2d60242`; '' = a build without HIP. What such a torch calls
    NCCL is RCCL. Source: torch/version.py, as text."""
    rccl: Text = NOT_READ
    """The release of NCCL that RCCL says it has, in the librccl of torch or of /opt/rocm."""
    nccl: Text = NOT_READ
    """The libnccl that torch here would load: the wheel nvidia-nccl-cu*, else the first on the loader path."""
    nccl_source: str = ""
    """Where `nccl` was taken from."""
    libnccl: tuple[Library, ...] | Unknown = NOT_READ
    """Every libnccl.so.2 that can be reached, in the order of the loader."""
    packages: tuple[Setting, ...] | Unknown = NOT_READ
    """torch, megatron-core and nvidia-* wheels with their versions, and the series of Open MPI."""
    ofed: Text = NOT_READ
    """Version of mlx5_core where it names one (DOCA / MLNX_OFED); '' = the kernel's own driver."""
    libfabric: Text = NOT_READ
    """Path of libfabric.so.1; '' = none."""
    glibc: Text = NOT_READ
    os: Text = NOT_READ
    """PRETTY_NAME of /etc/os-release."""
