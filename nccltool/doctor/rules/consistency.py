"""Settings that must not differ between the ranks of a job."""

from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Sequence
from functools import partial

from nccltool.core.host_lists import fold
from nccltool.core.text import counted, shortened
from nccltool.doctor import report
from nccltool.doctor.rules.base import (
    OWN_ADDRESSES,
    JudgedHost,
    Results,
    Unknown,
    Variable,
    across,
    by_value,
    escaped,
    for_number,
    for_value,
    is_loopback_name,
    is_unspecified,
    rule,
)
from nccltool.hosts.facts import NotKnown, RdmaDevice, known, or_none
from nccltool.hosts.nccl import variables

_PREFIXES = ("NCCL_", "OFI_NCCL_", "TORCH_", "FI_", "UCX_", "GLOO_", "SHARP_")
_OWN = ("NCCL_HOSTID", "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE")
"""Variables that one rank may have alone."""


def _values(hosts: Sequence[JudgedHost]) -> Generator[Unknown, None, dict[str, dict[str, list[str]]]]:
    """Variable -> value -> hosts. Hosts whose settings are not known are left out; yields why."""
    found = defaultdict[str, dict[str, list[str]]](dict)
    reasons: set[str] = set()
    for host in hosts:
        try:
            for variable, entry in host.listed(*_PREFIXES):
                if entry.status != "reserved":
                    found[variable.name].setdefault(variable.value, []).append(host.name)
        except NotKnown as why:
            reasons.add(str(why))
    yield from map(Unknown, sorted(reasons))
    return found


@across("CON001", "error")
def different_settings(hosts: Sequence[JudgedHost]) -> Results:
    """A variable that must be the same on all ranks has different values.

    Why: Ranks build different channels or choose different algorithms, which causes a hang, a "message truncated"
    error, or wrong data.
    Example: NCCL_ALGO=Ring on some nodes, NCCL_ALGO=Tree on others
    Instead: use the same environment on all ranks: srun --export=ALL, mpirun -x, or one script for torchrun
    Source: https://github.com/NVIDIA/nccl/issues/626; https://github.com/NVIDIA/nccl/issues/1328
    """
    for name, values in (yield from _values(hosts)).items():
        if variables.every()[name].must_match and len(values) > 1:
            usual = max(values, key=lambda value: len(values[value]))
            others = sorted((names, value) for value, names in values.items() if value != usual)
            yield report.variable(
                name,
                f"{name} has {len(values)} different values; it must be the same on all ranks",
                "export it once and forward it: srun --export=ALL, mpirun -x, torchrun from one script",
                evidence=(
                    f"most hosts: {name}={_shown(usual)}",
                    *(f"{escaped(fold(names)[:160])}: {name}={_shown(value)}" for names, value in others[:4]),
                ),
            )


def _shown(value: str) -> str:
    return escaped(shortened(value, 80))


@across("CON002", "error")
def set_on_some_ranks(hosts: Sequence[JudgedHost]) -> Results:
    """A variable is set on some ranks but not on others.

    Why: Usually the launcher did not forward the variables that were exported on the first node.
    Example: export NCCL_IB_HCA=mlx5_0 before mpirun, without -x NCCL_IB_HCA
    Instead: mpirun -x NCCL_IB_HCA or srun --export=ALL
    Source: https://github.com/NVIDIA/nccl/pull/605; https://github.com/NVIDIA/nccl/issues/260
    """
    everywhere = Counter(host.name for host in hosts if not host.settings.unread)
    for name, values in (yield from _values(hosts)).items():
        entry = variables.every()[name]
        ours = entry.component == "nccl" and entry.status == "live"
        if name in _OWN or not (entry.must_match or ours):
            continue
        there = Counter(host for names in values.values() for host in names)
        without = everywhere - there
        if without:
            few, word = (without, "not set") if without.total() <= there.total() else (there, "set")
            message = f"{name} is set on {counted(there.total(), 'rank')} but not on {without.total()}"
            remedy = f"mpirun -x {name} or srun --export=ALL; or unset it on all ranks"
            lines = (f"{word} on {escaped(fold(few)[:200])}",)
            yield report.variable(
                name, message, remedy, evidence=lines, severity=None if entry.must_match else "warning"
            )


