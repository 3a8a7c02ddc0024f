"""AWS: EFA, aws-ofi-nccl, and libfabric."""

import re

from nccltool.core.findings import Severity
from nccltool.core.text import counted
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version, parse
from nccltool.doctor import report
from nccltool.doctor.rules.base import (
    JudgedHost,
    Results,
    Variable,
    escaped,
    for_number,
    for_text,
    for_value,
    known,
    rule,
)
from nccltool.hosts import published_networks
from nccltool.hosts.facts import Plugin, RdmaDevice, or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.variables import KnownVariable

_OF_TCP = {"tcp", "sockets", "udp", "net", "ofi_rxm", "ofi_rxd"}
"""Providers and layers that end in the kernel's TCP or UDP: libfabric, fi_provider(7)."""
_DEFAULTS = {
    "NCCL_BUFFSIZE": "8388608",
    "NCCL_P2P_NET_CHUNKSIZE": "524288",
    "NCCL_NVLS_CHUNKSIZE": "524288",
    "NCCL_NVLSTREE_MAX_CHUNKSIZE": "524288",
    "NCCL_NETDEVS_POLICY": "max:1",
    "NCCL_NET_FORCE_FLUSH": "0",
    "NCCL_TOPO_FILE": "",
}
"""What aws-ofi-nccl sets, on the instances where it does: src/platform-aws.cpp. The topology file is its own."""


def _efa(host: JudgedHost) -> tuple[RdmaDevice, ...]:
    """The EFA devices. Raises NotKnown."""
    return tuple(device for device in known(host.facts.rdma.devices) if device.driver == "efa")


def _net_plugins(host: JudgedHost) -> list[Plugin]:
    """Network plugins that the loader finds. Raises NotKnown."""
    plugins = known(host.facts.plugins)
    return [one for one in plugins if one.name.startswith("libnccl-net") and one.library.origin != "vendor"]


@rule("AWS001", "warning", needs=("rdma", "plugins"))
def efa_without_plugin(host: JudgedHost) -> Results:
    """The host has EFA devices, but the loader finds no network plugin.

    Why: NCCL's built-in transports cannot use EFA, so it falls back to TCP over the ordinary interface.
    Example: a container without aws-ofi-nccl
    Instead: add aws-ofi-nccl to LD_LIBRARY_PATH; with NCCL_NET="AWS Libfabric", NCCL fails if the plugin is
    missing
    Source: https://github.com/aws/aws-ofi-nccl, README and doc/efa-env-var.md
    """
    devices = _efa(host)
    if not devices or _net_plugins(host) or or_none(host.nodes) == 1:
        return
    elsewhere = [one.library.path for one in known(host.facts.plugins) if one.name.startswith("libnccl-net")]
    folder = escaped(elsewhere[0].rpartition("/")[0][:160]) if elsewhere else ""
    message = f"{counted(len(devices), 'EFA device')}, but no network plugin: NCCL will use TCP"
    remedy = f"export LD_LIBRARY_PATH={folder}:$LD_LIBRARY_PATH" if folder else "install aws-ofi-nccl"
    lines = (
        f"outside the loader's search path: {escaped(elsewhere[0][:160])}" if elsewhere else "no libnccl-net*.so",
    )
    severity = host.if_several_nodes()
    yield report.device(f"{devices[0].name}, ...", message, remedy, evidence=lines, severity=severity)


@rule("AWS002", "info", needs=("rdma", "network"))
def several_network_interfaces(host: JudgedHost) -> Results:
    """The host has several network interfaces, and NCCL_SOCKET_IFNAME does not choose one.

    Why: NCCL may bootstrap over a secondary interface or a container bridge.
    Example: p5.48xlarge with 32 network interfaces
    Instead: NCCL_SOCKET_IFNAME=^docker,lo,veth
    Source: https://github.com/aws-samples/awsome-distributed-training, EFA cheat sheet
    """
    if host.get("NCCL_SOCKET_IFNAME") is not None or not _efa(host):
        return
    own = [one.name for one in known(host.facts.network.interfaces) if one.driver == "ena"]
    if len(own) > 1 and host.several_nodes:
        message = f"NCCL may choose any of {len(own)} interfaces for bootstrap"
        fix = report.export("NCCL_SOCKET_IFNAME", "^docker,lo,veth")
        yield report.variable("NCCL_SOCKET_IFNAME", message, evidence=(escaped(", ".join(own)[:160]),), fix=fix)


