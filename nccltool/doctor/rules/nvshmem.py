"""NVSHMEM beside NCCL: values that it refuses."""

import re
from collections.abc import Mapping

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text

_WORDS: Mapping[str, tuple[str, ...]] = {
    "NVSHMEM_REMOTE_TRANSPORT": ("ibrc", "ibgda", "ibdevx", "ucx", "libfabric", "none"),
    "NVSHMEM_BOOTSTRAP": ("PMI", "MPI", "SHMEM", "UID", "plugin"),
}
_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)[kmgtKMGT]?.*", re.ASCII)


@for_text("PLG014", "warning", *_WORDS, "NVSHMEM_SYMMETRIC_SIZE", covers=())
def refused_nvshmem_value(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NVSHMEM does not know the transport, the bootstrap, or the size.

    Why: Initialization fails, and with it DeepEP and other programs that use NVSHMEM.
    Example: NVSHMEM_REMOTE_TRANSPORT=ib
    Instead: NVSHMEM_REMOTE_TRANSPORT=ibrc
    Source: NVSHMEM 3.2.5, nvshmem-info -a
    """
    words = _WORDS.get(variable.name)
    if words is None and _SIZE.fullmatch(text) is None:
        yield report.better_unset(variable, "NVSHMEM fails to initialize: this is not a size such as 2G")
    if words is not None and text.lower() not in map(str.lower, words):
        yield report.better_unset(variable, f"NVSHMEM fails to initialize: expected one of {', '.join(words)}")


@for_text("PLG015", "warning", "NVSHMEM_IB_TRAFFIC_CLASS", covers=(), needs=("rdma",))
def traffic_class_on_infiniband(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NVSHMEM_IB_TRAFFIC_CLASS is set, but the adapters use InfiniBand.

    Why: A traffic class belongs to the global routes of RoCE. With IBGDA on InfiniBand, the adapter refuses the
    queue pair, and initialization fails.
    Example: NVSHMEM_IB_TRAFFIC_CLASS=130 on InfiniBand
    Instead: unset NVSHMEM_IB_TRAFFIC_CLASS
    Source: https://github.com/NVIDIA/nvshmem/issues/45
    """
    if text != "0" and host.active_ports and not any(port.roce for port in host.active_ports):
        yield report.better_unset(variable, "the adapters use InfiniBand, which has no traffic class")