@across("CON003", "warning", needs=("rdma",))
def different_number_of_adapters(hosts: Sequence[JudgedHost]) -> Results:
    """Hosts differ in the number of active ports that NCCL may use.

    Why: The host with the fewest ports limits the number of channels on all hosts.
    Example: seven of eight ports are active on one host
    Instead: repair the inactive port; with NCCL_IGNORE_NET_MISMATCH=0, NCCL 2.30 refuses to start if the numbers
    differ
    Source: NCCL user guide, NCCL_IGNORE_NET_MISMATCH
    """
    counts: dict[str, int] = {}
    for host in hosts:
        devices = host.facts.rdma.devices
        if host.name in counts or host.integer("NCCL_IB_DISABLE"):
            continue
        if isinstance(devices, Unknown):
            yield devices
        else:
            counts[host.name] = sum(1 for _ in _active(host, devices))
    if len(set(counts.values())) > 1:
        usual = Counter(counts.values()).most_common(1)[0][0]
        odd = {count: [name for name in counts if counts[name] == count] for count in sorted(set(counts.values()))}
        del odd[usual]
        message = f"most hosts have {counted(usual, 'active port')}, but others have {min(odd)}"
        remedy = "run `rdma link show` on these hosts; exclude them from the job until they are repaired"
        lines = tuple(f"{escaped(fold(names)[:160])}: {count}" for count, names in [*odd.items()][:4])
        yield report.device("RDMA ports", message, remedy, evidence=lines)


def _active(host: JudgedHost, devices: Sequence[RdmaDevice]) -> Iterator[int]:
    chosen = host.settings.names("NCCL_IB_HCA")
    for device in devices:
        for port in or_none(device.ports) or ():
            if port.state == "ACTIVE" and (chosen is None or chosen.chooses(device.name, port.number)):
                yield port.number


@for_number("CON007", "info", "NCCL_IGNORE_NET_MISMATCH", "NCCL_IGNORE_COLLNET_MISMATCH", covers=())
def unequal_adapters_tolerated(host: JudgedHost, variable: Variable, ignored: int) -> Results:
    """NCCL_IGNORE_NET_MISMATCH or NCCL_IGNORE_COLLNET_MISMATCH is 1.

    Why: NCCL starts although some ranks have fewer adapters, usually because of a fault; the job is slow or hangs.
    For NET, 1 is the default, so that setting it changes nothing.
    Example: NCCL_IGNORE_NET_MISMATCH=1
    Instead: set it to 0, and repair the hosts that NCCL then names
    Source: NCCL user guide, both variables; src/init.cc (localNetDeviceCount)
    """
    if ignored == 1 and host.nodes != 1:
        message = "NCCL starts although some ranks have fewer adapters than others"
        yield report.better_set(
            variable, "0", message, f"export {variable.name}=0 and repair the ranks that NCCL names"
        )


@rule("CON004", "warning", needs=("process",))
def changed_by_the_program(host: JudgedHost) -> Results:
    """The program has changed an NCCL variable since it started.

    Why: NCCL caches the first value it reads: setting the variable after the first communicator has no effect,
    unless NCCL_NO_CACHE names it.
    Example: os.environ["NCCL_ALGO"] = "Ring" after init_process_group
    Instead: set the variable in the launcher or before importing torch
    Source: NCCL src/misc/param.cc
    """
    if not any(host.settings.beginning("NCCL_")):
        return
    changed = known(host.facts.process.changed)
    cached = (host.get("NCCL_NO_CACHE") or "").split(",")
    for name in (escaped(name[:80]) for name in changed if name not in cached and "ALL" not in cached):
        message = f"{name} differs from what the process was started with"
        remedy = "set it in the launcher or before torch is imported"
        yield report.variable(name, message, remedy, evidence=("NCCL reads each variable once",))


@for_value("CON005", "error", "OMPI_MCA_btl_tcp_if_exclude")
def include_and_exclude(host: JudgedHost, exclude: Variable, _: str) -> Results:
    """OMPI_MCA_btl_tcp_if_include and OMPI_MCA_btl_tcp_if_exclude are both set.

    Why: Open MPI accepts only one of them and refuses to start with both.
    Example: OMPI_MCA_btl_tcp_if_include=eth0 and OMPI_MCA_btl_tcp_if_exclude=lo
    Instead: set only OMPI_MCA_btl_tcp_if_include
    Source: NCCL user guide, troubleshooting, MPI
    """
    if include := host.variable("OMPI_MCA_btl_tcp_if_include"):
        message = "Open MPI refuses to include and exclude interfaces at the same time"
        evidence = (f"{include.name}={escaped(include.value[:80])}",)
        yield report.better_unset(exclude, message, part="", evidence=evidence)