@for_value("AWS003", "info", "FI_EFA_USE_DEVICE_RDMA", "RDMAV_FORK_SAFE", needs=("plugins",))
def obsolete_efa_switch(host: JudgedHost, variable: Variable, _: str) -> Results:
    """FI_EFA_USE_DEVICE_RDMA or RDMAV_FORK_SAFE is set for a plugin that needs neither.

    Why: aws-ofi-nccl 1.7 and newer do not need them, and RDMAV_FORK_SAFE slows memory registration.
    Example: FI_EFA_USE_DEVICE_RDMA=1
    Instead: unset both variables
    Source: aws-ofi-nccl doc/efa-env-var.md
    """
    if variable.name == "RDMAV_FORK_SAFE" and _is_efa_chosen(host):
        return
    version = _plugin_version(host)
    if version is not None and version >= Version(1, 7):
        yield report.better_unset(variable, f"aws-ofi-nccl {version} does not need it", part="")


def _is_efa_chosen(host: JudgedHost) -> bool:
    return "efa" in re.split(r"[,;]", (host.get("FI_PROVIDER") or "").strip().lower())


@for_text("AWS014", "warning", "RDMAV_FORK_SAFE", "IBV_FORK_SAFE", covers=())
def fork_support_of_rdma_core(host: JudgedHost, variable: Variable, text: str) -> Results:
    """RDMAV_FORK_SAFE or IBV_FORK_SAFE is on, and FI_PROVIDER is efa.

    Why: EFA's provider and its plugin manage fork support themselves. These rdma-core variables slow down
    memory registration and can break jobs on newer kernels, so AWS says not to use them. aws-ofi-nccl older
    than 1.2 on kernels older than 5.15 needs FI_EFA_FORK_SAFE=1 instead.
    Example: FI_PROVIDER=efa and RDMAV_FORK_SAFE=1
    Instead: unset RDMAV_FORK_SAFE
    Source: aws-ofi-nccl doc/efa-env-var.md; https://github.com/ofiwg/libfabric/issues/6332
    """
    if text.strip() != "0" and _is_efa_chosen(host):
        yield report.better_unset(variable, "EFA's provider manages fork support itself", part="")


def _plugin_version(host: JudgedHost) -> Version | None:
    """Of aws-ofi-nccl; None = it is not there. Raises NotKnown."""
    plugins = _net_plugins(host)
    if not plugins:
        return None
    told = [one.library.version for one in plugins]
    texts = [text for text in told if isinstance(text, str) and text]
    return parse(texts[0]) if texts else parse(known(told[0]))


@for_text("AWS004", "info", *_DEFAULTS, needs=("rdma",))
def plugin_overruled(host: JudgedHost, variable: Variable, value: str) -> Results:
    """A variable has a value other than the one the AWS plugin would set.

    Why: The plugin applies the values measured for this instance type only if the variable is unset.
    Example: NCCL_BUFFSIZE=4194304 on p5
    Instead: unset the variable
    Source: aws-ofi-nccl src/platform-aws.cpp
    """
    own = _DEFAULTS[variable.name]
    if _efa(host) and value != own:
        message = f"{variable.name} overrides the AWS plugin's value for this instance type"
        yield report.better_unset(variable, message, evidence=(f"the plugin sets {own}",) if own else ())


_WORDS = {
    "OFI_NCCL_PROTOCOL": ("SENDRECV", "RDMA"),
    "OFI_NCCL_TUNER_TYPE": ("INTERNAL", "REGION", "MODEL"),
    "OFI_NCCL_PROGRESS_MODEL": ("UNSPEC", "AUTO", "MANUAL"),
    "OFI_NCCL_NVTX_TRACE_DIMENSION": ("PER_COMM", "PER_DEV"),
    "OFI_NCCL_GDAKI_EFA_HW_COUNTER": ("AUTO", "ON", "OFF"),
}
_SIGNED = ("OFI_NCCL_EAGER_MAX_SIZE", "OFI_NCCL_NIC_DUP_CONNS", "OFI_NCCL_TUNER_NUM_CHANNELS")
_INTEGER = re.compile(r"[ \t\n\v\f\r]*[+-]?\d{1,20}", re.ASCII)
_FATAL_IF_SET = ("OFI_NCCL_RDMA_MIN_POSTED_BOUNCE_BUFFERS", "OFI_NCCL_RDMA_MAX_POSTED_BOUNCE_BUFFERS")


