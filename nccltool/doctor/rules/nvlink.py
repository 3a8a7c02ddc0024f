"""NVLink: NVLS, multi-node NVLink, the fabric manager; CollNet."""

import re
from collections.abc import Sequence

from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, escaped, known, rule
from nccltool.hosts.facts import Gpu, or_none
from nccltool.hosts.nccl import values

_NVLS_SINCE = 9.0
"""Compute capability of Hopper, the first GPU with NVLink SHARP."""
_BLACKWELL = 10.0
_NVLS_LEAST_GPUS = 4
_STRICT = (2, 29)
"""The release from which a failure to get a multicast slot ends the job, whatever NCCL_NVLS_ENABLE is."""
_MANY_COMMUNICATORS = 64
"""A GPU has 128 multicast slots: https://github.com/NVIDIA/nccl/issues/2077."""
_CHUNK = 131072
_AWS_CHUNK = 524288
"""What aws-ofi-nccl sets on p5 and newer: src/platform-aws.cpp."""
_NVLS = ("NVLS", "NVLSTree")
_RACK = re.compile(r"\bGB[23]00\b")
"""GPUs of systems whose NVLink spans nodes."""
_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"


def _gpus(host: JudgedHost) -> tuple[Gpu, ...]:
    return known(host.facts.nvidia.gpus)


def _capability(gpus: Sequence[Gpu]) -> float:
    """The lowest of all; NVLS needs it everywhere. Raises NotKnown."""
    return min((known(gpu.compute_capability) for gpu in gpus), default=0.0)


def _on_switch(gpu: Gpu) -> bool:
    """The GPU has active links to an NVSwitch. Raises NotKnown."""
    return any(link.active and link.remote == "switch" for link in known(gpu.nvlinks))


def _in_rack(gpus: Sequence[Gpu]) -> bool:
    """NVLink spans nodes here. Raises NotKnown when no GPU has a name."""
    return any(_RACK.search(known(gpu.name)) for gpu in gpus)


@rule("NV001", "nvls-forced", "info", needs=("nvidia",))
def nvls_forced(host: JudgedHost) -> Results:
    """NCCL_NVLS_ENABLE=1 on GPUs that have no NVLink SHARP.

    Why: It cannot help there: it takes compute capability 9.0 and an NVSwitch.
    Example: NCCL_NVLS_ENABLE=1 on A100
    Instead: unset NCCL_NVLS_ENABLE
    Source: NCCL user guide, NCCL_NVLS_ENABLE
    """
    variable = host.variable("NCCL_NVLS_ENABLE")
    if variable is None or host.integer("NCCL_NVLS_ENABLE") != 1 or not _gpus(host):
        return
    gpus = _gpus(host)
    old = _capability(gpus) < _NVLS_SINCE
    if old or not all(_on_switch(gpu) for gpu in gpus):
        yield report.better_unset(
            variable,
            "these GPUs have no NVLink SHARP",
            evidence=(f"compute capability {_capability(gpus)}" if old else "there is no NVSwitch",),
        )


@rule("NV002", "nvls-disabled", "warning", needs=("nvidia", "cloud"))
def nvls_disabled(host: JudgedHost) -> Results:
    """NCCL_NVLS_ENABLE=0 on GPUs that have NVLink SHARP.

    Why: All-reduce inside the node loses up to a third of its bandwidth. It is right only where multicast fails.
    Google's second profile for A3 Mega, the one with NCCL_PROTO=Simple, sets it by design.
    Example: NCCL_NVLS_ENABLE=0 on HGX H100
    Instead: unset NCCL_NVLS_ENABLE, when the fabric manager and NCCL are in order
    Source: https://github.com/NVIDIA/nccl/issues/2077; NCCL user guide, NCCL_NVLS_ENABLE
    """
    variable = host.variable("NCCL_NVLS_ENABLE")
    if variable is None or host.integer("NCCL_NVLS_ENABLE") != 0 or len(_gpus(host)) < _NVLS_LEAST_GPUS:
        return
    gpus = _gpus(host)
    if _capability(gpus) >= _NVLS_SINCE and sum(_on_switch(gpu) for gpu in gpus) >= _NVLS_LEAST_GPUS:
        profile = host.facts.cloud.provider == "gcp" and host.get("NCCL_PROTO") == "Simple"
        yield report.better_unset(
            variable,
            "all-reduce inside the node goes without NVLink SHARP",
            evidence=(f"{len(gpus)} GPUs on NVSwitch, compute capability {_capability(gpus)}",),
            severity="info" if profile else None,
        )


