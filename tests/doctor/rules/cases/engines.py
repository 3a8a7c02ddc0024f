"""Cases of nccltool/doctor/rules/process/engines.py."""

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Setting, Versions
from tests.doctor.rules.base import UNREAD, host, of


def _vllm(version: str, **env: str) -> JudgedHost:
    return host(env, versions=Versions(packages=(Setting(name="vllm", value=version),)))


_NO_ATTENTION = {"NVTE_FLASH_ATTN": "0", "NVTE_FUSED_ATTN": "0", "NVTE_UNFUSED_ATTN": "0"}

CASES = (
    of(
        "TRC026",
        fires=[host({"DEEPSPEED_TIMEOUT": "3600"})],
        silent=[host(), host({"DEEPSPEED_TIMEOUT": "120"}), host({"DEEPSPEED_TIMEOUT": "1h"})],
        unknown=[UNREAD],
    ),
    of(
        "PLG036",
        fires=[host({"MOONCAKE_DEVICE": "mlx5_0,eth0", "MOONCAKE_PROTOCOL": "rdma"})],
        silent=[
            host(),
            host({"MOONCAKE_DEVICE": "eth0", "MOONCAKE_PROTOCOL": "tcp"}),
            host({"MOONCAKE_DEVICE": "mlx5_0,ibp12s0", "MOONCAKE_PROTOCOL": "rdma"}),
        ],
        unknown=[UNREAD],
    ),
    of(
        "PLG035",
        fires=[host({"MC_FORCE_TCP": "0"}), host({"MC_USE_IPV6": "false"}), host({"MC_DISABLE_METACACHE": "no"})],
        silent=[host(), host({"MC_FORCE_TCP": "1"}), host({"MC_USE_IPV6": ""}), host({"MC_STORE_MEMCPY": "0"})],
        unknown=[UNREAD],
    ),
    of(
        "CON012",
        fires=[
            host({"VLLM_DP_RANK": "4", "VLLM_DP_SIZE": "4"}),
            host({"VLLM_DP_RANK": "1"}),
            host({"VLLM_RAY_BUNDLE_INDICES": "0,1,1"}),
            host({"MC_ENABLE_HCA_PEER_AFFINITY": "1", "MC_ENABLE_DEST_DEVICE_AFFINITY": "1"}),
            host(_NO_ATTENTION),
        ],
        silent=[
            host(),
            host({"VLLM_DP_RANK": "3", "VLLM_DP_SIZE": "4"}),
            host({"VLLM_DP_RANK": "$RANK"}),
            host({"VLLM_RAY_BUNDLE_INDICES": "0,1"}),
            host({"MC_ENABLE_HCA_PEER_AFFINITY": "0", "MC_ENABLE_DEST_DEVICE_AFFINITY": "1"}),
            host({**_NO_ATTENTION, "NVTE_UNFUSED_ATTN": "1"}),
        ],
        unknown=[UNREAD],
    ),
    of(
        "SYN023",
        fires=[_vllm("0.14.0", VLLM_USE_V1="1"), _vllm("0.33.0+cu130", VLLM_ATTENTION_BACKEND="FLASHINFER")],
        silent=[
            host(),
            _vllm("0.11.0", VLLM_USE_V1="1"),
            _vllm("0.33.0", VLLM_HOST_IP="10.0.0.1"),
            host({"VLLM_USE_V1": "1"}, versions=Versions(packages=())),
        ],
        unknown=[UNREAD, host({"VLLM_USE_V1": "1"}, versions=Versions(packages=Unknown("not read")))],
    ),
)
