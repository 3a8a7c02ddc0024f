"""The host itself: ACS, the IOMMU, host names, MTU, and CPU governors."""

from collections import defaultdict
from collections.abc import Sequence

from nccltool.core.host_lists import fold
from nccltool.core.text import counted
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, across, escaped, known, rule
from nccltool.hosts.facts import PciDevice, or_none

_REDIRECT = 0x0C
"""P2P request and completion redirect of the ACS control word."""
_LOCAL = ("localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback")
_FULL_MTU, _FULL_RATE = 4200, 100.0
"""An Ethernet port that carries RDMA packets of 4096 bytes has this MTU. Below 100 Gb/s it matters little."""


def _matter(host: JudgedHost) -> list[PciDevice]:
    """GPUs and RDMA adapters of a host where two of them may talk to each other directly."""
    devices = known(host.facts.pci.devices)
    adapters = {one.pci for one in or_none(host.facts.rdma.devices) or () if isinstance(one.pci, str)}
    gpus = [one for one in devices if one.is_gpu]
    both = [*gpus, *(one for one in devices if one.address in adapters)]
    return both if gpus and len(both) > 1 else []


@rule("HOST001", "warning", covers=(), needs=("pci", "rdma", "cpu"))
def acs_redirects(host: JudgedHost) -> Results:
    """PCI switches redirect peer-to-peer traffic through the CPU (ACS).

    Why: Traffic between GPUs and adapters loses most of its bandwidth or hangs. In a VM, leave ACS on; enable
    address translation services (ATS) in the adapters instead.
    Example: lspci -vvv shows ACSCtl: ReqRedir+ CmpltRedir+ for a bridge above a GPU
    Instead: setpci -s ADDRESS ECAP_ACS+0x6.w=0000 for each bridge, after each boot
    Source: NCCL user guide, troubleshooting, PCI Access Control Services
    """
    matter = _matter(host)
    if not matter or known(host.facts.cpu.hypervisor):
        return
    above = {address for device in matter for address in device.upstream}
    words = {one.address: one.acs_control for one in known(host.facts.pci.devices) if one.address in above}
    on = [(bridge, word) for bridge, word in words.items() if isinstance(word, int) and word & _REDIRECT]
    if on:
        bridge = on[0][0]
        message = (
            f"ACS on {counted(len(on), 'bridge')} sends peer-to-peer traffic of GPUs and adapters through the CPU"
        )
        remedy = f"sudo setpci -s {bridge} ECAP_ACS+0x6.w=0000 for each bridge or disable ACS in the BIOS"
        lines = (", ".join(f"{bridge}: ACSCtl {word:#06x}" for bridge, word in on[:4]),)
        yield report.device(f"bridge {bridge}", message, remedy, evidence=lines)
    elif any(isinstance(word, Unknown) for word in words.values()):
        yield Unknown("only root can read the ACS control words")


@rule("HOST002", "warning", covers=(), needs=("pci", "rdma", "cpu", "kernel"))
def iommu_translates(host: JudgedHost) -> Results:
    """The IOMMU translates the addresses of GPUs or adapters.

    Why: Peer-to-peer traffic goes up to the root complex and back, and is slow or hangs. On bare metal, the IOMMU
    should be off or in passthrough mode.
    Example: intel_iommu=on without iommu=pt
    Instead: add iommu=pt to the kernel command line
    Source: NCCL user guide, troubleshooting, PCI Access Control Services
    """
    if not _matter(host) or known(host.facts.cpu.hypervisor):
        return
    kinds = host.facts.pci.iommu_types
    words = (or_none(host.facts.kernel.cmdline) or "").split()
    if isinstance(kinds, Unknown) and {"intel_iommu=on", "amd_iommu=on"} & set(words) and "iommu=pt" not in words:
        kinds = ("DMA, by the kernel's command line",)
    translating = [kind for kind in known(kinds) if kind.startswith("DMA")]
    if translating:
        remedy = "boot with iommu=pt: grubby --update-kernel=ALL --args=iommu=pt or edit GRUB_CMDLINE_LINUX"
        lines = (f"IOMMU group type: {', '.join(escaped(kind[:40]) for kind in translating)}",)
        yield report.host("IOMMU", "the IOMMU translates addresses of GPUs or adapters", remedy, evidence=lines)


@rule("HOST003", "warning", covers=(), needs=("names",))
def published_as_localhost(host: JudgedHost) -> Results:
    """The full name of this host is localhost.

    Why: torchrun publishes the full name (getfqdn) of the first node. The other nodes use this name, connect to
    themselves, and time out.
    Example: 127.0.0.1 localhost localhost.localdomain n001 in /etc/hosts
    Instead: add a separate line with the host's name and an address that other nodes can reach
    Source: https://github.com/pytorch/pytorch/issues/150532; Python, socket.getfqdn
    """
    name = known(host.facts.names.hostname)
    lines = (line for line in known(host.facts.names.hosts_lines) if name in line.split()[1:])
    line = None if name in _LOCAL else next(lines, None)  # the resolver takes the first line with the name
    if line is None:
        return
    names = line.split()[1:]
    full = next((word for word in names if "." in word), names[0])
    if full in _LOCAL and host.several_nodes:
        shown = escaped(name[:80])
        message = f"torchrun tells other nodes to reach {shown} as {full}"
        remedy = f"add a separate line for {shown} to /etc/hosts, with an address that other nodes can reach"
        yield report.file("/etc/hosts", message, remedy, evidence=(escaped(line[:160]),))