@rule("NV003", "many-communicators", "warning", needs=("nvidia", "process"))
def many_communicators(host: JudgedHost) -> Results:
    """A process has many communicators, and NCCL gives each one of the few multicast slots.

    Why: From 2.29 on initialization fails when there is none left; 2.27 and 2.28 went on without NVLS.
    Example: a hundred process groups with NCCL 2.29
    Instead: NCCL_NVLS_ENABLE=0, or fewer groups
    Source: https://github.com/NVIDIA/nccl/issues/2077; NCCL user guide, NCCL_NVLS_ENABLE
    """
    if host.integer("NCCL_NVLS_ENABLE") == 0 or not _gpus(host) or not host.nccl_is(since=_STRICT):
        return
    gpus = _gpus(host)
    if _capability(gpus) < _NVLS_SINCE or not all(_on_switch(gpu) for gpu in gpus):
        return
    count = known(host.facts.process.communicators)
    if count > _MANY_COMMUNICATORS:
        yield report.variable(
            "NCCL_NVLS_ENABLE",
            f"{count} communicators in one process; a GPU has 128 multicast slots",
            remedy="export NCCL_NVLS_ENABLE=0, or make fewer process groups",
            evidence=(f"{count} threads are called NCCL Service",),
            fix=report.export("NCCL_NVLS_ENABLE", "0"),
        )


@rule("NV004", "nvls-on-shared-gpus", "error")
def nvls_on_shared_gpus(host: JudgedHost) -> Results:
    """NCCL_NVLS_ENABLE=1 while several ranks may share a GPU.

    Why: Making a communicator fails.
    Example: NCCL_MULTI_RANK_GPU_ENABLE=1 and NCCL_NVLS_ENABLE=1
    Instead: NCCL_NVLS_ENABLE=2, the default
    Source: NCCL src/transport/nvls.cc (ncclNvlsInit)
    """
    variable = host.variable("NCCL_NVLS_ENABLE")
    if variable is None or host.integer("NCCL_NVLS_ENABLE") != 1 or not host.integer("NCCL_MULTI_RANK_GPU_ENABLE"):
        return
    version = or_none(host.nccl)
    if version is None or version >= Version(2, 30):
        yield report.better_unset(
            variable,
            "ranks that share a GPU cannot make a communicator with NVLS forced on",
            evidence=("NCCL_MULTI_RANK_GPU_ENABLE is on",),
        )


@rule("NV005", "nvls-demanded-and-impossible", "error", needs=("nvidia",))
def nvls_demanded_and_impossible(host: JudgedHost) -> Results:
    """NCCL_ALGO leaves only NVLS, and NVLS is off or not possible.

    Why: No algorithm remains: calls fail.
    Example: NCCL_ALGO=NVLS and NCCL_NVLS_ENABLE=0
    Instead: one of the two
    Source: NCCL user guide, NCCL_ALGO; src/graph/tuning.cc
    """
    variable = host.variable("NCCL_ALGO")
    if variable is None:
        return
    left = values.selection(variable.value, values.ALGORITHMS, or_none(host.nccl)).left
    only = [function for function, words in left.items() if words and set(words) <= set(_NVLS)]
    if not only:
        return
    why = "NCCL_NVLS_ENABLE is 0" if host.integer("NCCL_NVLS_ENABLE") == 0 else ""
    if not why and _gpus(host) and _capability(_gpus(host)) < _NVLS_SINCE:
        why = f"compute capability {_capability(_gpus(host))}; NVLS needs 9.0"
    if why:
        yield report.better_unset(
            variable, f"no algorithm is left for {only[0]}: NVLS is not to be had", evidence=(why,)
        )


