"""A snapshot of a host for people: a line a subject, then what could not be read and why."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
from tabulate import tabulate

from nccltool.core.units import format_bytes
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import NOT_READ, Gpu, HostFacts, Interface, Limit, RdmaDevice, RdmaPort, or_none, to_json

FORMATS = ("table", "json")
_MOST_REASONS = 20


def render(host: HostFacts, form: str) -> str:
    """Text, with a newline at its end."""
    return to_json(host) + "\n" if form == "json" else _table(host)


def _table(host: HostFacts) -> str:
    rows = [
        ("host", f"{host.host}, {_word(host.versions.os)}, Linux {_word(host.kernel.release)}"),
        ("machine", _machine(host)),
        *_nvidia(host),
        *_rdma(host),
        *_network(host),
        ("name resolves to", _joined(host.names.addresses)),
        ("limits", _limits(host)),
        ("shared memory", _shm(host)),
        ("container", _container(host)),
        (
            "torch",
            f"{_word(host.versions.torch) or 'not installed'}, NCCL {_word(host.versions.nccl) or 'not found'}",
        ),
        ("clock", _clock(host)),
        ("variables", " ".join(f"{name}={value}" for name, value in host.env.items() if name.startswith("NCCL_"))),
        ("files", ", ".join(file.path for file in host.conf_files if file.exists is True)),
    ]
    body = tabulate([row for row in rows if row[1]], tablefmt="plain", disable_numparse=True)
    reasons = [f"  {text}" for text in _reasons(host)]
    return "\n".join([_escaped(line) for line in (*body.splitlines(), *reasons)]) + "\n"


def _escaped(line: str) -> str:
    """What comes from files of the host is not sent to the terminal as it is."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def _word(leaf: Any) -> str:
    return "unknown" if isinstance(leaf, Unknown) else str(leaf)


def _joined(leaf: tuple[str, ...] | Unknown) -> str:
    return _word(leaf) if isinstance(leaf, Unknown) else ", ".join(leaf) or "nothing"


def _machine(host: HostFacts) -> str:
    made = [word for word in (or_none(host.cloud.sys_vendor), or_none(host.cloud.product_name)) if word]
    count = 0 if isinstance(host.cpu.numa_nodes, Unknown) else len(host.cpu.numa_nodes)
    nodes = f"{count or '?'} NUMA node{'' if count == 1 else 's'}"
    memory = or_none(host.cpu.memory_bytes)
    size = f", {_gib(memory)}" if memory else ""
    below = {True: ", virtual", False: ", bare metal"}.get(or_none(host.cpu.hypervisor) is True)
    known = "" if isinstance(host.cpu.hypervisor, Unknown) else below
    return f"{' '.join(made) or 'unknown maker'}, {_word(host.cpu.model)}, {nodes}{size}{known}"


def _nvidia(host: HostFacts) -> Iterator[tuple[str, str]]:
    nvidia = host.nvidia
    if nvidia.driver == "":
        yield "GPUs", "no NVIDIA driver is loaded"
        return
    yield "driver", f"{_word(nvidia.driver)} ({_word(nvidia.flavour)}), CUDA {_word(nvidia.cuda)}"
    if isinstance(nvidia.gpus, Unknown):
        yield "GPUs", "unknown"
        return
    groups = Counter(_gpu(gpu) for gpu in nvidia.gpus)
    yield "GPUs", "; ".join(f"{count} x {what}" for what, count in groups.items()) or "none"


def _gpu(gpu: Gpu) -> str:
    links = or_none(gpu.nvlinks)
    told = [_word(gpu.name)]
    if links is not None:
        told.append(f"{sum(link.active for link in links)} of {len(links)} NVLinks" if links else "no NVLink")
    return ", ".join(told)


def _rdma(host: HostFacts) -> Iterator[tuple[str, str]]:
    devices = host.rdma.devices
    if isinstance(devices, Unknown):
        yield "RDMA", "unknown"
        return
    ports = [(device, port) for device in devices for port in or_none(device.ports) or ()]
    for device, port in ports:
        yield f"RDMA {device.name}:{port.number}", _port(device, port)
    if not ports:
        yield "RDMA", "no port"


