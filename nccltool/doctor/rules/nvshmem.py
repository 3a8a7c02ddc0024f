"""NVSHMEM alongside NCCL: values that it refuses, and what its transports need."""

import re
from collections.abc import Mapping

from nccltool.core.findings import Severity
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text, known
from nccltool.hosts.facts import or_none

_WORDS: Mapping[str, tuple[str, ...]] = {
    "NVSHMEM_REMOTE_TRANSPORT": ("ibrc", "ibgda", "ibdevx", "ucx", "libfabric", "none"),
    "NVSHMEM_BOOTSTRAP": ("PMI", "MPI", "SHMEM", "UID", "plugin"),
    "NVSHMEM_BOOTSTRAP_PMI": ("PMI", "PMI-1", "PMI1", "PMI-2", "PMI2", "PMIX"),
    "NVSHMEM_IBGDA_NIC_HANDLER": ("auto", "gpu", "cpu"),
}
_YES, _NO = ("1", "true", "yes", "y", "on"), ("0", "false", "no", "n", "off")
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

    Why: With NVSHMEM_DISABLE_P2P, traffic between the GPUs of a host goes through the adapters. NVSHMEM ignores
    NVSHMEM_HCA_PE_MAPPING where NVSHMEM_HCA_LIST is set.
    Example: NVSHMEM_DISABLE_P2P=1
    Instead: unset NVSHMEM_DISABLE_P2P
    Source: NVSHMEM documentation, environment variables
    """
    if variable.name == "NVSHMEM_DISABLE_P2P":
        if text.strip().lower() in _YES:
            yield report.better_unset(variable, "the GPUs of a host do not use NVLink")
    elif host.get("NVSHMEM_HCA_LIST"):
        yield report.better_unset(variable, "NVSHMEM ignores it: NVSHMEM_HCA_LIST is set, too", part="")


@for_text("PLG030", "warning", "NVSHMEM_REMOTE_TRANSPORT", "NVSHMEM_IB_ENABLE_IBGDA", covers=(), needs=("nvidia",))
def ibgda_without_driver_option(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NVSHMEM is set to use IBGDA, but the NVIDIA driver was loaded without the option that it needs.

    Why: GPUs may not write to an adapter's doorbell, so the transport fails to initialize, as do DeepEP's
    low-latency kernels. From 3.4.5 on, NVSHMEM lets the CPU write instead, which is slower.
    Example: NVSHMEM_REMOTE_TRANSPORT=ibgda without PeerMappingOverride=1 in /proc/driver/nvidia/params
    Instead: options nvidia NVreg_EnableStreamMemOPs=1 NVreg_RegistryDwords="PeerMappingOverride=1;" in
    /etc/modprobe.d, then rebuild the initramfs and reboot
    Source: NVSHMEM installation guide; https://github.com/deepseek-ai/DeepEP, third-party/README.md
    """
    wanted = text.strip().lower() in ("ibgda", *_YES)
    if not wanted or (host.get("NVSHMEM_IBGDA_NIC_HANDLER") or "").lower() == "cpu":
        return
    params = {one.name: or_none(one.value) or "" for one in known(host.facts.nvidia.params)}
    if params and "PeerMappingOverride=1" not in params.get("RegistryDwords", ""):
        remedy = "NVreg_RegistryDwords=PeerMappingOverride=1 in /etc/modprobe.d, or NVSHMEM_IBGDA_NIC_HANDLER=cpu"
        lines = (f"/proc/driver/nvidia/params: RegistryDwords: {params.get('RegistryDwords', '')!r}"[:160],)
        yield report.about(variable, "the driver does not let GPUs write to adapters", remedy, evidence=lines)


@for_text("PLG033", "warning", "NVSHMEM_REMOTE_TRANSPORT", covers=())
def libfabric_without_companions(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NVSHMEM uses libfabric, but a variable that it needs is not set.

    Why: The transport cannot register memory of CUDA's virtual memory management, which NVSHMEM uses by default.
    On Slingshot, optimized registrations fail as well. Initialization or the first operation then fails. On EFA,
    this is only a hint: AWS publishes jobs without it.
    Example: NVSHMEM_REMOTE_TRANSPORT=libfabric alone
    Instead: export NVSHMEM_DISABLE_CUDA_VMM=1, and on Slingshot FI_CXI_OPTIMIZED_MRS=false
    Source: NVSHMEM release notes, limitations; awslabs/awsome-distributed-ai 95b939cd, deepep-benchmark
    """
    if text.strip().lower() != "libfabric":
        return
    provider = (host.get("NVSHMEM_LIBFABRIC_PROVIDER") or "cxi").strip().lower()
    if (host.get("NVSHMEM_DISABLE_CUDA_VMM") or "").strip().lower() not in _YES:
        fix = report.export("NVSHMEM_DISABLE_CUDA_VMM", "1")
        severity: Severity | None = "info" if provider == "efa" else None
        yield report.about(variable, "libfabric needs NVSHMEM_DISABLE_CUDA_VMM=1", fix=fix, severity=severity)
    if provider == "cxi" and (host.get("FI_CXI_OPTIMIZED_MRS") or "").strip().lower() not in _NO:
        fix = report.export("FI_CXI_OPTIMIZED_MRS", "false")
        yield report.about(variable, "libfabric needs FI_CXI_OPTIMIZED_MRS=false on Slingshot", fix=fix)