@rule("NV006", "tree-chunk-above-chunk", "warning", needs=("cloud", "nvidia"))
def tree_chunk_above_chunk(host: JudgedHost) -> Results:
    """NCCL_NVLSTREE_MAX_CHUNKSIZE is larger than NCCL_NVLS_CHUNKSIZE.

    Why: NCCL takes the smaller one of the two.
    Example: NCCL_NVLSTREE_MAX_CHUNKSIZE=524288 alone, where the other is 131072
    Instead: NCCL_NVLS_CHUNKSIZE=524288, too
    Source: NCCL src/enqueue.cc, src/transport/nvls.cc (ncclNvlsTuning); aws-ofi-nccl src/platform-aws.cpp
    """
    variable = host.variable("NCCL_NVLSTREE_MAX_CHUNKSIZE")
    tree = host.integer("NCCL_NVLSTREE_MAX_CHUNKSIZE")
    if variable is None or tree is None:
        return
    chunk = host.integer("NCCL_NVLS_CHUNKSIZE")
    if chunk is None and tree > _CHUNK:
        chunk = _default_chunk(host)
    if chunk is not None and tree > chunk:
        yield report.about(
            variable,
            f"the chunk stays {chunk}: NCCL_NVLS_CHUNKSIZE is smaller",
            part=variable.value,
            remedy=f"export NCCL_NVLS_CHUNKSIZE={tree}",
            fix=report.export("NCCL_NVLS_CHUNKSIZE", str(tree)),
        )


def _default_chunk(host: JudgedHost) -> int:
    """Where NCCL_NVLS_CHUNKSIZE is not set: AWS's plugin has its own; newer NCCL tunes Blackwell by network."""
    if host.facts.cloud.provider == "aws":
        return _AWS_CHUNK
    gpus = or_none(host.facts.nvidia.gpus) or ()
    blackwell = any((or_none(gpu.compute_capability) or 0) >= _BLACKWELL for gpu in gpus)
    return 2 * _CHUNK if blackwell else _CHUNK


def _mnnvl(host: JudgedHost) -> int:
    """0 off, 1 demanded, 2 automatic."""
    value = host.integer("NCCL_MNNVL_ENABLE")
    return 2 if value is None else value


@rule("NV007", "no-imex-channel", "error", needs=("nvidia",))
def no_imex_channel(host: JudgedHost) -> Results:
    """Multi-node NVLink is wanted, and there is no IMEX channel that this user may use.

    Why: Memory cannot be handed to other nodes: NCCL fails, and names the IMEX channels.
    Example: a container on GB200 without /dev/nvidia-caps-imex-channels/channel0
    Instead: NVIDIA_IMEX_CHANNELS=0 for the container; on the host nvidia-modprobe -s -i 0:1
    Source: NCCL src/mnnvl.cc; user guide, troubleshooting; https://github.com/NVIDIA/nccl/issues/1925
    """
    wanted = _mnnvl(host)
    if wanted == 0 or not _gpus(host):
        return
    if wanted != 1 and not (_in_rack(_gpus(host)) and host.several_nodes):
        return
    if not known(host.facts.nvidia.imex_channels):
        yield report.device(
            "/dev/nvidia-caps-imex-channels",
            "no IMEX channel can be read and written: other nodes cannot be reached over NVLink",
            remedy="give the container NVIDIA_IMEX_CHANNELS=0; on the host: sudo nvidia-modprobe -s -i 0:1",
            evidence=("NCCL_MNNVL_ENABLE is 1" if wanted == 1 else "the GPUs are those of a rack with NVLink",),
        )


@rule("NV008", "mnnvl-without-cumem", "error")
def mnnvl_without_cumem(host: JudgedHost) -> Results:
    """NCCL_MNNVL_ENABLE=1, and NCCL_CUMEM_ENABLE=0.

    Why: Multi-node NVLink needs memory of cuMem: without it NCCL leaves the check out, and goes through adapters.
    Example: NCCL_MNNVL_ENABLE=1 and NCCL_CUMEM_ENABLE=0
    Instead: unset NCCL_CUMEM_ENABLE
    Source: NCCL src/mnnvl.cc (ncclMnnvlCheck); user guide, NCCL_MNNVL_ENABLE
    """
    variable = host.variable("NCCL_CUMEM_ENABLE")
    if variable and _mnnvl(host) == 1 and host.integer("NCCL_CUMEM_ENABLE") == 0:
        yield report.better_unset(variable, "multi-node NVLink is demanded, and cannot work without cuMem")


@rule("NV009", "mnnvl-off-by-p2p", "error", needs=("nvidia",))
def mnnvl_off_by_p2p(host: JudgedHost) -> Results:
    """NCCL_P2P_DISABLE=1 or NCCL_P2P_LEVEL=LOC on a system whose NVLink spans nodes.

    Why: NCCL then does not even look for multi-node NVLink.
    Example: NCCL_P2P_DISABLE=1 on GB200
    Instead: unset it
    Source: NCCL src/init.cc (before ncclMnnvlCheck)
    """
    disable, level = host.variable("NCCL_P2P_DISABLE"), host.variable("NCCL_P2P_LEVEL")
    off = disable if host.integer("NCCL_P2P_DISABLE") == 1 else None
    if off is None and level and values.path_level(level.value) == "LOC":
        off = level
    if off and _gpus(host) and _in_rack(_gpus(host)):
        yield report.better_unset(off, "no NVLink inside the node, and none between nodes")