@rule("AWS005", "error")
def bad_plugin_setting(host: JudgedHost) -> Results:
    """An aws-ofi-nccl variable has an invalid value or was removed from the plugin.

    Why: The plugin does not start (EINVAL), and NCCL falls back to TCP.
    Example: OFI_NCCL_PROTOCOL=RMDA
    Instead: OFI_NCCL_PROTOCOL=RDMA
    Source: aws-ofi-nccl include/nccl_ofi_param.h, include/nccl_ofi_param_impl.h
    """
    for variable, entry in host.listed("OFI_NCCL_"):
        if why := _refused(entry, variable.value):
            remedy = f"unset {variable.name} or correct it"
            # an older plugin reads it
            severity: Severity | None = "warning" if variable.name in _FATAL_IF_SET else None
            message = f"the plugin does not start: {why}"
            yield report.better_unset(variable, message, remedy, severity=severity)


def _refused(entry: KnownVariable, value: str) -> str:
    if entry.name in _FATAL_IF_SET:
        return "this variable was removed"
    words = _WORDS.get(entry.name)
    if words:
        return "" if value.upper() in words else f"expected one of {', '.join(words)}"
    number = _INTEGER.fullmatch(value)
    if entry.type == "ofi boolean":
        return "" if number or value.lower() in ("true", "false") else "expected true, false, or a number"
    if entry.is_number or entry.type in ("integer", "bytes"):
        negative = value.lstrip().startswith("-") and entry.name not in _SIGNED
        return "" if number and not negative else "expected a number"
    return ""


@for_text("AWS006", "error", "FI_PROVIDER", needs=("rdma",))
def other_provider(host: JudgedHost, variable: Variable, text: str) -> Results:
    """FI_PROVIDER excludes EFA on a host that has it.

    Why: The plugin finds no EFA device. Without facts of the host, a provider of TCP is a warning: all traffic of
    a libfabric plugin then goes over TCP.
    Example: FI_PROVIDER=tcp
    Instead: unset FI_PROVIDER or set FI_PROVIDER=efa
    Source: aws-ofi-nccl doc/efa-env-var.md; libfabric, fabric(7)
    """
    words = {word for part in values.split(text.removeprefix("^").lower()) for word in part.split(";")}
    allowed = ("efa" in words) != text.startswith("^")
    if not allowed and isinstance(host.facts.rdma.devices, Unknown):
        yield from _by_settings(host, variable, words)
    if not allowed and _efa(host):
        yield report.better_unset(variable, "FI_PROVIDER excludes EFA")


def _by_settings(host: JudgedHost, variable: Variable, words: set[str]) -> Results:
    """What other settings tell of a provider other than EFA: the host is not known."""
    for_efa = next(host.settings.beginning("FI_EFA_"), None)
    network = (host.get("NCCL_NET") or "").lower()
    unused = network in ("ib", "socket") or (host.get("NCCL_NET_PLUGIN") or "").lower() == "none"
    if for_efa:
        message = f"FI_PROVIDER excludes EFA, although {for_efa.name} is set"
        yield report.better_unset(variable, message, severity="warning")
    elif words and words <= _OF_TCP and not unused and host.nodes != 1:
        message = "a libfabric plugin uses TCP, at a fraction of the bandwidth of RDMA"
        remedy = "unset FI_PROVIDER, or set the provider of the fabric: efa, cxi, or verbs"
        yield report.better_unset(variable, message, remedy, severity="warning")


@rule("AWS009", "warning", covers=(), needs=("rdma",))
def efa_not_used(host: JudgedHost) -> Results:
    """EFA is set up, but NCCL is told to use a network without it.

    Why: EFA needs a plugin: NCCL's own networks are InfiniBand verbs, which EFA lacks, and TCP.
    Example: FI_PROVIDER=efa and NCCL_NET=Socket
    Instead: unset NCCL_NET, or set NCCL_NET="AWS Libfabric"
    Source: https://github.com/aws/aws-ofi-nccl, README; NCCL user guide, NCCL_NET and NCCL_NET_PLUGIN
    """
    efa = (host.get("FI_PROVIDER") or "").lower() == "efa" or next(host.settings.beginning("FI_EFA_"), None)
    network, plugin = host.variable("NCCL_NET"), host.variable("NCCL_NET_PLUGIN")
    own = network if network and network.value.lower() in ("ib", "socket") else None
    none = plugin if plugin and plugin.value.lower() == "none" else None
    variable = own or none
    # a host without EFA may keep these settings in a common file
    if not variable or not efa or not (isinstance(host.facts.rdma.devices, Unknown) or _efa(host)):
        return
    message = f"{variable.name} keeps NCCL from using EFA"
    yield report.better_unset(variable, message, severity=host.if_several_nodes("warning"))


