"""What one host looks like to a rank: a frozen snapshot that can be saved, and judged elsewhere.

Every leaf is a value or `Unknown(reason)`; nothing is guessed. `()` means looked at and there is none. A part
that groups leaves (Limits, Kernel, ...) is always there; when its source could not be read, each of its leaves
says why. A leaf that a snapshot of an older release lacks is `NOT_READ`. Fields are added, never renamed; a change
that would break a reader raises SCHEMA.

Rules read a leaf with `known(leaf)`, which raises `NotKnown` with the reason when there is no value.

Numbers carry their unit in the name; where there is none, it is a plain count. "Source" names the file that tells.

These are msgspec Structs: frozen dataclasses that load, and are read and written, several times as fast. They are
trees, so the garbage collector need not walk them (gc=False). A changed copy is
`msgspec.structs.replace(host, limits=msgspec.structs.replace(host.limits, nofile_soft=1024))`.
"""

from nccltool.hosts.facts.amd import Amd, AmdGpu
from nccltool.hosts.facts.devices import Gpu, Nvidia, NvLink, Pci, PciDevice
from nccltool.hosts.facts.leaves import NOT_READ, Limit, NotKnown, Setting, Text, known, numbers, or_none
from nccltool.hosts.facts.net import Address, Gid, Interface, Listener, Network, Rdma, RdmaDevice, RdmaPort, Route
from nccltool.hosts.facts.process import Container, DeviceFile, ProcessFacts, ProcessLimits, Shm, ShmFile
from nccltool.hosts.facts.snapshot import KIND, SCHEMA, HostFacts, SnapshotReader, from_json, to_json
from nccltool.hosts.facts.software import ConfFile, FileFact, Library, Plugin, Versions
from nccltool.hosts.facts.system import Cloud, Cpu, HostNames, Kernel, KernelClock, KernelModule, Services

__all__ = [
    "KIND", "NOT_READ", "SCHEMA", "Address", "Amd", "AmdGpu", "Cloud", "ConfFile", "Container", "Cpu",
    "DeviceFile", "FileFact", "Gid", "Gpu", "HostFacts", "HostNames", "Interface", "Kernel", "KernelClock",
    "KernelModule", "Library", "Limit", "Listener", "Network", "NotKnown", "NvLink", "Nvidia", "Pci", "PciDevice",
    "Plugin", "ProcessFacts", "ProcessLimits", "Rdma", "RdmaDevice", "RdmaPort", "Route", "Services", "Setting",
    "Shm", "ShmFile", "SnapshotReader", "Text", "Versions", "from_json", "known", "numbers", "or_none", "to_json",
]  # fmt: skip
