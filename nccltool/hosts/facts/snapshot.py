"""All facts of a host in one snapshot, to be saved as JSON and judged elsewhere."""

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from typing import Any

import msgspec

from nccltool.core import documents
from nccltool.core.errors import BadInput
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.amd import Amd
from nccltool.hosts.facts.devices import Nvidia, Pci
from nccltool.hosts.facts.leaves import NOT_READ, Count, Text
from nccltool.hosts.facts.net import Network, Rdma
from nccltool.hosts.facts.process import Container, ProcessFacts, ProcessLimits, Shm
from nccltool.hosts.facts.software import ConfFile, FileFact, Plugin, Versions
from nccltool.hosts.facts.system import Cloud, Cpu, HostNames, Kernel, KernelClock, Services

SCHEMA, KIND = 1, "facts"


class HostFacts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A snapshot of one host, as one rank sees it."""

    schema: int = SCHEMA
    kind: str = KIND
    host: str
    """Its name, for people; `names.hostname` where that is known."""
    root: str = "/"
    """`/`, or the captured tree that was read."""
    taken: str = ""
    """RFC 3339, UTC."""
    seconds: float = 0.0
    """How long looking took."""
    boot_id: Text = NOT_READ
    """/proc/sys/kernel/random/boot_id: the same for containers of one host."""
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Variables of the process that an allow-list of names admits: no secrets."""
    env_source: str = "process"
    """`process`, `pid N`, or the file that was read."""
    conf_files: tuple[ConfFile, ...] = ()
    """In NCCL's order: the user's, then the system's."""
    files: tuple[FileFact, ...] = ()
    network: Network = Network()
    rdma: Rdma = Rdma()
    pci: Pci = Pci()
    nvidia: Nvidia = Nvidia()
    amd: Amd = Amd()
    kernel: Kernel = Kernel()
    cpu: Cpu = Cpu()
    limits: ProcessLimits = ProcessLimits()
    shm: Shm = Shm()
    container: Container = Container()
    names: HostNames = HostNames()
    versions: Versions = Versions()
    plugins: tuple[Plugin, ...] | Unknown = NOT_READ
    """libnccl-net*, libnccl-tuner*, libnccl-profiler*, libnccl-env* in the order of the loader."""
    cloud: Cloud = Cloud()
    clock: KernelClock = KernelClock()
    services: Services = Services()
    process: ProcessFacts = ProcessFacts()

    @property
    def visible_gpus(self) -> Count:
        """GPUs that a rank started here would see: of NVIDIA, else of AMD, which old snapshots lack."""
        own, other = self.nvidia.visible_gpus, self.amd.visible_gpus
        return other if own == 0 and other != NOT_READ else own

    @property
    def gpu_names(self) -> tuple[Text, ...] | Unknown:
        """Of all GPUs of the host, without masks."""
        gpus = self.nvidia.gpus or self.amd.gpus
        return gpus if isinstance(gpus, Unknown) else tuple(one.name for one in gpus)

    def file(self, asked_by: str) -> FileFact | None:
        """The file that a variable names; for well-known ones, give the path."""
        return next((one for one in self.files if asked_by in (one.asked_by, one.path)), None)


def to_json(host: HostFacts, indent: int = 2) -> str:
    """The snapshot as JSON; `indent=0` gives one line."""
    raw = msgspec.json.encode(host)
    return documents.harmless((msgspec.json.format(raw, indent=indent) if indent else raw).decode())


_DECODER = msgspec.json.Decoder(HostFacts)


def from_json(text: bytes | str, where: str) -> HostFacts:
    """Read a snapshot. Raises BadInput that names `where` and the key that is wrong."""
    try:
        host = _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadInput(f"{where} is not a facts snapshot: {error}", _REMEDY) from error
    return _checked(host, where)


def _checked(host: HostFacts, where: str) -> HostFacts:
    if host.kind != KIND:
        raise BadInput(f"{where} is a document of kind {host.kind!r}, not {KIND!r}", _REMEDY)
    if host.schema != SCHEMA:
        raise BadInput(
            f"{where} has schema {host.schema}; this nccltool reads {SCHEMA}",
            "use the nccltool version that wrote it",
        )
    return host


_REMEDY = "create one with nccltool facts --output FILE"
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PART_TYPES = {one.name: one.type for one in msgspec.structs.fields(HostFacts)}


@cache
def _decoder_of(part: str) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_PART_TYPES[part])


class SnapshotReader:
    """Reads snapshots of many hosts: what they have in common is decoded once, and is one object in all."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, bytes], Any] = {}
        self._links: dict[object, Any] = {}

    def read(self, text: bytes, where: str) -> HostFacts:
        """A snapshot. Raises BadInput that names `where` and the key that is wrong."""
        try:
            parts = _OBJECT.decode(text)
            host = HostFacts(
                **{name: self._part(name, bytes(parts[name])) for name in _PART_TYPES.keys() & parts.keys()}
            )
        except (msgspec.DecodeError, UnicodeError, RecursionError, TypeError):
            return from_json(text, where)  # which names the key
        return _checked(host, where)

    def _part(self, name: str, raw: bytes) -> Any:
        key = (name, blake2b(raw, digest_size=16).digest())
        if key not in self._parts:
            part = _decoder_of(name).decode(raw)
            self._parts[key] = self._with_links(part) if isinstance(part, Nvidia) else part
        return self._parts[key]

    def _with_links(self, part: Nvidia) -> Nvidia:
        """GPUs have a name each; their NVLinks, of which one has up to 18, are alike, and half of all there is."""
        if isinstance(part.gpus, Unknown):
            return part
        replace, links = msgspec.structs.replace, self._links
        gpus = (replace(gpu, nvlinks=links.setdefault(gpu.nvlinks, gpu.nvlinks)) for gpu in part.gpus)
        return replace(part, gpus=tuple(gpus))
