"""Settings that have no effect because another one switches off what they configure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nccltool.core.text import named
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, rule

_ON = r"\s*0*[12]\s*"
_ANY = r"(?s).+"


@dataclass(frozen=True, kw_only=True)
class _Switch:
    """A value of a variable that switches something off, and the settings that then do nothing."""

    name: str
    off: str
    """A pattern of the whole value."""
    what: str
    defeated: Mapping[str, str]
    """A pattern of the whole value by variable: those that ask for what is off."""


_SWITCHES: Sequence[_Switch] = (
    _Switch(name="NCCL_SHARP_DISABLE", off="1", what="SHARP", defeated={"NCCL_COLLNET_ENABLE": _ON}),
    _Switch(
        name="NCCL_GIN_ENABLE",
        off="0",
        what="GPU-initiated networking",
        defeated={"NCCL_GIN_TYPE": _ANY, "NCCL_GIN_PLUGIN": r"(?!none).+"},
    ),
    _Switch(
        name="NCCL_CUMEM_ENABLE",
        off="0",
        what="cuMem",
        defeated={
            "NCCL_NVLS_ENABLE": "1",
            "NCCL_CUMEM_HOST_ENABLE": "1",
            "NCCL_WIN_ENABLE": "1",
            "VLLM_USE_NCCL_SYMM_MEM": "1",
            "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK": r"(?i)1|t|true|y|yes",
        },
    ),
    _Switch(
        name="NCCL_WIN_ENABLE",
        off="0",
        what="window registration",
        defeated={"NCCL_SYM_KERNEL": _ANY, "NCCL_SYM_CTAS": _ANY, "VLLM_USE_NCCL_SYMM_MEM": "1"},
    ),
    _Switch(
        name="NCCL_LOCAL_REGISTER",
        off="0",
        what="registration of user buffers",
        defeated={"TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK": r"(?i)1|t|true|y|yes"},
    ),
    _Switch(
        name="NCCL_TUNER_PLUGIN",
        off="(?i)none",
        what="the tuner",
        defeated={"NCCL_TUNER_CONFIG_PATH": _ANY, "OFI_NCCL_TUNER_TYPE": _ANY, "NCCL_TUNER_CONFIG_FILE": _ANY},
    ),
    _Switch(
        name="NCCL_P2P_DISABLE",
        off="1",
        what="direct access between GPUs",
        defeated={
            "NCCL_NVLS_ENABLE": "1",
            "NCCL_P2P_USE_CUDA_MEMCPY": "1",
            "NCCL_P2P_READ_ENABLE": "1",
            "NCCL_P2P_DIRECT_DISABLE": "0",
        },
    ),
    _Switch(name="NCCL_SHM_DISABLE", off="1", what="shared memory", defeated={"NCCL_SHM_USE_CUDA_MEMCPY": "1"}),
    _Switch(
        name="MPICH_GPU_SUPPORT_ENABLED",
        off="0",
        what="GPU support of Cray MPICH",
        defeated={"MPICH_OFI_NIC_POLICY": "(?i)gpu", "MPICH_GPU_IPC_ENABLED": "1"},
    ),
    _Switch(name="OMPI_MCA_pml", off="ob1|ucx", what="the pml cm", defeated={"OMPI_MCA_mtl": r"[^^].*"}),
)


@rule("CON010", "warning", covers=())
def configured_and_switched_off(host: JudgedHost) -> Results:
    """A variable configures something that another variable switches off.

    Why: NCCL obeys the switch without a message, and the setting that asks for the feature has no effect. One of
    the two is usually left over from debugging or from another cluster.
    Example: NCCL_SHARP_DISABLE=1 and NCCL_COLLNET_ENABLE=1
    Instead: unset NCCL_SHARP_DISABLE, or unset NCCL_COLLNET_ENABLE
    Source: NCCL user guide, environment variables; NCCL src/init.cc, src/transport/nvls.cc, src/plugin/net.cc
    """
    for switch in _SWITCHES:
        variable = host.variable(switch.name)
        if variable is None or not re.fullmatch(switch.off, variable.value.strip()):
            continue
        found = [
            other
            for name, asks in switch.defeated.items()
            if (other := host.variable(name)) is not None and re.fullmatch(asks, other.value)
        ]
        if found:
            names = named([other.name for other in found], 3)
            message = (
                f"the value {escaped(variable.value[:20])} switches off {switch.what}, for which {names} is set"
            )
            lines = tuple(f"{escaped(one.origin)}: {one.name}={escaped(one.value[:80])}" for one in found[:3])
            remedy = f"unset {switch.name}, or unset {names}"
            yield report.about(variable, message, remedy, evidence=lines)


_SAME: Sequence[tuple[str, str, str]] = (
    ("PET_MASTER_ADDR", "MASTER_ADDR", "torchrun obeys PET_MASTER_ADDR, and scripts read MASTER_ADDR"),
    ("PET_MASTER_PORT", "MASTER_PORT", "torchrun obeys PET_MASTER_PORT, and scripts read MASTER_PORT"),
    ("PET_NODE_RANK", "NODE_RANK", "torchrun obeys PET_NODE_RANK, and scripts read NODE_RANK"),
    ("PET_NNODES", "NNODES", "torchrun obeys PET_NNODES, and scripts read NNODES"),
    ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE", "both set the size of the flight recorder"),
    ("NCCL_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX", "the same adapters have one table of GIDs"),
    ("NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX", "the same adapters have one table of GIDs"),
    ("NCCL_IB_GID_INDEX", "MC_GID_INDEX", "the same adapters have one table of GIDs"),
    ("NCCL_IB_TC", "MC_IB_TC", "one fabric has one traffic class that is lossless"),
    ("NCCL_IB_SL", "MC_IB_SL", "one fabric has one service level for this traffic"),
    ("NCCL_IB_SL", "NVSHMEM_IB_SL", "one fabric has one service level for this traffic"),
    ("NCCL_IB_TC", "NVSHMEM_IB_TRAFFIC_CLASS", "one fabric has one traffic class that is lossless"),
    ("NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS", "one fabric has one traffic class that is lossless"),
)


@rule("CON011", "warning", covers=(), needs=("rank",))
def one_thing_with_two_values(host: JudgedHost) -> Results:
    """Two variables for the same thing have different values.

    Why: Two programs or libraries of the job disagree: torchrun and the script about the nodes, or NCCL and
    NVSHMEM about the fabric that both use. One of the values is usually left over.
    Example: NCCL_IB_GID_INDEX=3 and NVSHMEM_IB_GID_INDEX=0
    Instead: NCCL_IB_GID_INDEX=3 and NVSHMEM_IB_GID_INDEX=3
    Source: pytorch torch/distributed/run.py; NCCL user guide, NCCL_IB_GID_INDEX; NVSHMEM and UCX documentation
    """
    for name, other_name, why in _SAME:
        variable, other = host.variable(name), host.variable(other_name)
        if variable is None or other is None or not (variable.value.strip() and other.value.strip()):
            continue
        if variable.value.strip() != other.value.strip() and "auto" not in (variable.value, other.value):
            lines = (f"{escaped(other.origin)}: {other.name}={escaped(other.value[:80])}",)
            message = f"{name} and {other_name} differ: {why}"
            yield report.about(variable, message, f"give {name} and {other_name} one value", evidence=lines)