def _port(device: RdmaDevice, port: RdmaPort) -> str:
    rate = "?" if isinstance(port.rate_gbps, Unknown) else f"{port.rate_gbps:g}"
    where = f"NUMA {_word(device.numa_node)}, firmware {_word(device.fw_ver)}"
    return f"{_word(port.state)}, {_word(port.link_layer)}, {rate} Gb/s, {where}"


def _network(host: HostFacts) -> Iterator[tuple[str, str]]:
    interfaces = host.network.interfaces
    if isinstance(interfaces, Unknown):
        yield "interfaces", "unknown"
        return
    for one in interfaces:
        if one.loopback is not True:
            yield f"interface {one.name}", _interface(host, one)


def _interface(host: HostFacts, one: Interface) -> str:
    addresses = host.network.addresses
    own = () if isinstance(addresses, Unknown) else host.network.addresses_of(one.name)
    told = [
        _word(one.operstate),
        one.kind,
        "" if isinstance(one.speed_mbps, Unknown) else f"{one.speed_mbps / 1000:g} Gb/s",
        f"MTU {_word(one.mtu)}",
        or_none(one.driver) or "",
        *(f"{address.address}/{_word(address.prefix_len)}" for address in own),
    ]
    return ", ".join(word for word in told if word)


def _limits(host: HostFacts) -> str:
    limits = host.limits
    return (
        f"open files {_limit(limits.nofile_soft)} (hard {_limit(limits.nofile_hard)}), "
        f"locked memory {_limit(limits.memlock_soft_bytes, bytes_=True)}, processes {_limit(limits.nproc_soft)}"
    )


def _limit(limit: Limit, *, bytes_: bool = False) -> str:
    if isinstance(limit, Unknown):
        return "unknown"
    if limit is None:
        return "unlimited"
    return format_bytes(limit) if bytes_ else str(limit)


def _shm(host: HostFacts) -> str:
    size, free = host.shm.size_bytes, host.shm.free_bytes
    if isinstance(size, Unknown):
        return "unknown"
    return f"{_gib(size)}, {'unknown' if isinstance(free, Unknown) else _gib(free)} free"


def _gib(count: int) -> str:
    """Memory is never a round number of bytes; below a GiB it matters which."""
    size = count / (1 << 30)
    return format_bytes(count) if size < 1 else f"{size:.3g} GiB" if size < 100 else f"{size:.0f} GiB"


def _container(host: HostFacts) -> str:
    runtime = host.container.runtime
    if isinstance(runtime, Unknown):
        return "unknown"
    return f"{runtime} ({host.container.evidence})" if runtime else "no"


def _clock(host: HostFacts) -> str:
    if isinstance(host.clock.synchronised, Unknown):
        return "unknown"
    bound = "" if isinstance(host.clock.max_error_s, Unknown) else f", within {host.clock.max_error_s:.3g} s"
    return f"synchronised{bound}" if host.clock.synchronised else "not synchronised"


def _reasons(host: HostFacts) -> list[str]:
    """Each reason once, with the leaves that it explains."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in _unknowns(host, ""):
        by_reason.setdefault(reason, []).append(path)
    lines = [
        f"{', '.join(paths[:3])}{', ...' if len(paths) > 3 else ''}: {why}" for why, paths in by_reason.items()
    ]
    if not lines:
        return []
    more = (
        [f"... and {len(lines) - _MOST_REASONS} more reasons: --format json"] if len(lines) > _MOST_REASONS else []
    )
    return ["not known:", *lines[:_MOST_REASONS], *more]


def _unknowns(part: msgspec.Struct, path: str) -> Iterator[tuple[str, str]]:
    """(leaf, reason) of the parts of a host; what is missing inside a list belongs to its single device."""
    for one in msgspec.structs.fields(part):
        value = getattr(part, one.name)
        if isinstance(value, Unknown):
            if value != NOT_READ:
                yield path + one.name, value.reason
        elif isinstance(value, msgspec.Struct):
            yield from _unknowns(value, f"{path}{one.name}.")
