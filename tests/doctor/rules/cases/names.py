"""Cases of nccltool/doctor/rules/names.py."""

from nccltool.hosts.facts import Versions
from tests.doctor.rules.base import UNREAD, host, of

CASES = (
    of(
        "SYN001",
        fires=[
            host({"NCCL_SOCKET_IFNMAE": "eth0"}),
            host({"NCCL_IFNAME_SOCKET": "eth0"}),
            host(files={"system": "NCCL_DEBG=INFO"}),
            host({"TORCH_NCCL_BLOCKNG_WAIT": "1"}),
            host({"NCCL_SITE_PLUGIN_THING": "1"}),
            host({"OFI_NCCL_GIN_MAX_REQUESTS": "512"}),
            host({"VLLM_LOGING_LEVEL": "DEBUG"}),
            host({"NCCL_SOCKET_IFNMAE": "eth0"}, nccl=None),
            host({"RCCL_MSCCL_ENALBE": "1"}, versions=Versions(rccl="2.27.7", torch_hip="6.4")),
            host({"RCCL_MSCCL_ENALBE": "1", "HSA_NO_SCRATCH_RECLAIM": "1"}, nccl=None),
        ],
        silent=[
            host(),
            host({"NCCL_SOCKET_IFNAME": "eth0", "NCCL_VERSION": "2.27", "NCCLTOOL_OP": "x", "PATH": "/bin"}),
            host({"NCCL_TIMEOUT": "1", "nccl_debug": "INFO", "TORCH_NCCL_DEBUG": "INFO", "export NCCL_X": "1"}),
        ],
    ),
    of("SYN002", fires=[host({"NCCL_TIMEOUT": "3600"}), host({"NCCL_NVLS_DISABLE": "1"})], silent=[host()]),
    of(
        "SYN003",
        fires=[
            host({"NCCL_TREE_THRESHOLD": "0"}),
            host({"NCCL_TREE_THRESHOLD": "0"}, nccl=None),
            host({"NCCL_SHM_USE_CUDA_MEMCPY": "1"}, nccl=(2, 30, 7)),
        ],
        silent=[
            host(),
            host({"NCCL_SHM_USE_CUDA_MEMCPY": "1"}, nccl=(2, 30, 4)),
            host({"NCCL_CHECKS_DISABLE": "1", "HSA_NO_SCRATCH_RECLAIM": "1"}),  # RCCL
            host({"NCCL_DEBUG": ""}, nccl=None),
        ],
        unknown=[UNREAD, host({"NCCL_SHM_USE_CUDA_MEMCPY": "1"}, nccl=None)],
    ),
    of(
        "SYN004",
        fires=[host({"NCCL_IB_FIFO_TC": "84"}, nccl=(2, 21, 5))],
        silent=[host(nccl=None), host({"NCCL_IB_FIFO_TC": "84"}), host({"NCCL_NET": "IB"}, nccl=(2, 10, 3))],
        unknown=[UNREAD, host({"NCCL_IB_FIFO_TC": "84"}, nccl=None)],
    ),
    of(
        "SYN005",
        fires=[host({"NCCL_BLOCKING_WAIT": "1"})],
        silent=[
            host(),
            host({"TORCH_NCCL_BLOCKING_WAIT": "1"}),
            host({"NCCL_DESYNC_DEBUG": "1", "TORCH_NCCL_DESYNC_DEBUG": "1"}),
        ],
    ),
    of(
        "SYN006",
        fires=[host({"NCCL_BLOCKING_WAIT": "1", "TORCH_NCCL_BLOCKING_WAIT": "0"})],
        silent=[host(), host({"NCCL_BLOCKING_WAIT": "1", "TORCH_NCCL_BLOCKING_WAIT": "1"})],
    ),
    of(
        "SYN007",
        fires=[host({"TORCH_NCCL_DEBUG": "INFO"}), host({"NCCL_DUMP_ON_TIMEOUT": "1"})],
        silent=[
            host(),
            host({"NCCL_DEBUG": "INFO", "TORCH_NCCL_DUMP_ON_TIMEOUT": "1", "NCCL_BLOCKING_WAIT": "1"}),
        ],
    ),
    of(
        "SYN008",
        fires=[host({"nccl_debug": "INFO"}), host(files={"home": "Nccl_IB_HCA=mlx5"})],
        silent=[host(), host({"NCCL_DEBUG": "INFO", "rank": "1"})],
    ),
)
