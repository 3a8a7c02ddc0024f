"""Cases of nccltool/doctor/rules/oci.py."""

from typing import Any

from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import AWS, NO_GPUS, OCI, ROCE, nvidia, rdma

_BM: dict[str, Any] = {"cloud": OCI, "rdma": rdma(16, ROCE), "nvidia": nvidia()}
_PROFILE = {"NCCL_IB_HCA": "=mlx5_0,mlx5_1", "NCCL_IB_TC": "41", "NCCL_IB_TIMEOUT": "22"}

CASES = (
    of(
        "OCI001",
        fires=[
            host(**_BM),
            host({"NCCL_DEBUG": "WARN"}, **_BM),
            host({**_PROFILE, "NCCL_IB_TC": "0"}, **_BM),
            host({**_PROFILE, "NCCL_IB_HCA": "mlx5_0"}, **_BM),
            host(_PROFILE, nccl=(2, 20, 5), **_BM),
        ],
        silent=[
            host(_PROFILE, **_BM),
            host({**_PROFILE, "NCCL_IB_GID_INDEX": "3"}, nccl=(2, 20, 5), **_BM),
            host(**{**_BM, "cloud": AWS}),
            host(**{**_BM, "nvidia": NO_GPUS}),
            host(**{**_BM, "rdma": rdma(1, ROCE)}),
        ],
        unknown=[host(), host(cloud=OCI), host(cloud=OCI, nvidia=nvidia()), UNREAD],
    ),
)
