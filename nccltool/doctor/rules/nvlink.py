"""NVLink (NVLS, multi-node NVLink, the fabric manager) and CollNet."""

import re
from collections.abc import Sequence

from nccltool.core.findings import Severity
from nccltool.core.text import escaped
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import RACK, JudgedHost, Results, for_number, for_text, for_value, rule
from nccltool.hosts.facts import Gpu, known, or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import Variable

_NVLS_SINCE = 9.0
"""Compute capability of Hopper, the first GPU with NVLink SHARP."""
_NVLS_LEAST_GPUS = 4
_MANY_COMMUNICATORS = 64
"""A GPU has 128 multicast slots: https://github.com/NVIDIA/nccl/issues/2077."""
_CHUNK = 131072
_AWS_CHUNK = 524288
"""What aws-ofi-nccl sets on p5 and newer: src/platform-aws.cpp."""


def _on_switch(gpu: Gpu) -> bool:
    """The GPU has active links to an NVSwitch. Raises NotKnown."""
    return any(link.active and link.remote == "switch" for link in known(gpu.nvlinks))


def _capability(gpus: Sequence[Gpu]) -> float:
    """The lowest of all; NVLS needs it everywhere. Raises NotKnown."""
    return min((known(gpu.compute_capability) for gpu in gpus), default=0.0)


