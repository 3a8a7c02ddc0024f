"""libfabric beside NCCL: settings of its providers that need one another."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text, for_value


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
    if text == "alt_read" and least != "0":
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
