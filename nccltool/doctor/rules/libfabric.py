"""libfabric alongside NCCL: providers, and settings that depend on one another."""

import re

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text, for_value
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.interfaces import is_inside

_PROVIDERS = re.compile(
    r"efa|cxi|tcp|net|verbs|psm[23]?|opx|shm|sm2|sockets|udp|usnic|ucx|mrail|gni|bgq|lpp|lnx|linkx|rstream"
    r"|(ofi_)?(rxm|rxd|mrail|lnx|coll|off_coll)|(ofi_)?hook_\w+|off_coll|xnet|mlx|ucc|perf|monitor|trace|profile|debug"
)


@for_text("PLG012", "warning", "FI_CXI_RDZV_PROTO", covers=())
def alternative_read_refused(host: JudgedHost, variable: Variable, text: str) -> Results:
    """FI_CXI_RDZV_PROTO=alt_read, but FI_CXI_RDZV_GET_MIN is not 0.

    Why: The alternative protocol of Slingshot works only if no part of a message is fetched in the ordinary way.
    HPE requires both settings for NCCL and RCCL.
    Example: FI_CXI_RDZV_PROTO=alt_read
    Instead: FI_CXI_RDZV_PROTO=alt_read and FI_CXI_RDZV_GET_MIN=0
    Source: HPE, NCCL and RCCL tuning guides for Slingshot; https://github.com/HewlettPackard/shs-ccl-docs/pull/24
    """
    least = host.get("FI_CXI_RDZV_GET_MIN")
    # with --network=disable_rdzv_get, HPE sets the size of eager messages instead
    if text == "alt_read" and least != "0" and host.get("FI_CXI_RDZV_EAGER_SIZE") != "0":
        message = f"alt_read needs FI_CXI_RDZV_GET_MIN=0{f', not {least[:20]!r}' if least else ''}"
        yield report.about(variable, message, fix=report.export("FI_CXI_RDZV_GET_MIN", "0"))


@for_value("PLG013", "warning", "RDMAV_FORK_SAFE", "IBV_FORK_SAFE", covers=())
def fork_support_not_off(_: JudgedHost, variable: Variable, text: str) -> Results:
    """RDMAV_FORK_SAFE or IBV_FORK_SAFE is 0 or empty.

    Why: Until 2022, rdma-core switched fork support on if the variable exists, whatever its value. A program that
    takes 0 for off then disagrees with it; in the EFA provider, that could corrupt data.
    Example: RDMAV_FORK_SAFE=0
    Instead: unset RDMAV_FORK_SAFE
    Source: https://github.com/linux-rdma/rdma-core/pull/1132; https://github.com/ofiwg/libfabric/pull/7430
    """
    if text in ("", "0"):
        message = f"older rdma-core switches fork support on: {variable.name} is set, whatever its value"
        yield report.better_unset(variable, message, part="")


@for_value("PLG037", "warning", "MLX5_SINGLE_THREADED", "MLX4_SINGLE_THREADED", covers=())
def adapter_without_locks(_: JudgedHost, variable: Variable, text: str) -> Results:
    """MLX5_SINGLE_THREADED is 1.

    Why: The adapter's library then takes no locks, although queues share registers of the adapter, and NCCL and
    UCX use it from several threads. If the library notices that, it ends the process: "multithreading violation".
    Example: MLX5_SINGLE_THREADED=1
    Instead: unset MLX5_SINGLE_THREADED
    Source: rdma-core, providers/mlx5/mlx5.c (single_threaded_app) and mlx5.h (mlx5_spin_lock)
    """
    if text == "1":
        yield report.better_unset(variable, "several threads use the adapter, but its library then takes no locks")


@for_text("PLG020", "error", "FI_PROVIDER", covers=())
def unknown_provider(host: JudgedHost, variable: Variable, text: str) -> Results:
    """FI_PROVIDER names no provider of libfabric, or, with several nodes, only one inside the host.

    Why: libfabric offers only what is listed. If none of it exists, a plugin such as aws-ofi-nccl finds no
    network.
    Example: FI_PROVIDER=slingshot
    Instead: FI_PROVIDER=cxi
    Source: libfabric manual, fabric.7 and fi_provider.7
    """
    words = [word for word in re.split(r"[,;]", text.strip().removeprefix("^").lower()) if word]
    unknown = next((word for word in words if not _PROVIDERS.fullmatch(word)), None)
    if unknown:
        message = f"libfabric has no provider {escaped(unknown[:40])}"
        yield report.about(variable, message, "compare with `fi_info -l`", part="", severity="warning")
    elif not text.startswith("^") and words and set(words) <= {"shm", "sm2"} and host.nodes != 1:
        yield report.better_unset(variable, "no provider of the list connects hosts", severity="warning")


@for_text("PLG021", "warning", "FI_HMEM_DISABLE_P2P", covers=())
def no_peer_access(_: JudgedHost, variable: Variable, text: str) -> Results:
    """FI_HMEM_DISABLE_P2P is on.

    Why: Adapters may not access GPU memory. A plugin for NCCL then copies all data through host memory, or finds
    no suitable network.
    Example: FI_HMEM_DISABLE_P2P=1
    Instead: unset FI_HMEM_DISABLE_P2P
    Source: libfabric manual, fabric.7, FI_HMEM_DISABLE_P2P
    """
    if text.strip().lower() in ("1", "true", "yes", "on"):
        yield report.better_unset(variable, "adapters may not access GPU memory")


_INTERFACES = (
    *("FI_TCP_IFACE", "FI_SOCKETS_IFACE", "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "I_MPI_HYDRA_IFACE"),
    *("HOROVOD_GLOO_IFACE", "MPICH_NETWORK_INTERFACE"),
)


@for_text("PLG022", "warning", *_INTERFACES, covers=())
def neighbor_told_loopback(host: JudgedHost, variable: Variable, text: str) -> Results:
    """The interface of a library alongside NCCL, or of its bootstrap, exists only inside the host.

    Why: The other nodes are told an address that is their own, or that they cannot reach: startup fails or hangs.
    Example: NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo
    Instead: NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=eth0
    Source: libfabric manual, fi_tcp.7; NVSHMEM, Intel MPI, and Horovod documentation, environment variables
    """
    words = list(values.split(text.removeprefix("=")))
    if words and not text.startswith("^") and all(map(is_inside, words)) and host.nodes != 1:
        remedy = f"set {variable.name} to an interface that other nodes can reach"
        yield report.better_unset(variable, "only processes of one node can connect over this interface", remedy)
