"""Direct access between GPUs in a node: switches and levels, host identity, and registration."""

from collections import Counter
from collections.abc import Iterator, Sequence

from nccltool.core.findings import Severity
from nccltool.core.host_lists import fold
from nccltool.core.text import escaped
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import (
    RACK,
    JudgedHost,
    Results,
    across,
    by_value,
    for_number,
    for_text,
    for_value,
    rule,
)
from nccltool.hosts.facts import Gpu, known, or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import Variable

_BELOW_DEFAULT = ("NVL", "NVB", "C2C", "PIX")
"""Levels under PXB, which NCCL takes for itself."""


def _disabled(host: JudgedHost) -> bool:
    return host.integer("NCCL_P2P_DISABLE") == 1


def _has_nvlink(gpu: Gpu) -> bool:
    """An active NVLink is there for sure; what cannot be read does not count."""
    return any(link.active for link in or_none(gpu.nvlinks) or ())


@for_number("P2P001", "warning", "NCCL_P2P_DISABLE", needs=("nvidia",))
def p2p_disabled(host: JudgedHost, variable: Variable, disabled: int) -> Results:
    """NCCL_P2P_DISABLE=1 disables direct access between a node's GPUs.

    Why: This also disables NVLink: all traffic within the node goes through host memory.
    Example: NCCL_P2P_DISABLE=1
    Instead: unset NCCL_P2P_DISABLE and fix the cause: ACS, the IOMMU, or the driver
    Source: NCCL user guide, NCCL_P2P_DISABLE; https://github.com/NVIDIA/nccl/issues/631
    """
    if disabled == 1:
        nvlink = any(map(_has_nvlink, or_none(host.facts.nvidia.gpus) or ()))
        message = "GPUs do not use NVLink" if nvlink else "GPUs in a node do not access each other directly"
        remedy = "unset NCCL_P2P_DISABLE; check what the driver allows: nvidia-smi topo -p2p p"
        yield report.better_unset(variable, message, remedy, severity="error" if nvlink else None)