def _spans_nodes(gpus: Sequence[Gpu]) -> bool:
    """The fabric is complete, and belongs to a domain. Raises NotKnown."""
    states = [(known(gpu.fabric_state), known(gpu.cluster_uuid)) for gpu in gpus]
    return any(state == "completed" and uuid.strip("0-") for state, uuid in states)


@rule("NV010", "mnnvl-disabled", "warning", needs=("nvidia",))
def mnnvl_disabled(host: JudgedHost) -> Results:
    """NCCL_MNNVL_ENABLE=0 on a system whose NVLink spans nodes.

    Why: What goes from tray to tray takes the adapters: half the bandwidth, or less.
    Example: NCCL_MNNVL_ENABLE=0 on GB200 NVL72
    Instead: unset NCCL_MNNVL_ENABLE
    Source: NCCL user guide, NCCL_MNNVL_ENABLE
    """
    variable = host.variable("NCCL_MNNVL_ENABLE")
    if variable is None or _mnnvl(host) != 0 or not _gpus(host):
        return
    if _spans_nodes(_gpus(host)) and host.several_nodes:
        yield report.better_unset(variable, "nodes of one NVLink domain talk through their adapters")


@rule("NV011", "own-clique", "warning")
def own_clique(host: JudgedHost) -> Results:
    """NCCL_MNNVL_UUID or NCCL_MNNVL_CLIQUE_ID is set.

    Why: They say which GPUs NVLink joins, whatever the fabric manager says: GPUs that cannot reach each other are
    joined, or a domain is cut in two.
    Example: NCCL_MNNVL_CLIQUE_ID=1 left over from a test
    Instead: unset it, unless it cuts the domain on purpose; then one value for each part
    Source: NCCL user guide, NCCL_MNNVL_UUID and NCCL_MNNVL_CLIQUE_ID
    """
    for name in ("NCCL_MNNVL_UUID", "NCCL_MNNVL_CLIQUE_ID"):
        variable = host.variable(name)
        if variable and variable.value and host.integer(name) != -1:
            yield report.better_unset(variable, "the fabric manager is overruled about which GPUs NVLink joins")


@rule("NV012", "topology-of-the-rack", "error", needs=("files", "nvidia"))
def topology_of_the_rack(host: JudgedHost) -> Results:
    """NCCL_TOPO_FILE has more GPUs than the node, on a system whose NVLink spans nodes.

    Why: A dump holds the whole domain; what is read must be one node.
    Example: NCCL_TOPO_FILE=/tmp/dump.xml, written by NCCL_TOPO_DUMP_FILE on GB200
    Instead: unset NCCL_TOPO_FILE, or cut the file to this node
    Source: NCCL user guide, NCCL_TOPO_FILE
    """
    variable = host.variable("NCCL_TOPO_FILE")
    file = host.facts.file("NCCL_TOPO_FILE") if variable and variable.value else None
    if variable is None or file is None or file.exists is False or not _gpus(host) or not _in_rack(_gpus(host)):
        return
    named = len(re.findall(r"<gpu\b", known(file.text)))
    if named > len(_gpus(host)):
        yield report.better_unset(
            variable, f"the topology file has {named} GPUs, this node has {len(_gpus(host))}"
        )


@rule("NV013", "fabric-not-ready", "error", needs=("nvidia", "services", "cpu"))
def fabric_not_ready(host: JudgedHost) -> Results:
    """The NVLink fabric is not complete, or a daemon that it needs does not run.

    Why: CUDA fails with "system not yet initialized" (802), or multicast cannot be set up.
    Example: nvidia-fabricmanager of another version than the driver
    Instead: systemctl start nvidia-fabricmanager, of the version of the driver
    Source: https://github.com/NVIDIA/nccl/issues/1672; NVML, nvmlDeviceGetGpuFabricInfoV
    """
    gpus = [gpu for gpu in _gpus(host) if _on_switch(gpu)]
    for gpu in gpus:
        state, status = known(gpu.fabric_state), or_none(gpu.fabric_status)
        broken = state == "completed" and status not in (None, "success")
        if state in ("not started", "in progress") or broken:
            yield report.device(
                f"GPU {gpu.pci}",
                "the NVLink fabric is not ready",
                remedy="systemctl restart nvidia-fabricmanager; `nvidia-smi -q` shows Fabric State",
                evidence=(f"fabric state {escaped(state)}, status {escaped(status or 'not known')}",),
            )
            return
    yield from _daemons(host, gpus)