@for_number("AWS010", "warning", "FI_EFA_USE_DEVICE_RDMA", covers=())
def efa_without_rdma(host: JudgedHost, variable: Variable, is_on: int) -> Results:
    """FI_EFA_USE_DEVICE_RDMA=0 disables RDMA on EFA.

    Why: libfabric then copies the data through host memory. The plugin refuses to start on instance types with
    GPUDirect RDMA.
    Example: FI_EFA_USE_DEVICE_RDMA=0
    Instead: unset FI_EFA_USE_DEVICE_RDMA
    Source: libfabric, fi_efa(7); aws-ofi-nccl doc/efa-env-var.md
    """
    if not is_on:
        yield report.better_unset(variable, "EFA does not use RDMA")


_NO_READ = re.compile(r"(p3dn|g4dn|c5n|m5n|m5dn|r5n|r5dn|inf1|i3en)\.", re.IGNORECASE)
_FIRST_EFA = "0xefa0"


@for_number("AWS012", "error", "FI_EFA_USE_DEVICE_RDMA", covers=(), needs=("rdma", "cloud"))
def rdma_of_first_efa(host: JudgedHost, variable: Variable, is_on: int) -> Results:
    """FI_EFA_USE_DEVICE_RDMA=1 on a device that cannot read by RDMA.

    Why: The first generation of EFA has no RDMA read, and libfabric aborts when it is asked for it.
    Example: FI_EFA_USE_DEVICE_RDMA=1 on p3dn.24xlarge
    Instead: unset FI_EFA_USE_DEVICE_RDMA; libfabric 1.18 and newer decide by the device
    Source: https://github.com/ofiwg/libfabric/issues/8186; libfabric, fi_efa(7)
    """
    if not is_on:
        return
    devices = [or_none(one.device) for one in or_none(host.facts.rdma.devices) or ()]
    instance = or_none(host.facts.cloud.product_name) or ""
    if _FIRST_EFA in devices or (_NO_READ.match(instance) and not any(devices)):
        yield report.better_unset(variable, "the EFA device of this instance has no RDMA read: libfabric aborts")


@for_text("AWS011", "warning", "FI_MR_CACHE_MONITOR", covers=())
def memory_hooks(_: JudgedHost, variable: Variable, monitor: str) -> Results:
    """FI_MR_CACHE_MONITOR=memhooks: libfabric intercepts the functions that map memory.

    Why: The hooks run within the GPU driver's own calls and may wait there for a lock that another thread holds:
    NCCL and RCCL hang.
    Example: FI_MR_CACHE_MONITOR=memhooks
    Instead: FI_MR_CACHE_MONITOR=userfaultfd
    Source: https://github.com/ofiwg/libfabric/issues/9003; https://github.com/olcf/olcf-user-docs/issues/947;
    libfabric, fi_mr(3)
    """
    if monitor == "memhooks":
        message = "NCCL and RCCL may hang with this monitor"
        remedy = "export FI_MR_CACHE_MONITOR=userfaultfd, or kdreg2 where it is installed"
        fix = report.export("FI_MR_CACHE_MONITOR", "userfaultfd")
        yield report.about(variable, message, remedy, fix=fix)


_GIN = Version(2, 31, 2)