@for_text("P2P002", "warning", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE")
def odd_disable_value(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_P2P_DISABLE or NCCL_SHM_DISABLE is neither 0 nor 1.

    Why: Only 1 has an effect; true, yes, and 2 change nothing.
    Example: NCCL_P2P_DISABLE=true
    Instead: set NCCL_P2P_DISABLE=1 or unset it
    Source: NCCL src/graph/paths.cc (ncclGetLevel), src/transport/shm.cc
    """
    name, number = variable.name, values.integer(text)
    if number and not (number.digits and number.value in (0, 1)):
        message = f"{name} has an effect only when it is 1; NCCL reads {number.value}"
        yield report.better_unset(variable, message, f"unset {name} or export {name}=1")


@for_text("P2P003", "warning", "NCCL_P2P_LEVEL")
def overruled_level(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_P2P_LEVEL is set, but NCCL_P2P_DISABLE=1 overrides it.

    Why: NCCL_P2P_DISABLE=1 means level LOC, and NCCL then ignores NCCL_P2P_LEVEL.
    Example: NCCL_P2P_DISABLE=1 and NCCL_P2P_LEVEL=SYS
    Instead: set only one of the two variables
    Source: NCCL src/graph/paths.cc (ncclGetLevel)
    """
    if _disabled(host):
        message = "NCCL_P2P_LEVEL has no effect while NCCL_P2P_DISABLE is 1"
        yield report.better_unset(variable, message, "unset NCCL_P2P_DISABLE or NCCL_P2P_LEVEL", part="")


@for_text("P2P004", "warning", "NCCL_P2P_LEVEL")
def unknown_level(_: JudgedHost, variable: Variable, level: str) -> Results:
    """NCCL_P2P_LEVEL is not a level that NCCL knows.

    Why: NCCL ignores it without a message. Level names are in upper case; numbers are from old releases.
    Example: NCCL_P2P_LEVEL=nvl
    Instead: NCCL_P2P_LEVEL=NVL
    Source: NCCL src/graph/paths.cc (ncclGetLevel)
    """
    if values.path_level(level) is None:
        meant = level.strip().upper()
        message = "NCCL does not know this level and ignores it"
        fix = report.export("NCCL_P2P_LEVEL", meant) if meant in values.PATHS else report.unset(variable)
        yield report.about(variable, message, evidence=(f"known: {', '.join(values.PATHS)}",), fix=fix)


@for_text("P2P031", "warning", "NCCL_P2P_LEVEL", covers=())
def level_before_words(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_P2P_LEVEL is a word, but this NCCL reads numbers only.

    Why: Releases before 2.6 read a word as 0, which switches direct access between GPUs off.
    Example: NCCL_P2P_LEVEL=NVL with NCCL 2.5
    Instead: unset NCCL_P2P_LEVEL or upgrade NCCL
    Source: https://github.com/NVIDIA/nccl/issues/332; NCCL 2.5 user guide, NCCL_P2P_LEVEL
    """
    if not text[:1].isdecimal() and host.nccl_is(before=(2, 6)):
        message = f"NCCL {host.nccl} reads the word as 0, which switches direct access between GPUs off"
        yield report.better_unset(variable, message)


@for_text("P2P005", "info", "NCCL_P2P_LEVEL", needs=("kernel", "nvidia", "pci"))
def level_forced_up(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_P2P_LEVEL allows direct access between GPUs behind different PCIe root ports.

    Why: This can be slower than shared memory and hangs if ACS or the IOMMU redirects the traffic.
    Example: NCCL_P2P_LEVEL=SYS
    Instead: unset NCCL_P2P_LEVEL; compare both settings with p2pBandwidthLatencyTest
    Source: NCCL user guide, NCCL_P2P_LEVEL; https://github.com/NVIDIA/nccl-tests/issues/117
    """
    forced = not _disabled(host) and values.path_level(text) in ("PHB", "SYS")
    if not forced or known(host.facts.kernel.arch) != "x86_64":
        return
    above = {device.address: device.upstream for device in known(host.facts.pci.devices)} if host.gpus else {}
    roots = {above[gpu.pci][0] if above[gpu.pci] else gpu.pci for gpu in host.gpus if gpu.pci in above}
    if len(roots) > 1:
        every = all(map(_has_nvlink, host.gpus))
        message = f"GPUs behind {len(roots)} root ports access each other through the CPU"
        remedy = "unset NCCL_P2P_LEVEL and measure with p2pBandwidthLatencyTest"
        lines = ("all have NVLink, which takes precedence",) if every else ()
        severity: Severity | None = None if every else "warning"
        yield report.better_unset(variable, message, remedy, evidence=lines, severity=severity)


@for_text("P2P006", "info", "NCCL_P2P_LEVEL", needs=("nvidia",))
def level_forced_down(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_P2P_LEVEL is stricter than NCCL's default.

    Why: LOC disables all direct access, including NVLink. PIX and lower levels keep NVLink, but block direct
    access across several PCIe switches.
    Example: NCCL_P2P_LEVEL=LOC
    Instead: unset NCCL_P2P_LEVEL
    Source: NCCL user guide, NCCL_P2P_LEVEL; src/graph/topo.cc (topoPathTypeStr: LOC, NVL, ..., PIX, PXB)
    """
    level = values.path_level(text)
    if _disabled(host) or level not in ("LOC", *_BELOW_DEFAULT):
        return
    if level == "LOC" and isinstance(host.facts.nvidia.gpus, Unknown):
        yield report.better_unset(variable, "no GPU accesses another directly", severity="warning")
    if len(host.gpus) < 2:
        return
    linked = sum(any(link.active for link in known(gpu.nvlinks)) for gpu in host.gpus)
    message = f"only GPUs at level {level} access each other directly; NCCL's default is PXB"
    if level == "LOC":
        message = f"no GPU accesses another directly{', not even over NVLink' if linked else ''}"
    yield report.better_unset(
        variable,
        message,
        evidence=(f"{linked} of {len(host.gpus)} GPUs have NVLink",),
        severity="warning" if level == "LOC" else None,
    )


@for_value("P2P013", "info", "NCCL_HOSTID")
def own_host_id(host: JudgedHost, variable: Variable, __: str) -> Results:
    """NCCL_HOSTID is set.

    Why: NCCL_HOSTID replaces the host's identity. Equal values on two hosts make NCCL try shared memory and NVLink
    between them; different values on one host disable both.
    Example: NCCL_HOSTID=node
    Instead: unset NCCL_HOSTID
    Source: NCCL src/misc/utils.cc (getHostHash)
    """
    message = "NCCL_HOSTID decides which ranks are on one host: hosts with the same value become one"
    severity = host.if_several_nodes("warning", "info", "info")
    yield report.better_unset(variable, message, part="", severity=severity)


@across("P2P030", "error", covers=("P2P-013",), needs=("boot_id",))
def shared_host_id(hosts: Sequence[JudgedHost]) -> Results:
    """NCCL_HOSTID has the same value on different hosts.

    Why: NCCL treats their ranks as local and tries shared memory and NVLink between them.
    Example: NCCL_HOSTID=node in a job script
    Instead: unset NCCL_HOSTID
    Source: NCCL src/misc/utils.cc (getHostHash)
    """
    machines = yield from by_value(hosts, _id_and_boot)
    for value, count in Counter(value for value, _ in machines).items():
        if count > 1:
            names = fold(host.name for own, some in machines.items() if own[0] == value for host in some)
            message = f"{count} machines share one NCCL_HOSTID"
            lines = (f"NCCL_HOSTID={escaped(value[:80])} on {escaped(names[:200])}",)
            yield report.variable("NCCL_HOSTID", message, "unset NCCL_HOSTID", evidence=lines)


def _id_and_boot(host: JudgedHost) -> tuple[str, str] | Unknown | None:
    value, boot = host.get("NCCL_HOSTID"), host.facts.boot_id
    return None if value is None else boot if isinstance(boot, Unknown) else (value, boot)


@across("P2P014", "error", needs=("boot_id", "names", "nvidia", "rdma"))
def cloned_machine(hosts: Sequence[JudgedHost]) -> Results:
    """Different machines have the same host name and the same boot id.

    Why: NCCL builds the host identity from the two, so ranks of both machines appear to share memory. The doctor
    tells the machines apart by a slot that contains a different GPU or adapter.
    Example: two VMs resumed from one snapshot, both named node
    Instead: give each machine a unique host name and reboot it
    Source: NCCL src/misc/utils.cc (getHostHash)
    """
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for host in hosts:
        name, boot = or_none(host.facts.names.hostname), or_none(host.facts.boot_id)
        if name is None or boot is None:
            yield Unknown("host name or boot id unknown")
            continue
        slots = seen.setdefault((name, boot), {})
        for slot, serial in _serials(host):
            if slots.setdefault(slot, serial) != serial:
                message = f"two machines are named {escaped(name[:80])} and share one boot id"
                remedy = "give each machine its own name with hostnamectl set-hostname, then reboot"
                lines = (f"{escaped(slot)} is {escaped(slots[slot])} and {escaped(serial)}",)
                yield report.host(escaped(name[:80]), message, remedy, evidence=lines)
                break


_FULL_NAMES, _BOOT_IDS = Version(2, 4, 6), Version(2, 5, 6)
"""From the first on, NCCL compares whole names, from the second on also what a boot is known by."""


@across("P2P035", "error", covers=(), needs=("boot_id", "names", "container"))
def hosts_of_one_name(hosts: Sequence[JudgedHost]) -> Results:
    """An old NCCL mistakes two hosts for one: their names match (before 2.4.6, up to the first dot).

    Why: Before 2.5.6, NCCL tells hosts apart by their names. Ranks of both hosts then try CUDA IPC and shared
    memory with each other, and initialization fails.
    Example: learngpu060.a and learngpu060.b with NCCL 2.4.2
    Instead: install NCCL 2.5.6 or newer, or give the hosts different names
    Source: https://github.com/NVIDIA/nccl/issues/187; NCCL 2.4.2 to 2.5.6, src/misc/utils.cu (getHostHash)
    """
    seen: dict[str, tuple[str, str | None]] = {}
    told: set[str] = set()
    for host in hosts:
        if isinstance(host.nccl, Unknown) or host.nccl >= _BOOT_IDS or host.facts.container.inside is True:
            continue  # names of containers are among their namespaces, which NCCL compares, too
        name, boot = host.facts.names.hostname, or_none(host.facts.boot_id)
        if isinstance(name, Unknown):
            yield name
            continue
        seen_as = name.partition(".")[0] if host.nccl < _FULL_NAMES else name
        other, other_boot = seen.setdefault(seen_as, (name, boot))
        if seen_as not in told and (other != name or (boot and other_boot and boot != other_boot)):
            told.add(seen_as)
            shown = escaped(seen_as[:80])
            message = f"NCCL {host.nccl} mistakes two hosts for one: it knows both as {shown}"
            remedy = "install NCCL 2.5.6 or newer, or give the hosts different names"
            lines = (f"{escaped(other[:80])}, {escaped(name[:80])}",)
            yield report.host(escaped(name[:80]), message, remedy, evidence=lines)


def _serials(host: JudgedHost) -> Iterator[tuple[str, str]]:
    """(slot, what is in it) of what has a number of its own."""
    for gpu in or_none(host.facts.nvidia.gpus) or ():
        if isinstance(gpu.uuid, str):
            yield f"GPU {gpu.pci}", gpu.uuid
    for device in or_none(host.facts.rdma.devices) or ():
        if isinstance(device.pci, str) and isinstance(device.node_guid, str):
            yield f"adapter {device.pci}", device.node_guid


@for_number("P2P015", "info", "NCCL_IGNORE_DISABLED_P2P")
def hidden_p2p_fault(_: JudgedHost, variable: Variable, ignored: int) -> Results:
    """NCCL_IGNORE_DISABLED_P2P hides the fact that GPUs connected by NVLink cannot access each other.

    Why: The cause is a hardware or fabric manager fault. With the variable set, the job runs at a fraction of the
    speed. Recipes of AWS set it in advance, so it is no sign of a fault.
    Example: NCCL_IGNORE_DISABLED_P2P=1
    Instead: unset NCCL_IGNORE_DISABLED_P2P and check the node with dcgmi diag
    Source: NCCL src/graph/paths.cc (ncclTopoCheckP2p)
    """
    if ignored:
        remedy = "unset NCCL_IGNORE_DISABLED_P2P; check the GPUs with dcgmi diag -r 2"
        yield report.better_unset(variable, "NCCL does not report NVLink faults", remedy)


@rule("P2P021", "info")
def pxn_disabled(host: JudgedHost) -> Results:
    """PXN is off: a GPU cannot send through another GPU's adapter.

    Why: Rail-optimized fabrics and all-to-all rely on PXN to keep traffic on one rail. Google's A3 High (TCPX)
    sets NCCL_P2P_PXN_LEVEL=0 by design.
    Example: NCCL_PXN_DISABLE=1
    Instead: unset NCCL_PXN_DISABLE
    Source: NCCL user guide, NCCL_PXN_DISABLE and NCCL_P2P_PXN_LEVEL; src/graph/search.cc
    """
    disable, level = host.variable("NCCL_PXN_DISABLE"), host.variable("NCCL_P2P_PXN_LEVEL")
    if disable and host.integer("NCCL_PXN_DISABLE") == 1:
        yield report.better_unset(disable, "no GPU sends through another GPU's adapter")
    elif level and host.integer("NCCL_P2P_PXN_LEVEL") == 0 and "TCPX" not in (host.get("NCCL_NET") or "").upper():
        yield report.better_unset(level, "sends and receives do not use another GPU's adapter")


@for_number("P2P022", "info", "NCCL_NVB_DISABLE")
def no_nvlink_relay(_: JudgedHost, variable: Variable, disabled: int) -> Results:
    """NCCL_NVB_DISABLE disables NVLink paths that go through another GPU.

    Why: This matters if not all GPUs are directly linked, as in a DGX-1.
    Example: NCCL_NVB_DISABLE=1
    Instead: unset NCCL_NVB_DISABLE
    Source: NCCL user guide, NCCL_NVB_DISABLE
    """
    if disabled:
        yield report.better_unset(variable, "no GPU relays NVLink traffic")


@for_number("P2P026", "warning", "NCCL_LEGACY_CUDA_REGISTER")
def legacy_registration(_: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_LEGACY_CUDA_REGISTER lets NCCL register cudaMalloc memory.

    Why: Registration then synchronizes implicitly and may hang.
    Example: NCCL_LEGACY_CUDA_REGISTER=1
    Instead: use a cuMem allocator (ncclMemAlloc or expandable segments) and unset NCCL_LEGACY_CUDA_REGISTER
    Source: NCCL user guide, NCCL_LEGACY_CUDA_REGISTER
    """
    if enabled:
        yield report.better_unset(variable, "registering buffers synchronizes implicitly and may hang")


@for_number("P2P029", "info", "NCCL_CUMEM_ENABLE", needs=("cloud", "nvidia"), library="NCCL")
def cumem_disabled(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_CUMEM_ENABLE=0 disables the cuMem allocator.

    Why: Multi-node NVLink, symmetric memory, NVLS registered buffers, and parts of dma-buf need it. Oracle's
    profile for H100 disables it by design; before NCCL 2.19 it was off by default.
    Example: NCCL_CUMEM_ENABLE=0
    Instead: unset NCCL_CUMEM_ENABLE
    Source: NCCL user guide, NCCL_CUMEM_ENABLE
    """
    version = or_none(host.nccl)
    new = version is None or version >= Version(2, 19)
    if not enabled and new and host.facts.cloud.provider != "oci":
        message = "no multi-node NVLink, symmetric memory, or NVLS registered buffers"
        gpus = or_none(host.facts.nvidia.gpus) or ()
        rack = any(RACK.search(or_none(gpu.name) or "") for gpu in gpus)
        yield report.better_unset(variable, message, severity="warning" if rack else None)


@for_text("P2P032", "warning", "NCCL_P2P_LEVEL", covers=(), needs=("nvidia",))
def level_across_sockets(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_P2P_LEVEL=SYS, and the GPUs of the hosts are not known.

    Why: Between GPUs without NVLink on different sockets, direct access goes through the link of the processors:
    it was slower than shared memory in several reports, and hangs with ACS or the IOMMU. With NVLink, it has no
    effect.
    Example: NCCL_P2P_LEVEL=SYS
    Instead: unset NCCL_P2P_LEVEL
    Source: https://github.com/NVIDIA/nccl/issues/1817; https://github.com/NVIDIA/nccl/issues/241
    """
    if isinstance(host.facts.nvidia.gpus, Unknown) and values.path_level(text) == "SYS" and not _disabled(host):
        message = "GPUs on different sockets access each other directly, which may be slower than shared memory"
        yield report.better_unset(variable, message, "unset it, or compare both with all_reduce_perf")