def _daemons(host: JudgedHost, gpus: Sequence[Gpu]) -> Results:
    """What only a daemon tells: GPUs that report no state, and NVLink between nodes."""
    # where a hypervisor keeps the switches, the fabric manager runs outside of the guest
    silent = [gpu for gpu in gpus if gpu.fabric_state == "not supported"]
    if silent and not known(host.facts.cpu.hypervisor):
        yield from _without(host, "nv-fabricmanager", "nvidia-fabricmanager")
    rack = [gpu for gpu in gpus if isinstance(gpu.name, str) and _RACK.search(gpu.name)]
    if rack and _mnnvl(host) != 0 and host.several_nodes:
        yield from _without(host, "nvidia-imex", "nvidia-imex")


def _without(host: JudgedHost, daemon: str, unit: str) -> Results:
    if daemon not in known(host.facts.services.running):
        yield report.host(
            daemon,
            f"{daemon} does not run, and the NVLink fabric needs it",
            remedy=f"systemctl start {unit}",
            evidence=("no process has this name",),
        )


@rule("NV014", "collnet-without-plugin", "warning", needs=("plugins",))
def collnet_without_plugin(host: JudgedHost) -> Results:
    """NCCL_COLLNET_ENABLE=1, and no plugin on the path of the loader offers CollNet.

    Why: Nothing happens, apart from a line at the level INFO.
    Example: NCCL_COLLNET_ENABLE=1 without HPC-X
    Instead: the SHARP plugin of HPC-X on LD_LIBRARY_PATH, or unset NCCL_COLLNET_ENABLE
    Source: NCCL user guide, NCCL_COLLNET_ENABLE
    """
    variable = host.variable("NCCL_COLLNET_ENABLE")
    if variable is None or host.integer("NCCL_COLLNET_ENABLE") != 1 or _no_plugin(host):
        return
    nets = [one for one in known(host.facts.plugins) if "net" in one.name and one.library.origin != "vendor"]
    tables = [or_none(one.symbols) for one in nets]
    if any("ncclCollNetPlugin" in symbol for symbols in tables for symbol in symbols or ()):
        return
    unread = next((one.symbols for one in nets if isinstance(one.symbols, Unknown)), None)
    if unread is not None:
        yield unread
        return
    yield report.better_unset(
        variable,
        "no plugin on the path of the loader offers CollNet",
        remedy="put nccl-rdma-sharp-plugin on LD_LIBRARY_PATH, or unset NCCL_COLLNET_ENABLE",
        evidence=tuple(escaped(one.library.path[:160]) for one in nets[:4]),
    )


def _no_plugin(host: JudgedHost) -> bool:
    """Then CollNet is off for another reason, which has a rule of its own."""
    return (host.get("NCCL_NET_PLUGIN") or "").lower() == "none"


@rule("NV015", "collnet-for-few-nodes", "info")
def collnet_for_few_nodes(host: JudgedHost) -> Results:
    """NCCL_COLLNET_ENABLE=1 in a job with fewer nodes than NCCL_COLLNET_NODE_THRESHOLD.

    Why: CollNet stays off. That is as it should be; only the variable promises something else.
    Example: NCCL_COLLNET_ENABLE=1 on one node
    Instead: two nodes or more
    Source: NCCL src/init.cc (NCCL_COLLNET_NODE_THRESHOLD, default 2)
    """
    variable = host.variable("NCCL_COLLNET_ENABLE")
    if variable is None or host.integer("NCCL_COLLNET_ENABLE") != 1:
        return
    threshold = host.integer("NCCL_COLLNET_NODE_THRESHOLD")
    least = 2 if threshold is None else threshold
    if known(host.nodes) < least:
        yield report.about(
            variable,
            f"CollNet stays off: {host.nodes} nodes are fewer than {least}",
            part=variable.value,
            remedy="nothing, or unset NCCL_COLLNET_ENABLE",
        )