@for_number("AWS015", "warning", "NCCL_GIN_TYPE", "NCCL_GIN_ENABLE", covers=())
def gin_before_its_support(host: JudgedHost, variable: Variable, asked: int) -> Results:
    """GPU-initiated networking (GIN) is requested on EFA, but NCCL is older than 2.31.2.

    Why: aws-ofi-nccl supports GIN since 1.21, with NCCL 2.31.2 or newer. On P5, NCCL 2.28.9 failed with
    "Unexpected number of remote rails"; OFI_NCCL_FORCE_NUM_RAILS=4 helped. The rule checks jobs on several nodes:
    outside a launcher, pass --nodes 2.
    Example: FI_PROVIDER=efa and NCCL_GIN_TYPE=2 with NCCL 2.28.9
    Instead: install NCCL 2.31.2 and aws-ofi-nccl 1.21, or unset NCCL_GIN_TYPE
    Source: aws-ofi-nccl, doc/gin-getting-started.md; https://github.com/aws/aws-ofi-nccl/issues/1061
    """
    is_second = variable.name == "NCCL_GIN_ENABLE" and host.get("NCCL_GIN_TYPE") is not None
    if asked <= 0 or is_second or not _is_efa_chosen(host) or host.get("OFI_NCCL_FORCE_NUM_RAILS"):
        return
    if host.several_nodes and host.nccl_is(before=_GIN):
        message = f"aws-ofi-nccl needs NCCL {_GIN} for GIN; with this one, OFI_NCCL_FORCE_NUM_RAILS=4 may help"
        remedy = f"install NCCL {_GIN} and aws-ofi-nccl 1.21, or unset {variable.name}"
        yield report.about(variable, message, remedy)


@rule("AWS007", "info", needs=("rdma", "limits"))
def fork_with_huge_pages(host: JudgedHost) -> Results:
    """Huge pages are reserved on a host with EFA, and FI_EFA_USE_HUGE_PAGE is not set.

    Why: libfabric uses huge pages for its buffers, and a data loader's fork may then fail with ENOMEM.
    Example: vm.nr_hugepages=5128
    Instead: set FI_EFA_USE_HUGE_PAGE=0 if forks fail
    Source: aws-ofi-nccl doc/efa-env-var.md
    """
    if host.get("FI_EFA_USE_HUGE_PAGE") is not None or not _efa(host):
        return
    pages = known(host.facts.limits.hugepages_total)
    if pages > 0:
        message = "data loaders may fail to fork with ENOMEM"
        remedy = "if forks fail: export FI_EFA_USE_HUGE_PAGE=0"
        lines = (f"HugePages_Total: {pages}",)
        fix = report.export("FI_EFA_USE_HUGE_PAGE", "0")
        yield report.variable("FI_EFA_USE_HUGE_PAGE", message, remedy, evidence=lines, fix=fix)


@for_value("AWS008", "info", "NCCL_SHM_USE_CUDA_MEMCPY")
def dead_tip(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_SHM_USE_CUDA_MEMCPY is set, and this NCCL does not read it.

    Why: The advice for g5 and g6 instances is for older releases; NCCL 2.30.7 removed the variable.
    Example: NCCL_SHM_USE_CUDA_MEMCPY=1 with NCCL 2.30.7
    Instead: unset the variable and measure again
    Source: source code of NCCL 2.13.4 to 2.30.7; awsome-distributed-training, EFA cheat sheet
    """
    if host.nccl_is(since=(2, 30, 7)):
        remedy = "unset NCCL_SHM_USE_CUDA_MEMCPY and measure again"
        yield report.better_unset(variable, f"NCCL {host.nccl} does not read it", remedy, part="")


@rule("AWS013", "warning", covers=(), needs=("rdma", "cloud", "nvidia", "amd", "network"))
def fewer_efa_devices(host: JudgedHost) -> Results:
    """A job of several nodes has fewer EFA devices than GPUs and than the instance type offers.

    Why: GPUs share a device, so bandwidth between nodes falls. A pod gets only the devices that it requests, an
    instance only those that it was launched with.
    Example: vpc.amazonaws.com/efa: 1 in a pod on p5.48xlarge
    Instead: request all of them: vpc.amazonaws.com/efa: 32
    Source: AWS, EC2 user guide, maximize network bandwidth with multiple network cards
    """
    devices = _efa(host)
    published = published_networks.of_host(host.facts) if devices else None
    if published is None or published.driver != "efa":
        return
    enough = min(published.devices, known(host.facts.nvidia.visible_gpus))
    if len(devices) < enough and host.several_nodes:
        message = f"{len(devices)} of {counted(published.devices, 'EFA device')} can be used"
        remedy = f"request all: vpc.amazonaws.com/efa: {published.devices}"
        yield report.device("EFA", message, remedy, evidence=(published.text,))
