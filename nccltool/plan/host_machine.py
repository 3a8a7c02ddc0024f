"""What a host is as a machine of a plan: GPUs and links from its snapshot, speeds from checks/machines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from nccltool.core.errors import BadInput
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import HostFacts, or_none
from nccltool.hosts.facts.amd import AmdGpu
from nccltool.hosts.facts.devices import Gpu
from nccltool.hosts.facts.leaves import NOT_READ
from nccltool.plan.hardware import Machine
from nccltool.train import peak_flops

_OF_LINE_RATE = 0.9
"""Of the rate of a network's links, what collectives reach: 45 of 50 GB/s for each H100 (checks/machines)."""
_PCIE_CODING = 128 / 130
"""Of PCIe 3.0 to 5.0."""
_REMEDY = "describe the machine in a file as in checks/machines: --machine ./FILE.toml"


def of_facts(facts: HostFacts, where: str, known: Sequence[Machine]) -> Machine:
    """`known`: machines of checks/machines. Raises BadInput where the GPUs are not known."""
    own, other = facts.nvidia.gpus, facts.amd.gpus
    gpus = other if own == () and other != NOT_READ else own
    if isinstance(gpus, Unknown):
        raise BadInput(f"--machine {where}: GPUs unknown ({gpus.reason})", _REMEDY)
    if not gpus:
        raise BadInput(f"--machine {where}: {facts.host} has no GPUs", _REMEDY)
    names = sorted({or_none(one.name) or "unknown" for one in gpus})
    if len(names) > 1:
        raise BadInput(f"--machine {where}: {facts.host} has GPUs of several kinds: {', '.join(names)}", _REMEDY)
    like = next((one for one in known if _is_same(one.gpu, names[0])), None)
    if like is None:
        kinds = ", ".join(one.name for one in known)
        raise BadInput(f"--machine {where}: no measured speeds of {names[0]} (known: {kinds})", _REMEDY)
    return _with_links(_of_gpus(like, facts.host, names[0], gpus), facts, gpus, like.name)


def _is_same(mine: str, other: str) -> bool:
    """Whether two names are of one model."""
    peak = peak_flops.of(mine, "bfloat16")
    return peak is not None and peak == peak_flops.of(other, "bfloat16")


def _of_gpus(like: Machine, host: str, gpu: str, gpus: Sequence[Gpu | AmdGpu]) -> Machine:
    memory = [size for one in gpus if (size := or_none(one.memory_bytes))]
    return replace(
        like, name=host, gpu=gpu, gpus=len(gpus), memory_bytes=min(memory) if memory else like.memory_bytes
    )


def _with_links(machine: Machine, facts: HostFacts, gpus: Sequence[Gpu | AmdGpu], like: str) -> Machine:
    said = [f"GPUs: {facts.host}; speed of their arithmetic and memory: {like}"]
    slot = None if _has_links(gpus) else _slot_bytes_per_s(facts, {one.pci for one in gpus})
    if slot is not None:
        machine = replace(machine, inside_bytes_per_s=slot, inside_all_reduce_bytes_per_s=slot)
        said.append(f"inside: PCIe, at most {slot / 1e9:.0f} GB/s")
    else:
        said.append(f"inside: {like}")
    ports = list(_gigabits(facts))
    if ports:
        machine = replace(machine, across_bytes_per_s=_OF_LINE_RATE * sum(ports) * 1e9 / 8 / machine.gpus)
        said.append(f"across: {_OF_LINE_RATE:.0%} of {sum(ports):g} Gbit/s of {facts.host}")
    else:
        said.append(f"across: {like}, because no link of {facts.host} has a known rate")
    return replace(machine, source="; ".join(said))


def _has_links(gpus: Iterable[Gpu | AmdGpu]) -> bool:
    """Unless it is known that there are none."""
    return any(one.xgmi_peers != 0 if isinstance(one, AmdGpu) else one.nvlinks != () for one in gpus)


def _slot_bytes_per_s(facts: HostFacts, addresses: set[str]) -> float | None:
    """Of the slowest slot of a GPU, each way."""
    found = [
        gts * 1e9 * width / 8 * _PCIE_CODING
        for one in or_none(facts.pci.devices) or ()
        if one.address in addresses
        and (gts := or_none(one.max_link_gts)) is not None
        and (width := or_none(one.max_link_width)) is not None
    ]
    return min(found, default=None)


def _gigabits(facts: HostFacts) -> Iterator[float]:
    """Of each active RDMA port; without any, of each Ethernet interface that is up."""
    ports = [
        rate
        for device in or_none(facts.rdma.devices) or ()
        for port in or_none(device.ports) or ()
        if port.state == "ACTIVE" and (rate := or_none(port.rate_gbps))
    ]
    if ports:
        yield from ports
        return
    for one in or_none(facts.network.interfaces) or ():
        speed = or_none(one.speed_mbps)
        if or_none(one.running) and not or_none(one.loopback) and speed:
            yield speed / 1000