_OF_PROFILES = frozenset({
    "NCCL_BUFFSIZE", "NCCL_P2P_NET_CHUNKSIZE", "NCCL_P2P_PCI_CHUNKSIZE", "NCCL_P2P_NVL_CHUNKSIZE",
    "NCCL_NVLS_CHUNKSIZE", "NCCL_NVLSTREE_MAX_CHUNKSIZE", "NCCL_NVLS_NCHANNELS", "NCCL_NET_FORCE_FLUSH",
    "NCCL_NETDEVS_POLICY", "NCCL_NET_GDR_C2C", "NCCL_PXN_C2C", "NCCL_IB_MERGE_NICS", "NCCL_IB_FIFO_TC",
    "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_NET_LATENCY", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE",
    "NCCL_GDRCOPY_ENABLE", "NCCL_SHM_USE_CUDA_MEMCPY", "NCCL_IGNORE_CPU_AFFINITY", "NCCL_DYNAMIC_CHUNK_SIZE",
    "NCCL_TUNER_CONFIG_PATH", "NCCL_DMABUF_ENABLE", "NCCL_IB_SPLIT_DATA_ON_QPS",
})  # fmt: skip
"""Variables in the published profiles of AWS, Google, Azure, Oracle and CoreWeave."""


@rule("CON006", "info")
def undocumented_variable(host: JudgedHost) -> Results:
    """Neither the NCCL user guide nor any cloud provider's profile documents this variable.

    Why: The next release may change or remove the variable: four variables added in 2.28 and 2.29 were removed in
    2.30.
    Example: NCCL_CHUNK_SIZE=16384
    Instead: unset the variable, unless the vendor requires it
    Source: source code of NCCL 2.3.5 to 2.30.7, compared with the user guide
    """
    for variable, entry in host.listed("NCCL_"):
        name, ours = variable.name, entry.component == "nccl" and entry.status == "live"
        if ours and not entry.documented and name not in _OF_PROFILES:
            remedy = f"unset {name}, unless the vendor requires it"
            yield report.better_unset(variable, f"the NCCL user guide does not document {name}", remedy, part="")


@across("CON008", "info", covers=(), needs=("cpu",), library="NCCL")
def cpu_makers_differ(hosts: Sequence[JudgedHost]) -> Results:
    """Hosts have processors of different makers.

    Why: NCCL 2.18 and 2.19 estimate the cost of the network by the maker: ranks may choose different algorithms
    for one call, which then hangs. Other releases share the estimate, but hosts differ in speed.
    Example: Intel and AMD hosts in one job, with NCCL 2.19.3
    Instead: NCCL_NET_OVERHEAD=1000 on all hosts, or NCCL 2.20 or newer
    Source: https://github.com/NVIDIA/nccl/issues/1136
    Since: NCCL 2.18.1
    """
    makers = yield from by_value(hosts, lambda host: host.facts.cpu.vendor)
    if len(makers) > 1 and not any(host.get("NCCL_NET_OVERHEAD") for host in hosts):
        severity = hosts[0].if_nccl_is("warning", (2, 18), (2, 20), other="info")
        lines = tuple(f"{escaped(maker[:40])}: {len(some)} hosts" for maker, some in makers.items())
        message = f"processors of {len(makers)} makers: ranks may choose different algorithms"
        remedy = "set NCCL_NET_OVERHEAD=1000 on all hosts, or use NCCL 2.20 or newer"
        yield report.host(hosts[0].name, message, remedy, evidence=lines, severity=severity)


@across("CON009", "error", covers=())
def one_address_for_all(hosts: Sequence[JudgedHost]) -> Results:
    """Several hosts publish the same address as their own.

    Why: vLLM counts the nodes by VLLM_HOST_IP, and ends with an error or hangs. The side channel of NIXL listens
    at its address, and only one of the hosts has it.
    Example: VLLM_HOST_IP=10.0.0.1 on both nodes
    Instead: set VLLM_HOST_IP on each node to its own address
    Source: https://github.com/vllm-project/vllm/pull/7756; vLLM documentation, NixlConnector usage guide;
    https://github.com/ai-dynamo/dynamo/issues/2706
    """
    for name in OWN_ADDRESSES:
        found = yield from by_value(hosts, partial(_published, name))
        for some in found.values():
            variable = some[0].variable(name) if len(some) > 1 else None
            if variable:
                remedy = "set it on each host to the host's own address"
                yield report.about(variable, f"{len(some)} hosts have this address", remedy)


def _published(name: str, host: JudgedHost) -> str | None:
    """An address that one host can have. Every host listens at its loopback address, which another rule judges."""
    address = host.get(name)
    if not address:
        return None
    everywhere = is_loopback_name(address) or is_unspecified(address)
    return None if everywhere and name != "VLLM_HOST_IP" else address
