"""Which GPUs ROCm leaves: the runtime's mask first, then HIP's own, or CUDA's in its place."""

import pytest

from nccltool.hosts import hip_mask

UUIDS = tuple(f"GPU-{0x5A6B7C8D9E0F1000 + n:016x}" for n in range(8))
ALL = list(range(8))


@pytest.mark.parametrize(
    ("env", "gpus"),
    [
        ({}, ALL),
        ({"ROCR_VISIBLE_DEVICES": ""}, []),
        ({"ROCR_VISIBLE_DEVICES": "4,5"}, [4, 5]),
        ({"ROCR_VISIBLE_DEVICES": " 4 , 0x5 "}, [4, 5]),
        ({"ROCR_VISIBLE_DEVICES": "4,4,5"}, [4]),  # one that comes again ends it
        ({"ROCR_VISIBLE_DEVICES": "4,x,5"}, [4]),
        ({"ROCR_VISIBLE_DEVICES": "4,8"}, [4]),
        ({"ROCR_VISIBLE_DEVICES": "-1,0"}, []),
        ({"ROCR_VISIBLE_DEVICES": f"1,{UUIDS[3].upper()}"}, [1, 3]),
        ({"ROCR_VISIBLE_DEVICES": UUIDS[3]}, [3]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-5a6b"}, []),  # all begin so
        ({"HIP_VISIBLE_DEVICES": ""}, []),
        ({"HIP_VISIBLE_DEVICES": "0,1"}, [0, 1]),
        ({"HIP_VISIBLE_DEVICES": "1,0,1"}, [1, 0]),
        ({"HIP_VISIBLE_DEVICES": "0, 1"}, [0]),  # HIP compares it with the number as it is printed
        ({"HIP_VISIBLE_DEVICES": "0,9,1"}, [0]),
        ({"HIP_VISIBLE_DEVICES": UUIDS[6]}, [6]),
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, [0, 1]),
        ({"HIP_VISIBLE_DEVICES": "7", "CUDA_VISIBLE_DEVICES": "0,1"}, [7]),
        ({"ROCR_VISIBLE_DEVICES": "4,5,6", "HIP_VISIBLE_DEVICES": "1,2"}, [5, 6]),
        ({"ROCR_VISIBLE_DEVICES": "4,5", "HIP_VISIBLE_DEVICES": "0,1,2"}, [4, 5]),
        ({"ROCR_VISIBLE_DEVICES": "4,5", "CUDA_VISIBLE_DEVICES": "1"}, [5]),
        ({"GPU_DEVICE_ORDINAL": "0"}, ALL),  # of OpenCL
        ({"NVIDIA_VISIBLE_DEVICES": "0"}, ALL),
    ],
)
def test_masks(env: dict[str, str], gpus: list[int]) -> None:
    assert hip_mask.chosen(env, UUIDS) == gpus
