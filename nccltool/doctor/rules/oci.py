"""Oracle Cloud: GPU shapes on RoCE."""

from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.hosts.facts import or_none

_PROFILE = {"NCCL_IB_TC": 41, "NCCL_IB_TIMEOUT": 22}
"""oracle-quickstart/oci-hpc, samples/gpu; one older script has a time-out of 16."""
_GID_INDEX = 3


@rule("OCI001", "info", needs=("cloud", "rdma", "nvidia"))
def oci_profile_incomplete(host: JudgedHost) -> Results:
    """An Oracle Cloud GPU host lacks settings that its cluster network needs.

    Why: The network uses its own traffic class, and front-end adapters must be excluded. The rule skips an
    environment without NCCL variables, which belongs to a shell rather than a job.
    Example: NCCL_IB_TC is not set on BM.GPU.H100.8
    Instead: set NCCL_IB_HCA==mlx5_0,..., NCCL_IB_TC=41, and NCCL_IB_TIMEOUT=22; before NCCL 2.21, also set
    NCCL_IB_GID_INDEX=3
    Source: https://github.com/oracle-quickstart/oci-hpc, samples/gpu
    """
    if known(host.facts.cloud.provider) != "oci" or not host.gpus:
        return
    ports = [port for device in known(host.facts.rdma.devices) for port in or_none(device.ports) or ()]
    if sum(port.link_layer == "Ethernet" for port in ports) < 2:
        return
    missing = [f"{name}={value}" for name, value in _PROFILE.items() if host.integer(name) != value]
    if not (host.get("NCCL_IB_HCA") or "").startswith("="):
        missing.append("NCCL_IB_HCA==<adapters of this shape>")
    version = or_none(host.nccl)
    if version is not None and version < Version(2, 21) and host.integer("NCCL_IB_GID_INDEX") != _GID_INDEX:
        missing.append(f"NCCL_IB_GID_INDEX={_GID_INDEX}")
    if missing:
        yield report.variable(
            missing[0].partition("=")[0],
            f"{len(missing)} settings of Oracle's profile are missing",
            f"export {' '.join(missing)}",
            evidence=tuple(map(escaped, missing)),
            fix=report.export("NCCL_IB_TC", "41") if "NCCL_IB_TC=41" in missing else (),
        )
