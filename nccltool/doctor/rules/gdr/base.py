"""What rules about GPU Direct RDMA have in common: where GPUs and NICs are."""

from collections.abc import Iterator

from nccltool.doctor.rules.base import JudgedHost, known
from nccltool.hosts.facts import PciDevice
from nccltool.hosts.nccl import adapters


def by_address(host: JudgedHost) -> dict[str, PciDevice]:
    """PCI devices by their addresses. Raises NotKnown."""
    return {device.address: device for device in known(host.facts.pci.devices)}


def gpus_and_nics(host: JudgedHost, places: dict[str, PciDevice]) -> Iterator[tuple[str, str]]:
    """(GPU, RDMA device), by their PCI addresses; those that are in the tree. Raises NotKnown."""
    nics = dict.fromkeys(known(port.device.pci) for port in adapters.ports(host.facts.rdma))
    for gpu in host.gpus:
        yield from ((gpu.pci, nic) for nic in nics if gpu.pci in places and nic in places)


def shared_bridges(one: PciDevice, other: PciDevice) -> int:
    """How many bridges two devices have in common, from the root port down; 0 = they meet in the processor."""
    pairs = zip(one.upstream, other.upstream, strict=False)
    return next(
        (index for index, (a, b) in enumerate(pairs) if a != b), min(len(one.upstream), len(other.upstream))
    )
