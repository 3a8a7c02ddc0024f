"""Cases of nccltool/doctor/rules/process/cuda_process.py."""

from nccltool.hosts.facts import Gpu, Nvidia
from tests.doctor.rules.base import host, of
from tests.doctor.rules.parts import nvidia

_COMPAT = {"LD_LIBRARY_PATH": "/usr/lib:/usr/local/cuda-12.6/compat"}
_GEFORCE = Nvidia(gpus=(Gpu(pci="0000:01:00.0", name="NVIDIA GeForce RTX 4090"),))

CASES = (
    of(
        "CUD016",
        fires=[host({"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": text}) for text in ("25", "99.5")],
        silent=[host(), *(host({"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": text}) for text in ("100", "0", "half"))],
    ),
    of(
        "CUD017",
        fires=[
            host({"CUDA_FORCE_PTX_JIT": "1"}),
            host({"CUDA_CACHE_DISABLE": "1"}),
            host({"CUDA_DEVICE_WAITS_ON_EXCEPTION": "1"}),
        ],
        silent=[host(), host({"CUDA_CACHE_DISABLE": "0"})],
    ),
    of(
        "CUD020",
        fires=[
            *(host({"XLA_PYTHON_CLIENT_MEM_FRACTION": text}) for text in ("100", "1.5", "0", "-.5", "75%", "nan")),
            host({"XLA_CLIENT_MEM_FRACTION": "90"}),
            host({"XLA_CLIENT_MEM_FRACTION": "0", "TF_FORCE_UNIFIED_MEMORY": "1"}),
        ],
        silent=[
            host(),
            *(host({"XLA_PYTHON_CLIENT_MEM_FRACTION": text}) for text in (".75", "0.9", "1", "")),
            host({"XLA_PYTHON_CLIENT_MEM_FRACTION": "4.0", "TF_FORCE_UNIFIED_MEMORY": "1"}),
            host({"XLA_CLIENT_MEM_FRACTION": "2.0", "TF_FORCE_UNIFIED_MEMORY": "true"}),
        ],
    ),
    of(
        "CUD018",
        fires=[
            host(_COMPAT, nvidia=_GEFORCE),
        ],
        silent=[
            host(_COMPAT),
            host(_COMPAT, nvidia=nvidia()),
            host({"LD_LIBRARY_PATH": "/opt/compatible"}, nvidia=nvidia(2)),
        ],
    ),
)
