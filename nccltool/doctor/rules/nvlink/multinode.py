"""NVLink between nodes: IMEX, cliques, the fabric manager."""

import re
from collections.abc import Sequence

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.doctor.rules.nvlink.base import on_switch
from nccltool.hosts.facts import Gpu, or_none
from nccltool.hosts.nccl import values

_RACK = re.compile(r"\bGB[23]00\b")
"""GPUs of systems whose NVLink spans nodes."""


def _in_rack(gpus: Sequence[Gpu]) -> bool:
    """NVLink spans nodes here. Raises NotKnown when no GPU has a name."""
    return any(_RACK.search(known(gpu.name)) for gpu in gpus)


def _mnnvl(host: JudgedHost) -> int:
    """0 off, 1 demanded, 2 automatic."""
    value = host.integer("NCCL_MNNVL_ENABLE")
    return 2 if value is None else value


@rule("NV007", "error", needs=("nvidia",))
def no_imex_channel(host: JudgedHost) -> Results:
    """Multi-node NVLink is wanted, and there is no IMEX channel that this user may use.

    Why: Memory cannot be handed to other nodes: NCCL fails, and names the IMEX channels.
    Example: a container on GB200 without /dev/nvidia-caps-imex-channels/channel0
    Instead: NVIDIA_IMEX_CHANNELS=0 for the container; on the host nvidia-modprobe -s -i 0:1
    Source: NCCL src/mnnvl.cc; user guide, troubleshooting; https://github.com/NVIDIA/nccl/issues/1925
    """
    wanted = _mnnvl(host)
    if wanted == 0 or not host.gpus:
        return
    if wanted != 1 and not (_in_rack(host.gpus) and host.several_nodes):
        return
    if not known(host.facts.nvidia.imex_channels):
        yield report.device(
            "/dev/nvidia-caps-imex-channels",
            "no IMEX channel can be read and written: other nodes cannot be reached over NVLink",
            "give the container NVIDIA_IMEX_CHANNELS=0; on the host: sudo nvidia-modprobe -s -i 0:1",
            evidence=("NCCL_MNNVL_ENABLE is 1" if wanted == 1 else "the GPUs are those of a rack with NVLink",),
        )


@rule("NV008", "error")
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


@rule("NV009", "error", needs=("nvidia",))
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
    if off and host.gpus and _in_rack(host.gpus):
        yield report.better_unset(off, "no NVLink inside the node, and none between nodes")


def _spans_nodes(gpus: Sequence[Gpu]) -> bool:
    """The fabric is complete, and belongs to a domain. Raises NotKnown."""
    states = [(known(gpu.fabric_state), known(gpu.cluster_uuid)) for gpu in gpus]
    return any(state == "completed" and uuid.strip("0-") for state, uuid in states)


@rule("NV010", "warning", needs=("nvidia",))
def mnnvl_disabled(host: JudgedHost) -> Results:
    """NCCL_MNNVL_ENABLE=0 on a system whose NVLink spans nodes.

    Why: What goes from tray to tray takes the adapters: half the bandwidth, or less.
    Example: NCCL_MNNVL_ENABLE=0 on GB200 NVL72
    Instead: unset NCCL_MNNVL_ENABLE
    Source: NCCL user guide, NCCL_MNNVL_ENABLE
    """
    variable = host.variable("NCCL_MNNVL_ENABLE")
    if variable is None or _mnnvl(host) != 0 or not host.gpus:
        return
    if _spans_nodes(host.gpus) and host.several_nodes:
        yield report.better_unset(variable, "nodes of one NVLink domain talk through their adapters")


@rule("NV011", "warning")
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


@rule("NV012", "error", needs=("files", "nvidia"))
def topology_of_the_rack(host: JudgedHost) -> Results:
    """NCCL_TOPO_FILE has more GPUs than the node, on a system whose NVLink spans nodes.

    Why: A dump holds the whole domain; what is read must be one node.
    Example: NCCL_TOPO_FILE=/tmp/dump.xml, written by NCCL_TOPO_DUMP_FILE on GB200
    Instead: unset NCCL_TOPO_FILE, or cut the file to this node
    Source: NCCL user guide, NCCL_TOPO_FILE
    """
    variable = host.variable("NCCL_TOPO_FILE")
    file = host.facts.file("NCCL_TOPO_FILE") if variable and variable.value else None
    if variable is None or file is None or file.exists is False or not host.gpus or not _in_rack(host.gpus):
        return
    named = len(re.findall(r"<gpu\b", known(file.text)))
    if named > len(host.gpus):
        yield report.better_unset(variable, f"the topology file has {named} GPUs, this node has {len(host.gpus)}")


@rule("NV013", "error", needs=("nvidia", "services", "cpu"))
def fabric_not_ready(host: JudgedHost) -> Results:
    """The NVLink fabric is not complete, or a daemon that it needs does not run.

    Why: CUDA fails with "system not yet initialized" (802), or multicast cannot be set up.
    Example: nvidia-fabricmanager of another version than the driver
    Instead: systemctl start nvidia-fabricmanager, of the version of the driver
    Source: https://github.com/NVIDIA/nccl/issues/1672; NVML, nvmlDeviceGetGpuFabricInfoV
    """
    gpus = [gpu for gpu in host.gpus if on_switch(gpu)]
    for gpu in gpus:
        state, status = known(gpu.fabric_state), or_none(gpu.fabric_status)
        broken = state == "completed" and status not in (None, "success")
        if state in ("not started", "in progress") or broken:
            yield report.device(
                f"GPU {gpu.pci}",
                "the NVLink fabric is not ready",
                "systemctl restart nvidia-fabricmanager; `nvidia-smi -q` shows Fabric State",
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
            f"systemctl start {unit}",
            evidence=("no process has this name",),
        )
