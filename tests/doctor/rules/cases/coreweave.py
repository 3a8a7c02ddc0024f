"""Cases of nccltool/doctor/rules/coreweave.py."""

from tests.doctor.rules.base import host, of

CASES = (
    of(
        "CW001",
        fires=[
            host({"NCCL_COLLNET_ENABLE": "1", "NCCL_NET_PLUGIN": "none"}),
            host({"NCCL_COLLNET_ENABLE": "1"}, files={"system": "NCCL_NET_PLUGIN=None"}),
        ],
        silent=[
            host(),
            host({"NCCL_NET_PLUGIN": "none"}),
            host({"NCCL_COLLNET_ENABLE": "1"}),
            host({"NCCL_COLLNET_ENABLE": "0", "NCCL_NET_PLUGIN": "none"}),
        ],
    ),
)
