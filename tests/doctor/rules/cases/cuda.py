"""Cases of nccltool/doctor/rules/cuda.py."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Setting, Versions
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import B200, L40S, NO_GPUS, gpu, named, nvidia

_ONE = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
_MEGATRON = Versions(packages=(Setting(name="megatron-core", value="0.12.0"),))
_OTHER = Versions(packages=(Setting(name="torch", value="2.13.0"),))
_MIXED = nvidia(gpus=(gpu(0), gpu(1, L40S)))
_NVML_GONE = nvidia(nvml=Unknown("libnvidia-ml.so.1 is not there"))


def _rank(number: int, visible: str, node: str = "n1", **env: str) -> JudgedHost:
    """A rank of a node; its number on the node is the same."""
    own = {"RANK": str(number), "LOCAL_RANK": str(number), "CUDA_VISIBLE_DEVICES": visible, **env}
    return host(own, host=node, boot_id=f"of {node}", names=named(node))


def _listed(value: str, **given: Any) -> JudgedHost:
    return host({"CUDA_VISIBLE_DEVICES": value}, **{"nvidia": nvidia(), **given})


CASES = (
    of(
        "CUD001",
        fires=[host(_ONE, nvidia=nvidia(8, B200))],
        silent=[
            host(nvidia=nvidia(8, B200)),
            host(_ONE, nvidia=nvidia()),
            host({"CUDA_DEVICE_MAX_CONNECTIONS": "32"}, nvidia=nvidia(8, B200)),
        ],
        unknown=[UNREAD, host(_ONE)],
    ),
    of(
        "CUD002",
        fires=[
            host(nvidia=nvidia(), versions=_MEGATRON),
            host({"CUDA_DEVICE_MAX_CONNECTIONS": "8"}, nvidia=nvidia(), versions=_MEGATRON),
        ],
        silent=[
            host(_ONE, nvidia=nvidia(), versions=_MEGATRON),
            host(nvidia=nvidia(8, B200), versions=_MEGATRON),
            host(nvidia=nvidia(), versions=_OTHER),
            host(nvidia=NO_GPUS),
        ],
        unknown=[UNREAD, host(), host(nvidia=nvidia())],
    ),
    of(
        "CUD003",
        fires=[
            *(host({"CUDA_LAUNCH_BLOCKING": text}) for text in ("1", "false")),
            host({"AMD_SERIALIZE_KERNEL": "3"}),
        ],
        silent=[host(), host({"CUDA_LAUNCH_BLOCKING": "0"}), host({"CUDA_LAUNCH_BLOCKING": ""})],
    ),
    of(
        "CUD004",
        fires=[
            (_rank(0, "0"), _rank(1, "0")),
            (_rank(0, "0,1"), _rank(1, "0,2")),
            (_rank(0, "3", "n2"), _rank(1, "4", "n2"), _rank(2, "3", "n2")),
        ],
        silent=[
            (_rank(0, "0"), _rank(1, "1")),
            (_rank(0, "0,1"), _rank(1, "0,1")),
            (_rank(0, "0,1"), _rank(1, "1,0")),
            (_rank(0, "0"), _rank(1, "0", "n2")),
            (_rank(0, "0"), _rank(0, "0")),
            tuple(_rank(number, "0", NCCL_MULTI_RANK_GPU_ENABLE="1") for number in (0, 1)),
            (_rank(0, ""), _rank(1, "")),
        ],
        unknown=[
            (UNREAD, UNREAD),
            tuple(host({"RANK": "0", "CUDA_VISIBLE_DEVICES": "0"}, host=name) for name in ("n1", "n2")),
        ],
    ),
    of(
        "CUD005",
        fires=[
            (_listed("0,1,2,3"), _listed("3,2,1,0", host="n2")),
            (_listed("0,1"), _listed("0,1", host="n2"), _listed("1,0", host="n3")),
        ],
        silent=[
            (_listed("0,1,2,3"), _listed("0,1,2,3", host="n2")),
            (_listed("0,1"), _listed("2,3", host="n2")),
            (_listed("0"), _listed("1", host="n2")),
            tuple(_listed(text, host=name) for name in ("n1", "n2") for text in ("0,1", "1,0")),
        ],
        unknown=[(UNREAD, UNREAD)],
    ),
    of(
        "CUD006",
        fires=[
            host(nvidia=_MIXED),
            host({"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, nvidia=_MIXED),
            *(host({"CUDA_VISIBLE_DEVICES": text}, nvidia=_MIXED) for text in ("1", "0,1", "GPU-0", "")),
        ],
        silent=[
            host(nvidia=nvidia()),
            host(nvidia=NO_GPUS),
            host({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, nvidia=_MIXED),
        ],
        unknown=[UNREAD, host(), host(nvidia=nvidia(gpus=(gpu(0, name=Unknown("??")),)))],
    ),
    of(
        "CUD007",
        fires=[
            *(
                _listed(text)
                for text in ("0, 1", "0,0", "0,8", "0,-1,1", "0,,1", "0,x", "GPU-nobody", "7,99999999999")
            )
        ],
        silent=[
            host(),
            *(_listed(text) for text in ("0,1,7", "", "-1", "GPU-0,GPU-7", "MIG-1")),
        ],
        unknown=[UNREAD, host({"CUDA_VISIBLE_DEVICES": "0"})],
    ),
    of(
        "CUD008",
        fires=[
            host({"NVIDIA_DRIVER_CAPABILITIES": "compute"}, nvidia=_NVML_GONE),
            host({"NVIDIA_DRIVER_CAPABILITIES": "compute,video"}),
        ],
        silent=[
            host(),
            *(
                host({"NVIDIA_DRIVER_CAPABILITIES": text})
                for text in ("all", "compute,utility", "compute, utility", "")
            ),
            host({"NVIDIA_DRIVER_CAPABILITIES": "compute"}, nvidia=nvidia(nvml="12.570.124.06")),
        ],
    ),
    of(
        "CUD009",
        fires=[
            host({"ROCR_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0,1"}),
            host({"ROCR_VISIBLE_DEVICES": "4,5", "HIP_VISIBLE_DEVICES": "4,5"}),
            host({"ROCR_VISIBLE_DEVICES": "0,x,1", "HIP_VISIBLE_DEVICES": "1"}),
            host({"ROCR_VISIBLE_DEVICES": "GPU-1234567890abcdef", "HIP_VISIBLE_DEVICES": "1"}),
        ],
        silent=[
            host(),
            host({"ROCR_VISIBLE_DEVICES": "1"}),
            host({"ROCR_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "0,1"}),
            host({"ROCR_VISIBLE_DEVICES": "4,5", "HIP_VISIBLE_DEVICES": "1,0"}),
            host({"ROCR_VISIBLE_DEVICES": "4", "HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "4"}),
            host({"CUDA_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "2"}),
        ],
    ),
    of(
        "CUD010",
        fires=[
            *(host({"CUDA_VISIBLE_DEVICES": text, "NCCL_DEBUG": "WARN"}) for text in ("-1", "", "NoDevFiles")),
            host({"HIP_VISIBLE_DEVICES": "-1", "NCCL_IB_HCA": "mlx5"}),
        ],
        silent=[
            host(),
            host({"CUDA_VISIBLE_DEVICES": "-1"}),
            host({"CUDA_VISIBLE_DEVICES": "0", "NCCL_DEBUG": "WARN"}),
        ],
    ),
)
