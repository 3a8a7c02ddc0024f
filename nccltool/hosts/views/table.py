"""A snapshot of a host for people: a line a subject, then what could not be read and why."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from nccltool.core.host_lists import fold
from nccltool.core.look import PLAIN, Look
from nccltool.core.text import counted, escaped, listed, named
from nccltool.core.units import format_bytes
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import (
    NOT_READ,
    AmdGpu,
    Gpu,
    HostFacts,
    Interface,
    Limit,
    Network,
    RdmaDevice,
    RdmaPort,
    Versions,
    or_none,
    to_json,
)
from nccltool.hosts.facts.leaves import then

T = TypeVar("T")
FORMATS = ("table", "json")
_MOST_REASONS = 20
_LONGEST_NAMES = 60


def render(host: HostFacts, form: str, look: Look = PLAIN) -> str:
    return to_json(host) + "\n" if form == "json" else _table(host, look)


def _table(host: HostFacts, look: Look) -> str:
    versions, box, free = host.versions, host.container, _word(host.shm.free_bytes, _gib)
    rows = [
        ("host", f"{host.host}, {_word(versions.os)}, Linux {_word(host.kernel.release)}"),
        ("machine", _machine(host)),
        *_of_gpus(host),
        *(_rdma_ports(host) if look.verbose else _rdma(host)),
        *(_interfaces(host.network) if look.verbose else _network(host.network)),
        ("name resolves to", _word(host.names.addresses, lambda all_: ", ".join(all_) or "nothing")),
        ("limits", _limits(host)),
        ("shared memory", _word(host.shm.size_bytes, lambda size: f"{_gib(size)}, {free} free")),
        ("container", _word(box.runtime, lambda name: f"{name} ({box.evidence})" if name else "no")),
        ("torch", _torch(versions)),
        ("clock", _clock(host)),
        ("variables", " ".join(f"{name}={value}" for name, value in host.env.items() if name.startswith("NCCL_"))),
        ("files", ", ".join(file.path for file in host.conf_files if file.exists is True)),
    ]
    shown = [row for row in rows if row[1]]
    width = max(len(name) for name, _ in shown)
    lines = [line for row in shown for line in _row(*row, width, look)]
    lines += _reasons(host, look)
    return "\n".join(lines) + "\n"


def _row(name: str, value: str, width: int, look: Look) -> list[str]:
    return look.wrapped(escaped(f"{name:{width}}  {value}"), " " * (width + 2))


def _word(leaf: T | Unknown, shown: Callable[[T], str] = str, otherwise: str = "unknown") -> str:
    return otherwise if isinstance(leaf, Unknown) else shown(leaf)


def _torch(versions: Versions) -> str:
    told = _word(versions.torch) or "not installed"
    if hip := or_none(versions.torch_hip):
        return f"{told}, HIP {hip}, RCCL {_word(versions.rccl) or 'not found'}"
    return f"{told}, NCCL {_word(versions.nccl) or 'not found'}"


def _machine(host: HostFacts) -> str:
    made = [word for word in (or_none(host.cloud.sys_vendor), or_none(host.cloud.product_name)) if word]
    count = len(or_none(host.cpu.numa_nodes) or ())
    nodes = f"{count or '?'} NUMA node{'' if count == 1 else 's'}"
    memory = or_none(host.cpu.memory_bytes)
    size = f", {_gib(memory)}" if memory else ""
    below = _word(host.cpu.hypervisor, lambda virtual: ", virtual" if virtual else ", bare metal", "")
    return f"{' '.join(made) or 'unknown vendor'}, {_word(host.cpu.model)}, {nodes}{size}{below}"


def _of_gpus(host: HostFacts) -> Iterator[tuple[str, str]]:
    nvidia, amd = host.nvidia, host.amd
    if nvidia.driver == "" and amd.driver == "":
        yield "GPUs", "no NVIDIA or AMD driver loaded"
    if nvidia.driver != "":
        flavour = _word(nvidia.flavour, lambda word: f" ({word})" if word else "", "")
        yield "driver", f"{_word(nvidia.driver)}{flavour}, CUDA {_word(nvidia.cuda)}"
        yield "GPUs", _word(nvidia.gpus, lambda gpus: _counted(map(_gpu, gpus)))
    if amd.driver not in ("", NOT_READ):
        yield "driver", f"amdgpu {_word(amd.driver)}"
        yield "GPUs", _word(amd.gpus, lambda gpus: _counted(map(_amd_gpu, gpus)))


def _counted(texts: Iterable[str]) -> str:
    return "; ".join(f"{count} x {what}" for what, count in Counter(texts).items()) or "none"


def _amd_gpu(gpu: AmdGpu) -> str:
    told = [_word(gpu.name), or_none(gpu.gfx), or_none(then(gpu.memory_bytes, _gib))]
    told.append(
        _word(gpu.xgmi_peers, lambda peers: f"Infinity Fabric to {peers}" if peers else "no Infinity Fabric", "")
    )
    modes = [mode for mode in (or_none(gpu.compute_partition), or_none(gpu.memory_partition)) if mode]
    return ", ".join(word for word in (*told, " ".join(modes)) if word)


def _gpu(gpu: Gpu) -> str:
    links = _word(gpu.nvlinks, lambda all_: f", {sum(one.active for one in all_)} of {len(all_)} NVLinks", "")
    mode = " in MIG mode" if gpu.mig is True else ""
    return _word(gpu.name) + mode + (", no NVLink" if gpu.nvlinks == () else links)


def _rdma(host: HostFacts) -> Iterator[tuple[str, str]]:
    """Ports that are alike are told once, by their NUMA node."""
    if isinstance(host.rdma.devices, Unknown):
        yield "RDMA", "unknown"
        return
    alike: dict[str, dict[tuple[str, int], list[str]]] = {}
    for device, port in _ports(host.rdma.devices):
        told = f"{_port(port)}, firmware {_word(device.fw_ver)}"
        place = (_word(device.numa_node), port.number)
        alike.setdefault(told, {}).setdefault(place, []).append(device.name)
    for told, by_place in alike.items():
        names = "; ".join(f"{_folded(some)}:{port} (NUMA {node})" for (node, port), some in by_place.items())
        yield "RDMA", f"{sum(map(len, by_place.values()))} x {told}: {names}"
    if not alike:
        yield "RDMA", "no port"


def _folded(names: Sequence[str]) -> str:
    text = fold(names)
    return text if len(text) <= _LONGEST_NAMES else named(names, 3)


def _rdma_ports(host: HostFacts) -> Iterator[tuple[str, str]]:
    if isinstance(host.rdma.devices, Unknown):
        yield "RDMA", "unknown"
        return
    ports = list(_ports(host.rdma.devices))
    for device, port in ports:
        where = f"NUMA {_word(device.numa_node)}, firmware {_word(device.fw_ver)}"
        yield f"RDMA {device.name}:{port.number}", f"{_port(port)}, {where}"
    if not ports:
        yield "RDMA", "no port"


def _ports(devices: Iterable[RdmaDevice]) -> Iterator[tuple[RdmaDevice, RdmaPort]]:
    return ((device, port) for device in devices for port in or_none(device.ports) or ())


def _port(port: RdmaPort) -> str:
    rate = _word(port.rate_gbps, lambda gigabits: f"{gigabits:g}", "?")
    return f"{_word(port.state)}, {_word(port.link_layer)}, {rate} Gb/s"


def _network(network: Network) -> Iterator[tuple[str, str]]:
    """Interfaces that are alike are told once, with the addresses of each."""
    if isinstance(network.interfaces, Unknown):
        yield "interfaces", "unknown"
        return
    alike: dict[str, list[str]] = {}
    for one in network.interfaces:
        if one.loopback is not True:
            addresses = _addresses(network, one)
            alike.setdefault(_interface(one), []).append(" ".join((one.name, *addresses)))
    for told, some in alike.items():
        yield "interface" if len(some) == 1 else f"{len(some)} interfaces", f"{told}: {', '.join(some)}"


def _interfaces(network: Network) -> Iterator[tuple[str, str]]:
    if isinstance(network.interfaces, Unknown):
        yield "interfaces", "unknown"
        return
    for one in network.interfaces:
        if one.loopback is not True:
            yield f"interface {one.name}", ", ".join((_interface(one), *_addresses(network, one)))


def _interface(one: Interface) -> str:
    told = [
        _word(one.operstate),
        one.kind,
        _word(one.speed_mbps, lambda speed: f"{speed / 1000:g} Gb/s", ""),
        f"MTU {_word(one.mtu)}",
        or_none(one.driver) or "",
    ]
    return ", ".join(word for word in told if word)


def _addresses(network: Network, one: Interface) -> list[str]:
    own = () if isinstance(network.addresses, Unknown) else network.addresses_of(one.name)
    return [f"{address.address}/{_word(address.prefix_len)}" for address in own]


def _limits(host: HostFacts) -> str:
    limits = host.limits
    return (
        f"open files {_limit(limits.nofile_soft)} (hard {_limit(limits.nofile_hard)}), "
        f"locked memory {_limit(limits.memlock_soft_bytes, format_bytes)}, processes {_limit(limits.nproc_soft)}"
    )


def _limit(limit: Limit, shown: Callable[[int], str] = str) -> str:
    return _word(limit, lambda number: "unlimited" if number is None else shown(number))


def _gib(count: int) -> str:
    """Memory is never a round number of bytes; below a GiB it matters which."""
    size = count / (1 << 30)
    return format_bytes(count) if size < 1 else f"{size:.3g} GiB" if size < 100 else f"{size:.0f} GiB"


def _clock(host: HostFacts) -> str:
    bound = _word(host.clock.max_error_s, lambda seconds: f", within {seconds:.3g} s", "")
    return _word(host.clock.synchronised, lambda yes: f"synchronized{bound}" if yes else "not synchronized")


def _reasons(host: HostFacts, look: Look) -> list[str]:
    """How much is not known; with -v each reason once, with the leaves that it explains."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in _unknowns(host, ""):
        by_reason.setdefault(reason, []).append(path)
    if not by_reason:
        return []
    if not look.verbose:
        return [
            look.painted(f"unknown: {counted(sum(map(len, by_reason.values())), 'fact')}; -v shows why", "dim")
        ]
    texts = [f"{listed(at, 3)}: {why}" for why, at in by_reason.items()]
    if len(texts) > _MOST_REASONS:
        texts[_MOST_REASONS:] = [f"... and {len(texts) - _MOST_REASONS} more reasons: --format json"]
    return ["unknown:", *(line for text in texts for line in look.wrapped(escaped(f"  {text}"), "      "))]


def _unknowns(part: msgspec.Struct, path: str) -> Iterator[tuple[str, str]]:
    """(leaf, reason) of the parts of a host; what is missing inside a list belongs to its single device."""
    for one in msgspec.structs.fields(part):
        value = getattr(part, one.name)
        if isinstance(value, Unknown):
            if value != NOT_READ:
                yield path + one.name, value.reason
        elif isinstance(value, msgspec.Struct):
            yield from _unknowns(value, f"{path}{one.name}.")