@rule("HOST004", "warning", covers=(), needs=("names",))
def name_without_address(host: JudgedHost) -> Results:
    """The host name does not resolve on this host.

    Why: Gloo cannot resolve its own host name and falls back to loopback, which other nodes cannot reach. torchrun
    publishes a name that no node can resolve. On one node, old releases of Gloo, MPI, and Python programs that ask
    for the address of their host fail.
    Example: a container whose name is not in /etc/hosts
    Instead: add a line to /etc/hosts or a DNS record, or use GLOO_SOCKET_IFNAME and torchrun --local-addr
    Source: pytorch, torch/csrc/distributed/c10d/ProcessGroupGloo.cpp (createDefaultDevice)
    """
    alone = host.nodes == 1 and host.local_ranks == 1
    if known(host.facts.names.addresses) == () and not alone:
        name = escaped(known(host.facts.names.hostname)[:80])
        message, remedy = f"{name} does not resolve on this host", f"echo '<address> {name}' >> /etc/hosts"
        yield report.host(name, message, remedy, evidence=("getaddrinfo returns no address",))


@rule("HOST005", "info", covers=(), needs=("cpu", "nvidia"))
def cpu_saves_power(host: JudgedHost) -> Results:
    """The CPUs of a GPU node run in power-saving mode.

    Why: The governor lowers clock rates between the short bursts of NCCL's proxy threads, so small messages take
    longer.
    Example: scaling_governor is powersave
    Instead: cpupower frequency-set -g performance
    Source: Meta's (gcm) and Oracle's health checks require `performance`
    """
    if not known(host.facts.nvidia.driver):
        return
    others = [escaped(word[:20]) for word in known(host.facts.cpu.governors) if word != "performance"]
    if others:
        evidence = (f"scaling_governor: {', '.join(others)}",)
        remedy = "cpupower frequency-set -g performance"
        yield report.host(
            "scaling_governor", "CPUs of this host run in power-saving mode", remedy, evidence=evidence
        )


@rule("HOST006", "info", covers=(), needs=("rdma", "network", "nvidia"))
def small_roce_mtu(host: JudgedHost) -> Results:
    """The MTU of a RoCE port of 100 Gb/s or more is too small for 4096-byte RDMA packets.

    Why: RDMA uses the largest power of two below the interface MTU. With an MTU of 1500, it sends 1024-byte
    packets, four times as many.
    Example: a 400 Gb/s interface with MTU 1500
    Instead: ip link set dev NAME mtu 9000, if every switch on the path allows it
    Source: Linux, include/rdma/ib_addr.h (iboe_get_mtu)
    """
    if not known(host.facts.nvidia.driver):
        return
    for device in known(host.facts.rdma.devices):
        ports = or_none(device.ports) or ()
        fast = any((or_none(port.rate_gbps) or 0.0) >= _FULL_RATE for port in ports)
        roce = any(port.link_layer == "Ethernet" and port.state == "ACTIVE" for port in ports)
        for name in (or_none(device.netdevs) or ()) if fast and roce else ():
            interface = host.facts.network.interface(name)
            if interface is not None and known(interface.mtu) < _FULL_MTU:
                message = (
                    f"{escaped(name)} has MTU {interface.mtu}, which cuts RDMA packets to half the size or less"
                )
                remedy = f"ip link set dev {escaped(name)} mtu 9000, if every switch on the path allows it"
                lines = (f"{escaped(device.name)}: packets of 4096 bytes need an MTU of {_FULL_MTU}",)
                yield report.interface(name, message, remedy, evidence=lines)


@across("HOST007", "warning", covers=(), needs=("network",))
def mtu_differs(hosts: Sequence[JudgedHost]) -> Results:
    """The MTU of an interface differs between hosts.

    Why: Packets that are too large for one host are dropped: connections succeed, but the first large message
    hangs.
    Example: MTU 9000 on most hosts, and 1500 on a replacement host
    Instead: set the same MTU on all hosts and switches
    Source: https://github.com/NVIDIA/nccl/issues/1524; https://github.com/NVIDIA/nccl/issues/1957
    """
    mtus = defaultdict[str, dict[int, list[str]]](dict)
    for host in hosts:
        interfaces = host.facts.network.interfaces
        if isinstance(interfaces, Unknown):
            yield interfaces
            continue
        for one in interfaces:
            if one.up is True and one.virtual is False and isinstance(one.mtu, int):
                mtus[one.name].setdefault(one.mtu, []).append(host.name)
    for name, values in mtus.items():
        usual = max(values, key=lambda mtu: len(values[mtu]))
        others = sorted((mtu, fold(some)) for mtu, some in values.items() if mtu != usual)
        if others:
            shown = escaped(name[:40])
            message = f"{shown} has MTU {usual} on most hosts, and {others[0][0]} on others"
            remedy = f"ip link set dev {shown} mtu {usual} on these hosts"
            lines = tuple(f"MTU {mtu}: {escaped(names[:160])}" for mtu, names in others[:4])
            yield report.interface(shown, message, remedy, evidence=lines)
