"""Cases of nccltool/doctor/rules/process/coordinators.py, and of what else frameworks beside torch read."""

from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import NvLink, Versions
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import net, nic
from tests.doctor.rules.parts import GB200, gpu, nvidia

_PROXY = "http://proxy:3128"
_JOINED = tuple(gpu(number, nvlinks=(NvLink(number=0, active=True),)) for number in (0, 1))
_APART = tuple(gpu(number, nvlinks=()) for number in (0, 1))
_BRIDGED = net(nic("eth0", "10.0.0.5/24"), nic("docker0", "172.17.0.1/16"))
_OVERLAID = net(nic("eth0", "10.0.0.5/24"), nic("flannel.1", "10.244.0.0/32"))


def _masks(**masks: str) -> JudgedHost:
    return host(
        {f"{name}_VISIBLE_DEVICES": text for name, text in masks.items()}, versions=Versions(torch_hip="7.0")
    )


CASES = (
    of(
        "LCH028",
        fires=[
            host({"http_proxy": _PROXY, "https_proxy": _PROXY}),
            host({"https_proxy": _PROXY}),
            host({"http_proxy": _PROXY, "RAY_ADDRESS": "10.0.0.4:6379"}),
        ],
        silent=[
            host(),
            host({"http_proxy": _PROXY, "no_proxy": "10.0.0.0/8"}),
            host({"http_proxy": _PROXY, "no_proxy": "10.0.0.0/8", "RAY_ADDRESS": "10.0.0.4:6379"}),
            host({"http_proxy": ""}),
            *(host({"http_proxy": _PROXY}, nodes=nodes) for nodes in (1, None)),
        ],
    ),
    of(
        "LCH029",
        fires=[
            host({name: text})
            for name, text in (
                ("PADDLE_MASTER", "http://localhost:2379"),
                ("JAX_COORDINATOR_ADDRESS", "[::1]:1234"),
                ("DMLC_PS_ROOT_URI", "0.0.0.0"),
                ("TF_CONFIG", '{"cluster": {"worker": ["n1:1", "localhost:2"]}}'),
                ("PADDLE_TRAINER_ENDPOINTS", "10.0.0.4:6170,127.0.0.1:6170"),
            )
        ],
        silent=[
            host(),
            host({"RAY_ADDRESS": "127.0.0.1:6379"}),  # as KubeRay sets it for the head
            *(host({"PADDLE_MASTER": text}) for text in ("10.0.0.4:6379", "etcd://n1:2379")),
            host({"TF_CONFIG": '{"cluster": {"worker": ["n1:1", "n2:2"]}}'}),
            *(host({"JAX_COORDINATOR_ADDRESS": "127.0.0.1:6379"}, nodes=nodes) for nodes in (1, None)),
        ],
    ),
    of(
        "LCH030",
        fires=[
            host({"SLURM_GPUS_PER_NODE": text, "SLURM_NTASKS_PER_NODE": "8"})
            for text in ("4", "gpu:4", "a100:4(S:0-1)")
        ],
        silent=[
            host(),
            *(
                host({"SLURM_GPUS_PER_NODE": text, "SLURM_NTASKS_PER_NODE": "8"})
                for text in ("8", "gpu:8", "0", "many")
            ),
            host({"SLURM_GPUS_ON_NODE": "8", "SLURM_NTASKS_PER_NODE": "1"}),
        ],
    ),
    of(
        "LCH031",
        fires=[
            host({"JAX_PROCESS_ID": "2", "JAX_NUM_PROCESSES": "2"}),
            host({"PADDLE_TRAINER_ID": "2", "PADDLE_TRAINERS_NUM": "2"}),
            host({"PADDLE_TRAINER_ID": "-1"}),
            host({"PADDLE_TRAINER_ID": "9" * 23, "PADDLE_TRAINERS_NUM": "2"}),
            host({"PADDLE_TRAINER_ID": "9" * 5000, "PADDLE_TRAINERS_NUM": "2"}),
            host({"JAX_PROCESS_ID": "9" * 23, "JAX_NUM_PROCESSES": "2"}),
            host({"PADDLE_TRAINER_ID": "abc", "PADDLE_TRAINERS_NUM": "2"}),
            host({"PADDLE_TRAINER_ID": "0x1", "PADDLE_TRAINERS_NUM": "2"}),
            host({"PADDLE_TRAINER_ID": "0", "PADDLE_TRAINERS_NUM": "two"}),
        ],
        silent=[
            host(),
            host({"JAX_PROCESS_ID": "1", "JAX_NUM_PROCESSES": "2"}),
            host({"JAX_PROCESS_ID": "7"}),
            host({"PADDLE_TRAINER_ID": " 01 ", "PADDLE_TRAINERS_NUM": "2"}),
        ],
        unknown=[
            UNREAD,
            host({"JAX_PROCESS_ID": "abc", "JAX_NUM_PROCESSES": "2"}),
            host({"JAX_PROCESS_ID": "0", "JAX_NUM_PROCESSES": "two"}),
        ],
    ),
    of(
        "MPI006",
        fires=[host({"I_MPI_FABRICS": "shm"})],
        silent=[
            host(),
            host({"I_MPI_FABRICS": "shm:ofi"}),
            *(host({"I_MPI_FABRICS": "shm"}, nodes=nodes) for nodes in (1, None)),
        ],
    ),
    of(
        "PLG037",
        fires=[host({"MLX5_SINGLE_THREADED": "1"})],
        silent=[host(), host({"MLX5_SINGLE_THREADED": "0"}), host({"MLX5_SINGLE_THREADED": "1 "})],
    ),
    of(
        "PLG038",
        fires=[
            host({"UCX_TLS": "tcp,cuda_copy", "UCX_NET_DEVICES": "all"}),
            host({"UCX_TLS": "tcp"}, network=_BRIDGED),
            host({"UCX_TLS": "tcp"}, network=_OVERLAID),
        ],
        silent=[
            host(),
            host({"UCX_TLS": "tcp"}),
            host({"UCX_TLS": "tcp", "UCX_NET_DEVICES": "eth0"}, network=_BRIDGED),
            host({"UCX_TLS": "rc,sm"}, network=_BRIDGED),
            host({"UCX_TLS": "^tcp"}, network=_BRIDGED),
            host({"UCX_TLS": "tcp"}, network=_BRIDGED, nodes=1),
            host({"UCX_TLS": "tcp", "UCX_NET_DEVICES": "all"}, network=net(nic("eth0", "10.0.0.5/24"))),
        ],
    ),
    of(
        "P2P034",
        fires=[
            host({"GGML_CUDA_P2P": "1"}),
            host({"GGML_CUDA_P2P": "0"}, nvidia=nvidia(gpus=_APART)),
            host({"GGML_CUDA_P2P": ""}),
        ],
        silent=[
            host(),
            host({"GGML_CUDA_P2P": "1"}, nvidia=nvidia(gpus=_JOINED)),
            host({"GGML_CUDA_P2P": "1"}, nvidia=nvidia(1)),
        ],
    ),
    of(
        "CUD021",
        fires=[
            _masks(ROCR="0", HIP="0"),
            _masks(ROCR="0,1", CUDA="1,0"),
            _masks(HIP="0,1", CUDA="0,1"),
        ],
        silent=[
            host(),
            _masks(HIP="0"),
            _masks(ROCR="4,5", HIP="4,5"),
            _masks(HIP="0", CUDA="1"),
            _masks(HIP="", CUDA="0"),
            host({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "0"}, nvidia=nvidia(8)),
        ],
    ),
    of(
        "BUG005",
        fires=[
            host({"NCCL_SET_THREAD_NAME": "1"}, nccl=(2, 12, 7)),
            host({"NCCL_COLLNET_ENABLE": "1"}, nccl=(2, 27, 3)),
            host({"TORCH_NCCL_USE_COMM_NONBLOCKING": "1"}, nccl=(2, 25, 1)),
            host(nccl=(2, 28, 3), nodes=32),
            host(nccl=(2, 27, 3), nvidia=nvidia(1, GB200)),
        ],
        silent=[
            host({"NCCL_SET_THREAD_NAME": "0"}, nccl=(2, 12, 7)),
            host({"NCCL_SET_THREAD_NAME": "1"}, nccl=(2, 18, 5)),
            host(nccl=(2, 28, 3), nodes=2),
            host(nccl=None),
        ],
        unknown=[UNREAD, host({"NCCL_SET_THREAD_NAME": "1"}, nccl=None)],
    ),
)