@for_number("NV001", "info", "NCCL_NVLS_ENABLE", needs=("nvidia",))
def nvls_forced(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_NVLS_ENABLE is 1 on GPUs without NVLink SHARP.

    Why: The variable has no effect there: NVLink SHARP needs compute capability 9.0 and an NVSwitch.
    Example: NCCL_NVLS_ENABLE=1 on A100
    Instead: unset NCCL_NVLS_ENABLE
    Source: NCCL user guide, NCCL_NVLS_ENABLE
    """
    if enabled != 1 or not host.gpus:
        return
    capability = _capability(host.gpus)
    old = capability < _NVLS_SINCE
    if old or not all(map(_on_switch, host.gpus)):
        evidence = (f"compute capability {capability}" if old else "no NVSwitch",)
        yield report.better_unset(variable, "these GPUs have no NVLink SHARP", evidence=evidence)


@for_number("NV002", "info", "NCCL_NVLS_ENABLE", needs=("nvidia", "cloud"))
def nvls_disabled(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_NVLS_ENABLE is 0 on GPUs with NVLink SHARP.

    Why: All-reduce within the node loses up to a third of its bandwidth, and in a rack, all-reduce between nodes
    loses more. The setting is useful only on hosts where multicast fails. Google's second profile for A3 Mega,
    with NCCL_PROTO=Simple, sets it by design.
    Example: NCCL_NVLS_ENABLE=0 on HGX H100
    Instead: unset NCCL_NVLS_ENABLE if the fabric manager works and NCCL initializes without it
    Source: https://github.com/NVIDIA/nccl/issues/2077; NCCL user guide, NCCL_NVLS_ENABLE
    """
    if enabled or len(host.gpus) < _NVLS_LEAST_GPUS:
        return
    if (
        not isinstance(host.nodes, Unknown)
        and host.nodes > 1
        and any(RACK.search(or_none(gpu.name) or "") for gpu in host.gpus)
    ):
        message = "all-reduce over the NVLink of the rack does not use NVLink SHARP"
        yield report.better_unset(variable, message, severity="warning")
        return
    capability = _capability(host.gpus)
    if capability >= _NVLS_SINCE and sum(map(_on_switch, host.gpus)) >= _NVLS_LEAST_GPUS:
        message = "all-reduce within the node does not use NVLink SHARP"
        lines = (f"{len(host.gpus)} GPUs on NVSwitch, compute capability {capability}",)
        severity: Severity | None = None if host.facts.cloud.provider == "gcp" else "warning"
        yield report.better_unset(variable, message, evidence=lines, severity=severity)


@rule("NV003", "warning", needs=("nvidia", "process"))
def many_communicators(host: JudgedHost) -> Results:
    """A process has many communicators, each of which takes one of the few multicast slots.

    Why: Since 2.29, initialization fails when no slot is left; 2.27 and 2.28 continued without NVLS.
    Example: a hundred process groups with NCCL 2.29
    Instead: set NCCL_NVLS_ENABLE=0 or create fewer process groups
    Source: https://github.com/NVIDIA/nccl/issues/2077; NCCL user guide, NCCL_NVLS_ENABLE
    """
    if host.integer("NCCL_NVLS_ENABLE") == 0 or not host.gpus or not host.nccl_is(since=(2, 29)):
        return
    if _capability(host.gpus) < _NVLS_SINCE or not all(map(_on_switch, host.gpus)):
        return
    count = known(host.facts.process.communicators)
    if count > _MANY_COMMUNICATORS:
        message = f"{count} communicators in one process; a GPU has 128 multicast slots"
        remedy = "export NCCL_NVLS_ENABLE=0 or create fewer process groups"
        lines = (f"{count} threads are named NCCL Service",)
        fix = report.export("NCCL_NVLS_ENABLE", "0")
        yield report.variable("NCCL_NVLS_ENABLE", message, remedy, evidence=lines, fix=fix)


@for_number("NV004", "error", "NCCL_NVLS_ENABLE")
def nvls_on_shared_gpus(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_NVLS_ENABLE is 1 although several ranks may share a GPU.

    Why: With this combination, NCCL cannot create a communicator.
    Example: NCCL_MULTI_RANK_GPU_ENABLE=1 and NCCL_NVLS_ENABLE=1
    Instead: set NCCL_NVLS_ENABLE=2 (the default)
    Source: NCCL src/transport/nvls.cc (ncclNvlsInit)
    """
    version = or_none(host.nccl)
    shared = host.integer("NCCL_MULTI_RANK_GPU_ENABLE") and (version is None or version >= Version(2, 30))
    if enabled == 1 and shared:
        message = "ranks that share a GPU cannot create a communicator while NVLS is forced on"
        lines = ("NCCL_MULTI_RANK_GPU_ENABLE is on",)
        severity: Severity | None = None if version else "warning"
        yield report.better_unset(variable, message, evidence=lines, severity=severity)


@for_value("NV005", "error", "NCCL_ALGO", needs=("nvidia",))
def nvls_demanded_and_impossible(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_ALGO allows only NVLS, which is off or unavailable.

    Why: No algorithm remains, so calls fail.
    Example: NCCL_ALGO=NVLS and NCCL_NVLS_ENABLE=0
    Instead: set only one of the two variables
    Source: NCCL user guide, NCCL_ALGO; src/graph/tuning.cc
    """
    left = values.selection(text, values.ALGORITHMS, or_none(host.nccl)).left
    only = next((name for name, words in left.items() if words and {"NVLS", "NVLSTree"}.issuperset(words)), None)
    if not only:
        return
    why = "NCCL_NVLS_ENABLE is 0" if host.integer("NCCL_NVLS_ENABLE") == 0 else ""
    if not why and host.gpus and _capability(host.gpus) < _NVLS_SINCE:
        why = f"compute capability {_capability(host.gpus)}; NVLS needs 9.0"
    if why:
        message = f"no algorithm is left for {only}: NVLS is unavailable"
        severity = host.if_nccl_is("error", values.FUNCTION_LISTS, other="warning")
        yield report.better_unset(variable, message, evidence=(why,), severity=severity)


@for_number("NV006", "info", "NCCL_NVLSTREE_MAX_CHUNKSIZE", needs=("cloud", "nvidia"))
def tree_chunk_above_chunk(host: JudgedHost, variable: Variable, tree: int) -> Results:
    """NCCL_NVLSTREE_MAX_CHUNKSIZE is larger than NCCL_NVLS_CHUNKSIZE.

    Why: NCCL uses the smaller of the two.
    Example: NCCL_NVLSTREE_MAX_CHUNKSIZE=524288 and NCCL_NVLS_CHUNKSIZE=131072
    Instead: set NCCL_NVLS_CHUNKSIZE=524288 as well
    Source: NCCL src/enqueue.cc, src/transport/nvls.cc (ncclNvlsTuning); aws-ofi-nccl src/platform-aws.cpp
    """
    chunk = host.integer("NCCL_NVLS_CHUNKSIZE")
    if chunk is None and tree > _CHUNK:
        chunk = _default_chunk(host)
    if chunk is not None and tree > chunk:
        message = f"the chunk size remains {chunk}: NCCL_NVLS_CHUNKSIZE is smaller"
        yield report.about(variable, message, fix=report.export("NCCL_NVLS_CHUNKSIZE", str(tree)))


def _default_chunk(host: JudgedHost) -> int:
    """Where NCCL_NVLS_CHUNKSIZE is not set: AWS's plugin has its own; newer NCCL tunes Blackwell by network."""
    if host.facts.cloud.provider == "aws":
        return _AWS_CHUNK
    gpus = or_none(host.facts.nvidia.gpus) or ()
    blackwell = any((or_none(gpu.compute_capability) or 0) >= 10.0 for gpu in gpus)
    return 2 * _CHUNK if blackwell else _CHUNK


def _in_rack(gpus: Sequence[Gpu]) -> bool:
    """NVLink spans nodes here. Raises NotKnown when no GPU has a name."""
    return any(RACK.search(known(gpu.name)) for gpu in gpus)


def _mnnvl(host: JudgedHost) -> int:
    """0 off, 1 demanded, 2 automatic."""
    value = host.integer("NCCL_MNNVL_ENABLE")
    return 2 if value is None else value


@rule("NV007", "error", needs=("nvidia",))
def no_imex_channel(host: JudgedHost) -> Results:
    """Multi-node NVLink is expected, but this user has no usable IMEX channel.

    Why: Ranks cannot export memory to other nodes: NCCL fails with an error about IMEX channels.
    Example: a container on GB200 without /dev/nvidia-caps-imex-channels/channel0
    Instead: set NVIDIA_IMEX_CHANNELS=0 for the container; on the host, run nvidia-modprobe -s -i 0:1
    Source: NCCL src/mnnvl.cc; user guide, troubleshooting; https://github.com/NVIDIA/nccl/issues/1925
    """
    wanted = _mnnvl(host)
    if wanted == 0 or not host.gpus or (wanted != 1 and not (_in_rack(host.gpus) and host.several_nodes)):
        return
    if not known(host.facts.nvidia.imex_channels):
        message = "no IMEX channel is readable and writable: other nodes are unreachable over NVLink"
        remedy = "docker run -e NVIDIA_IMEX_CHANNELS=0; on the host: sudo nvidia-modprobe -s -i 0:1"
        lines = ("NCCL_MNNVL_ENABLE is 1" if wanted == 1 else "the GPU model belongs to an NVLink rack",)
        severity: Severity | None = None if wanted == 1 else "warning"  # not demanded, NCCL goes on without it
        device = "/dev/nvidia-caps-imex-channels"
        yield report.device(device, message, remedy, evidence=lines, severity=severity)


@for_number("NV008", "error", "NCCL_CUMEM_ENABLE")
def mnnvl_without_cumem(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_MNNVL_ENABLE=1 is set together with NCCL_CUMEM_ENABLE=0.

    Why: Multi-node NVLink needs cuMem memory: without it, NCCL skips the check and uses the network adapters.
    Example: NCCL_MNNVL_ENABLE=1 and NCCL_CUMEM_ENABLE=0
    Instead: unset NCCL_CUMEM_ENABLE
    Source: NCCL src/mnnvl.cc (ncclMnnvlCheck); user guide, NCCL_MNNVL_ENABLE
    """
    if not enabled and _mnnvl(host) == 1:
        yield report.better_unset(variable, "multi-node NVLink is requested but cannot work without cuMem")


@rule("NV009", "error", needs=("nvidia",))
def mnnvl_off_by_p2p(host: JudgedHost) -> Results:
    """NCCL_P2P_DISABLE=1 or NCCL_P2P_LEVEL=LOC is set on a system where NVLink spans nodes.

    Why: NCCL then does not look for multi-node NVLink.
    Example: NCCL_P2P_DISABLE=1 on GB200
    Instead: unset the variable
    Source: NCCL src/init.cc (before ncclMnnvlCheck)
    """
    disable, level = host.variable("NCCL_P2P_DISABLE"), host.variable("NCCL_P2P_LEVEL")
    local = level if level and values.path_level(level.value) == "LOC" else None
    off = disable if host.integer("NCCL_P2P_DISABLE") == 1 else local
    if off and host.gpus and _in_rack(host.gpus):
        yield report.better_unset(off, "NVLink is off within the node and between nodes")


def _spans_nodes(gpus: Sequence[Gpu]) -> bool:
    """The fabric is complete, and belongs to a domain. Raises NotKnown."""
    states = [(known(gpu.fabric_state), known(gpu.cluster_uuid)) for gpu in gpus]
    return any(state == "completed" and uuid.strip("0-") for state, uuid in states)


@for_number("NV010", "warning", "NCCL_MNNVL_ENABLE", needs=("nvidia",))
def mnnvl_disabled(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_MNNVL_ENABLE is 0 on a system where NVLink spans nodes.

    Why: Traffic between trays uses the network adapters, at half the bandwidth or less.
    Example: NCCL_MNNVL_ENABLE=0 on GB200 NVL72
    Instead: unset NCCL_MNNVL_ENABLE
    Source: NCCL user guide, NCCL_MNNVL_ENABLE
    """
    if not enabled and host.gpus and _spans_nodes(host.gpus) and host.several_nodes:
        yield report.better_unset(variable, "nodes in one NVLink domain use their network adapters")


@for_text("NV011", "warning", "NCCL_MNNVL_UUID", "NCCL_MNNVL_CLIQUE_ID")
def own_clique(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_MNNVL_UUID or NCCL_MNNVL_CLIQUE_ID is set.

    Why: These variables override the fabric manager's grouping of GPUs. This can join GPUs that are not connected
    or split a domain.
    Example: NCCL_MNNVL_CLIQUE_ID=1 left over from a test
    Instead: unset the variable, unless it splits the domain on purpose; in that case, use one value per part
    Source: NCCL user guide, NCCL_MNNVL_UUID and NCCL_MNNVL_CLIQUE_ID
    """
    if host.integer(variable.name) != -1:
        yield report.better_unset(variable, "this overrides which GPUs share NVLink")


@for_text("NV012", "warning", "NCCL_TOPO_FILE", needs=("files", "nvidia"))
def topology_of_the_rack(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_TOPO_FILE lists more GPUs than the node has, on a system where NVLink spans nodes.

    Why: A dump contains the whole domain, but the file must describe a single node.
    Example: NCCL_TOPO_FILE=/tmp/dump.xml, written by NCCL_TOPO_DUMP_FILE on GB200
    Instead: unset NCCL_TOPO_FILE or reduce the file to this node
    Source: NCCL user guide, NCCL_TOPO_FILE
    """
    file = host.facts.file("NCCL_TOPO_FILE")
    if file is None or file.exists is False or not host.gpus or not _in_rack(host.gpus):
        return
    named = len(re.findall(r"<gpu\b", known(file.text)))
    if named > len(host.gpus):
        yield report.better_unset(
            variable, f"the topology file has {named} GPUs, but this node has {len(host.gpus)}"
        )


@rule("NV013", "error", needs=("nvidia", "services", "cpu", "cloud"))
def fabric_not_ready(host: JudgedHost) -> Results:
    """The NVLink fabric is not ready, or a daemon that it needs is not running.

    Why: CUDA fails with "system not yet initialized" (802), or multicast setup fails.
    Example: the versions of nvidia-fabricmanager and the driver differ
    Instead: install the nvidia-fabricmanager version that matches the driver, then run systemctl start
    nvidia-fabricmanager
    Source: https://github.com/NVIDIA/nccl/issues/1672; NVML, nvmlDeviceGetGpuFabricInfoV
    """
    gpus = [gpu for gpu in host.gpus if _on_switch(gpu)]
    for gpu in gpus:
        state, status = known(gpu.fabric_state), or_none(gpu.fabric_status)
        broken = state == "completed" and status not in (None, "success")
        if state in ("not started", "in progress") or broken:
            remedy = "systemctl restart nvidia-fabricmanager; `nvidia-smi -q` shows Fabric State"
            lines = (f"fabric state {escaped(state)}, status {escaped(status or 'unknown')}",)
            yield report.device(f"GPU {gpu.pci}", "the NVLink fabric is not ready", remedy, evidence=lines)
            return
    yield from _daemons(host, gpus)


def _daemons(host: JudgedHost, gpus: Sequence[Gpu]) -> Results:
    """What only a daemon tells: GPUs that report no state, and NVLink between nodes."""
    # where a hypervisor keeps the switches, the fabric manager runs outside of the guest; EC2 passes them through
    silent = [gpu for gpu in gpus if gpu.fabric_state == "not supported"]
    if silent and (host.facts.cloud.provider == "aws" or not known(host.facts.cpu.hypervisor)):
        yield from _without(host, "nv-fabricmanager", "nvidia-fabricmanager")
    rack = [gpu for gpu in gpus if isinstance(gpu.name, str) and RACK.search(gpu.name)]
    if rack and _mnnvl(host) != 0 and host.several_nodes:
        yield from _without(host, "nvidia-imex", "nvidia-imex")


def _without(host: JudgedHost, daemon: str, unit: str) -> Results:
    if daemon not in known(host.facts.services.running):
        message = f"{daemon} is not running, and the NVLink fabric needs it"
        lines = ("no process with this name",)  # it may run outside of this container
        yield report.host(daemon, message, f"systemctl start {unit}", evidence=lines, severity="warning")


@for_number("NV014", "warning", "NCCL_COLLNET_ENABLE", needs=("plugins",))
def collnet_without_plugin(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_COLLNET_ENABLE is 1, but no plugin on the loader's path offers CollNet.

    Why: The setting has no effect, and NCCL reports this only at level INFO.
    Example: NCCL_COLLNET_ENABLE=1 without HPC-X
    Instead: add HPC-X's SHARP plugin to LD_LIBRARY_PATH or unset NCCL_COLLNET_ENABLE
    Source: NCCL user guide, NCCL_COLLNET_ENABLE
    """
    # without any network plugin CollNet is off for another reason, which has a rule of its own
    if enabled != 1 or (host.get("NCCL_NET_PLUGIN") or "").lower() == "none":
        return
    nets = [one for one in known(host.facts.plugins) if "net" in one.name and one.library.origin != "vendor"]
    if any("ncclCollNetPlugin" in symbol for one in nets for symbol in or_none(one.symbols) or ()):
        return
    unread = next((one.symbols for one in nets if isinstance(one.symbols, Unknown)), None)
    yield unread or report.better_unset(
        variable,
        "no plugin on the loader's path offers CollNet",
        "add nccl-rdma-sharp-plugin to LD_LIBRARY_PATH or unset NCCL_COLLNET_ENABLE",
        evidence=tuple(escaped(one.library.path[:160]) for one in nets[:4]),
    )


@for_number("NV015", "info", "NCCL_COLLNET_ENABLE")
def collnet_for_few_nodes(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_COLLNET_ENABLE is 1 in a job with fewer nodes than NCCL_COLLNET_NODE_THRESHOLD.

    Why: Below the threshold, NCCL does not use CollNet, despite the variable.
    Example: NCCL_COLLNET_ENABLE=1 on one node
    Instead: use at least two nodes or unset NCCL_COLLNET_ENABLE
    Source: NCCL src/init.cc (NCCL_COLLNET_NODE_THRESHOLD, default 2)
    """
    if enabled != 1:
        return
    threshold = host.integer("NCCL_COLLNET_NODE_THRESHOLD")
    least = 2 if threshold is None else threshold
    if known(host.nodes) < least:
        message = f"CollNet is off: the job has fewer than {least} nodes"
        yield report.about(variable, message, "unset NCCL_COLLNET_ENABLE or ignore this")
