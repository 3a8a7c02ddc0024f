"""NVSHMEM beside NCCL: values that it refuses."""

import re
from collections.abc import Mapping

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text

_WORDS: Mapping[str, tuple[str, ...]] = {
    "NVSHMEM_REMOTE_TRANSPORT": ("ibrc", "ibgda", "ibdevx", "ucx", "libfabric", "none"),
    "NVSHMEM_BOOTSTRAP": ("PMI", "MPI", "SHMEM", "UID", "plugin"),
    "NVSHMEM_BOOTSTRAP_PMI": ("PMI", "PMI-1", "PMI1", "PMI-2", "PMI2", "PMIX"),
    "NVSHMEM_IBGDA_NIC_HANDLER": ("auto", "gpu", "cpu"),
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


@for_text("PLG023", "warning", "NVSHMEM_DISABLE_P2P", "NVSHMEM_HCA_PE_MAPPING", covers=())
def nvshmem_setting_that_costs(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NVSHMEM may not use NVLink, or its mapping of adapters is ignored.

    Why: With NVSHMEM_DISABLE_P2P, traffic between the GPUs of a host takes the adapters. NVSHMEM ignores
    NVSHMEM_HCA_PE_MAPPING where NVSHMEM_HCA_LIST is set.
    Example: NVSHMEM_DISABLE_P2P=1
    Instead: unset NVSHMEM_DISABLE_P2P
    Source: NVSHMEM documentation, environment variables
    """
    if variable.name == "NVSHMEM_DISABLE_P2P":
        if text.strip().lower() in ("1", "true", "yes", "y"):
            yield report.better_unset(variable, "the GPUs of a host do not use NVLink")
    elif host.get("NVSHMEM_HCA_LIST"):
        yield report.better_unset(variable, "NVSHMEM ignores it: NVSHMEM_HCA_LIST is set, too", part="")
