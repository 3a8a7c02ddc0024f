"""Cases of rules about what runs beside NCCL: mpi.py, torchrun.py, ucx.py, libfabric.py, nvshmem.py, loader.py,
openmp.py, slurm.py, gpu_masks.py, master.py, proxies.py, allocator.py, and of interfaces/slow.py.
"""

from nccltool.doctor.rules.base import JudgedHost
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import net, nic
from tests.doctor.rules.parts import interfaces, nvidia


def _all(name: str, *texts: str) -> list[JudgedHost]:
    return [host({name: text}) for text in texts]


_TX, _RX = "NCCL_GPUDIRECTTCPX_TX_BINDINGS", "NCCL_GPUDIRECTTCPX_RX_BINDINGS"
_ALLOC, _PROXY = "PYTORCH_CUDA_ALLOC_CONF", "http://proxy.example:3128"
_STUBS = "/usr/local/cuda/lib64/stubs"
_ONE_ADDRESS = net(nic("eth0", "10.0.0.1/24"), nic("eth1"))

CASES = (
    of(
        "MPI001",
        fires=_all("OMPI_MCA_btl", "tcp,^openib", "^openib,^tcp"),
        silent=[host(), *_all("OMPI_MCA_btl", "^openib", "tcp,self", "^openib,tcp")],
    ),
    of(
        "MPI002",
        fires=_all("OMPI_MCA_btl", "tcp", "self,sm", "vader,self", "tcp,vader"),
        silent=[
            host(),
            *_all("OMPI_MCA_btl", "tcp,self", "^openib", "self,vader,tcp", "tcp,^openib", ""),
            host({"OMPI_MCA_btl": "self,sm"}, nodes=1),
            host({"OMPI_MCA_btl": "self,sm"}, nodes=None),
            host({"OMPI_MCA_btl": "self", "OMPI_MCA_pml": "ucx"}),
        ],
    ),
    of(
        "MPI003",
        fires=[
            *_all("OMPI_MCA_btl_tcp_if_include", "lo", "docker0", "127.0.0.0/8", "eth*", "^lo"),
            *_all("OMPI_MCA_oob_tcp_if_include", "lo"),
        ],
        silent=[
            host(),
            *_all("OMPI_MCA_btl_tcp_if_include", "eth0", "10.0.0.0/16", "eth0,docker0"),
            host({"OMPI_MCA_btl_tcp_if_include": "lo"}, nodes=1),
        ],
    ),
    of(
        "MPI004",
        fires=_all("OMPI_MCA_btl_tcp_if_exclude", "docker0", "virbr0,eth1"),
        silent=[
            host(),
            *_all("OMPI_MCA_btl_tcp_if_exclude", "lo,docker0", "docker0,127.0.0.1/8", ""),
            host({"OMPI_MCA_btl_tcp_if_exclude": "docker0"}, nodes=1),
        ],
    ),
    of(
        "RUN001",
        fires=[
            *_all("PET_NPROC_PER_NODE", "all", "gpus", "8.0"),
            *_all("PET_NNODES", "0", "1-4", "two"),
            *_all("PET_STANDALONE", "true"),
            *_all("PET_RDZV_BACKEND", "c10", "nccl"),
        ],
        silent=[
            host(),
            *_all("PET_NPROC_PER_NODE", "8", "auto", "gpu"),
            *_all("PET_NNODES", "2", "1:4"),
            *_all("PET_RDZV_BACKEND", "c10d", "static", "etcd-v2"),
            *_all("PET_MAX_RESTARTS", "0"),
        ],
    ),
    of(
        "RUN002",
        fires=[
            *_all("PET_RDZV_ENDPOINT", "localhost:29500", "127.0.0.1", "[::1]:29400"),
            *_all("PET_MASTER_ADDR", "localhost", "0.0.0.0"),
            *_all("PET_LOCAL_ADDR", "127.0.0.1"),
            host({"PET_RDZV_ENDPOINT": "localhost:29500", "PET_NNODES": "2"}, nodes=None),
        ],
        silent=[
            host(),
            *_all("PET_RDZV_ENDPOINT", "n1:29500", "10.0.0.1"),
            host({"PET_RDZV_ENDPOINT": "localhost:0"}, nodes=1),
        ],
        unknown=[host({"PET_RDZV_ENDPOINT": "localhost:0"}, nodes=None)],
    ),
    of(
        "RUN003",
        fires=[
            host({"PET_STANDALONE": "1", "PET_NNODES": "2"}),
            host({"PET_NODE_RANK": "2", "PET_NNODES": "2"}),
            host({"PET_NODE_RANK": "4", "PET_NNODES": "1:4"}),
        ],
        silent=[
            host(),
            host({"PET_STANDALONE": "1", "PET_NNODES": "1"}),
            host({"PET_STANDALONE": "0", "PET_NNODES": "2"}),
            host({"PET_NODE_RANK": "1", "PET_NNODES": "2"}),
            host({"PET_NODE_RANK": "1"}),
        ],
    ),
    of(
        "RUN004",
        fires=[host({"PET_NNODES": "1:4", "PET_RDZV_BACKEND": "static"})],
        silent=[
            host(),
            host({"PET_NNODES": "1:4", "PET_RDZV_BACKEND": "c10d"}),
            host({"PET_NNODES": "2:2", "PET_RDZV_BACKEND": "static"}),
            host({"PET_NNODES": "1:4"}),
        ],
    ),
    of(
        "PLG016",
        fires=_all("LD_LIBRARY_PATH", _STUBS, f"{_STUBS}/:/usr/lib"),
        silent=[host(), *_all("LD_LIBRARY_PATH", "/usr/local/cuda/lib64", "/opt/stubs/lib")],
    ),
    of(
        "PLG017",
        fires=_all("UCX_TLS", "rc,sm,cuda_copy,gdrcopy", "rcx,tcp", "^ibb", "rc,^tcp"),
        silent=[
            host(),
            *_all("UCX_TLS", "all", "^tcp", "ud,self,sm", "\\rc:aux,cuda", "rc_x,shm,rocm", "ib,rdmacm"),
        ],
    ),
    of(
        "PLG018",
        fires=[
            host({"UCX_TLS": "tcp", "UCX_NET_DEVICES": "mlx5_0:1"}),
            host({"UCX_TLS": "rc,self,sm", "UCX_NET_DEVICES": "eth0"}),
        ],
        silent=[
            host(),
            host({"UCX_TLS": "tcp", "UCX_NET_DEVICES": "eth0"}),
            host({"UCX_TLS": "rc,tcp", "UCX_NET_DEVICES": "mlx5_0:1"}),
            host({"UCX_TLS": "rc", "UCX_NET_DEVICES": "mlx5_0:1,eth0"}),
            host({"UCX_TLS": "^tcp", "UCX_NET_DEVICES": "mlx5_0:1"}),
            host({"UCX_TLS": "rc", "UCX_NET_DEVICES": "all"}),
            host({"UCX_TLS": "rc", "UCX_NET_DEVICES": "mlx5_0"}),
            host({"UCX_NET_DEVICES": "mlx5_0:1"}),
        ],
    ),
    of(
        "PLG019",
        fires=[*_all("UCX_LOG_LEVEL", "verbose"), *_all("UCX_RNDV_SCHEME", "get", "zcopy")],
        silent=[host(), *_all("UCX_LOG_LEVEL", "WARN", "debug"), *_all("UCX_RNDV_SCHEME", "put_zcopy", "auto")],
    ),
    of(
        "PLG020",
        fires=_all("FI_PROVIDER", "ofa", "slingshot", "shm", "efa;rxx"),
        silent=[
            host(),
            *_all("FI_PROVIDER", "efa", "EFA", "verbs;ofi_rxm", "^sockets", "tcp,shm", "cxi"),
            host({"FI_PROVIDER": "shm"}, nodes=1),
        ],
    ),
    of(
        "PLG021",
        fires=_all("FI_HMEM_DISABLE_P2P", "1", "yes"),
        silent=[host(), *_all("FI_HMEM_DISABLE_P2P", "0")],
    ),
    of(
        "PLG022",
        fires=[
            *_all("FI_TCP_IFACE", "lo"),
            *_all("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "docker0", "=lo"),
            *_all("HOROVOD_GLOO_IFACE", "lo"),
        ],
        silent=[
            host(),
            *_all("FI_TCP_IFACE", "eth0"),
            *_all("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "^lo", "lo,eth0"),
            host({"FI_TCP_IFACE": "lo"}, nodes=1),
        ],
    ),
    of(
        "PLG023",
        fires=[
            *_all("NVSHMEM_DISABLE_P2P", "1"),
            host({"NVSHMEM_HCA_PE_MAPPING": "mlx5_0:1:1", "NVSHMEM_HCA_LIST": "mlx5_0:1"}),
        ],
        silent=[host(), *_all("NVSHMEM_DISABLE_P2P", "0"), *_all("NVSHMEM_HCA_PE_MAPPING", "mlx5_0:1:1")],
    ),
    of(
        "OMP001",
        fires=[
            *_all("OMP_PROC_BIND", "close", "TRUE", "spread,close"),
            *_all("GOMP_CPU_AFFINITY", "0-3"),
            *_all("KMP_AFFINITY", "granularity=fine,compact,1,0"),
        ],
        silent=[host(), *_all("OMP_PROC_BIND", "false"), *_all("KMP_AFFINITY", "none", "disabled")],
    ),
    of(
        "OMP002",
        fires=[*_all("OMP_WAIT_POLICY", "ACTIVE"), *_all("KMP_BLOCKTIME", "infinite")],
        silent=[
            host(),
            *_all("OMP_WAIT_POLICY", "passive"),
            *_all("KMP_BLOCKTIME", "0"),
            host({"OMP_WAIT_POLICY": "ACTIVE"}, local_ranks=1),
        ],
    ),
    of(
        "OMP003",
        fires=[*_all("OMP_THREAD_LIMIT", "1"), *_all("OMP_STACKSIZE", "16", "1024B", "8k")],
        silent=[host(), *_all("OMP_THREAD_LIMIT", "16"), *_all("OMP_STACKSIZE", "16M", "512", "big")],
    ),
    of(
        "NETIF043",
        fires=_all("GLOO_SOCKET_IFNAME", "eth", "eth0,ib"),
        silent=[
            host(),
            *_all("GLOO_SOCKET_IFNAME", "eth0", "enp5s0", "^eth"),
            host({"GLOO_SOCKET_IFNAME": "eth"}, network=interfaces("ena", 2)),
        ],
    ),
    of(
        "NETIF044",
        fires=[host({"GLOO_SOCKET_IFNAME": "eth1"}, network=_ONE_ADDRESS)],
        silent=[
            host(network=_ONE_ADDRESS),
            host({"GLOO_SOCKET_IFNAME": "eth0"}, network=_ONE_ADDRESS),
            host({"GLOO_SOCKET_IFNAME": "eth9"}, network=_ONE_ADDRESS),
        ],
        unknown=[UNREAD, host({"GLOO_SOCKET_IFNAME": "eth1"})],
    ),
    of(
        "CUD019",
        fires=[host({"NVIDIA_VISIBLE_DEVICES": "0,1"}, nvidia=nvidia(8, visible_gpus=8))],
        silent=[
            host(nvidia=nvidia(8, visible_gpus=8)),
            host({"NVIDIA_VISIBLE_DEVICES": "0,1"}, nvidia=nvidia(2, visible_gpus=2)),
            host({"NVIDIA_VISIBLE_DEVICES": "all"}, nvidia=nvidia(8, visible_gpus=8)),
            host({"NVIDIA_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "0"}, nvidia=nvidia(8, visible_gpus=8)),
        ],
        unknown=[UNREAD, host({"NVIDIA_VISIBLE_DEVICES": "0,1"})],
    ),
    of(
        "CUD011",
        fires=[host({"NVIDIA_VISIBLE_DEVICES": "2,3", "CUDA_VISIBLE_DEVICES": "2,3"})],
        silent=[
            host(),
            host({"NVIDIA_VISIBLE_DEVICES": "2,3", "CUDA_VISIBLE_DEVICES": "0,1"}),
            host({"NVIDIA_VISIBLE_DEVICES": "all", "CUDA_VISIBLE_DEVICES": "6,7"}),
            host({"CUDA_VISIBLE_DEVICES": "6,7"}),
        ],
    ),
    of(
        "CUD012",
        fires=_all("CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2"),
        silent=[host(), *_all("CUDA_VISIBLE_DEVICES", "MIG-1", "0,1")],
    ),
    of(
        "CUD013",
        fires=[
            *_all("HIP_VISIBLE_DEVICES", "0-3", "all", "0;1"),
            host({"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "2,3"}),
        ],
        silent=[
            host(),
            *_all("HIP_VISIBLE_DEVICES", "0,1", "-1"),
            *_all("ROCR_VISIBLE_DEVICES", "GPU-0a1b2c3d"),
            host({"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "0,1"}),
        ],
    ),
    of(
        "CUD014",
        fires=[host({"NVIDIA_VISIBLE_DEVICES": "none", "NCCL_DEBUG": "INFO"})],
        silent=[
            host(),
            host({"NVIDIA_VISIBLE_DEVICES": "void", "NCCL_DEBUG": "INFO"}),
            host({"NVIDIA_VISIBLE_DEVICES": "none"}),
        ],
    ),
    of(
        "LCH014",
        fires=_all("MASTER_ADDR", "172.17.0.2", "169.254.3.4", "fe80::1", "eth0", "host.docker.internal"),
        silent=[
            host(),
            *_all("MASTER_ADDR", "172.18.0.2", "10.0.0.1", "n1", "localhost", "lo.example.org"),
            host({"MASTER_ADDR": "172.17.0.2"}, nodes=1),
        ],
    ),
    of(
        "LCH015",
        fires=[host({"SLURM_EXPORT_ENV": text, "NCCL_DEBUG": "INFO"}) for text in ("NONE", "NIL")],
        silent=[
            host(),
            host({"SLURM_EXPORT_ENV": "NONE"}),
            host({"SLURM_EXPORT_ENV": "ALL", "NCCL_DEBUG": "INFO"}),
            host({"SLURM_EXPORT_ENV": "NONE", "SLURM_STEP_ID": "0", "NCCL_DEBUG": "INFO"}),
        ],
    ),
    of(
        "NETIF038",
        fires=[
            *_all("NCCL_SOCKET_IFNAME", "tailscale0", "=wg0", "eth0,tun0"),
            *_all("GLOO_SOCKET_IFNAME", "wlp3s0"),
        ],
        silent=[
            host(),
            *_all("NCCL_SOCKET_IFNAME", "eth0", "^tun0", "wlx"),
            host({"NCCL_SOCKET_IFNAME": "wlan0"}, nodes=1),
        ],
    ),
    of(
        "PLG024",
        fires=_all("NCCL_PROFILER_PLUGIN", "./libprofiler.so", "plugins/libprofiler.so"),
        silent=[host(), *_all("NCCL_NET_PLUGIN", "/opt/libnccl-net.so", "ofi", "libnccl-net.so")],
    ),
    of(
        "NETIF039",
        fires=[
            host({"NCCL_SOCKET_IFNAME": "^enp5s0", "OMPI_MCA_btl_tcp_if_include": "enp5s0"}),
            host({"NCCL_SOCKET_IFNAME": "eth0", "OMPI_MCA_btl_tcp_if_exclude": "lo,eth0"}),
        ],
        silent=[
            host(),
            host({"NCCL_SOCKET_IFNAME": "^docker0,lo", "GLOO_SOCKET_IFNAME": "eth0"}),
            host({"NCCL_SOCKET_IFNAME": "eth0", "OMPI_MCA_btl_tcp_if_exclude": "lo,docker0"}),
            host({"NCCL_SOCKET_IFNAME": "^eth1", "GLOO_SOCKET_IFNAME": "eth10"}),
        ],
    ),
    of(
        "TRC021",
        fires=_all("TORCH_NCCL_RETHROW_CUDA_ERRORS", "0", "false"),
        silent=[host(), *_all("TORCH_NCCL_RETHROW_CUDA_ERRORS", "1")],
    ),
    of(
        "GCP004",
        fires=[host({_TX: "eth1:8-21,112-125", _RX: "eth1:22-35,124-139"})],
        silent=[
            host(),
            host({_RX: "eth1:22-35"}),
            host({_TX: "eth1:8-21", _RX: "eth1:22-35"}),
            host({_TX: "eth2:8-21", _RX: "eth1:8-21"}),
            host({_TX: "eth1", _RX: "eth1:x"}),
        ],
    ),
    of(
        "GCP005",
        fires=[host({"NCCL_FASTRAK_IFNAME": "eth0,eth9"}, network=interfaces("gve", 4))],
        silent=[host(), host({"NCCL_FASTRAK_CTRL_DEV": "eth0"}, network=interfaces("gve", 4))],
        unknown=[host({"NCCL_FASTRAK_CTRL_DEV": "eth0"})],
    ),
    of(
        "TRC025",
        fires=[
            host({_ALLOC: "expandable_segments:True", "VLLM_USE_V1": "1"}),
            host({_ALLOC: "max_split_size_mb:128, expandable_segments:True", "SGLANG_LOGGING_CONFIG_PATH": "/x"}),
            host({_ALLOC: "expandable_segments:True", "MOONCAKE_CONFIG_PATH": "/x"}, local_ranks=1),
        ],
        silent=[
            host(),
            host({_ALLOC: "expandable_segments:True"}),
            host({_ALLOC: "expandable_segments:False", "VLLM_USE_V1": "1"}),
            host({_ALLOC: "expandable_segments:True", "VLLM_USE_V1": "1"}, local_ranks=1),
        ],
    ),
    of(
        "PLG034",
        fires=[
            host({"UCX_TLS": "tcp", "TRTLLM_USE_NIXL_KVCACHE": "1"}),
            host({"UCX_TLS": "rc,sm,self", "VLLM_NIXL_SIDE_CHANNEL_HOST": "10.0.0.4"}),
            host({"UCX_PROTO_ENABLE": "n", "NIXL_LOG_LEVEL": "INFO"}),
        ],
        silent=[
            host(),
            host({"UCX_TLS": "tcp", "UCX_PROTO_ENABLE": "n"}),
            host({"UCX_PROTO_ENABLE": "y", "NIXL_LOG_LEVEL": "INFO"}),
            *(
                host({"UCX_TLS": text, "NIXL_LOG_LEVEL": "INFO"})
                for text in ("all", "^tcp", "rc,cuda", "rc,rocm_copy")
            ),
        ],
    ),
    of(
        "LCH026",
        fires=[
            host({"http_proxy": _PROXY, "VLLM_HOST_IP": "10.0.0.4"}, nodes=None),
            host(
                {
                    "https_proxy": _PROXY,
                    "no_proxy": "localhost,.corp.example",
                    "RAY_ADDRESS": "ray://10.20.0.5:10001",
                }
            ),
            host({"http_proxy": _PROXY, "no_proxy": "10.0.0.*", "VLLM_HOST_IP": "10.0.0.4"}),
            host({"http_proxy": _PROXY, "NO_PROXY": "10.0.0.4", "VLLM_HOST_IP": "10.0.0.4"}),
            host({"grpc_proxy": _PROXY, "no_proxy": "n1", "no_grpc_proxy": "n2", "RAY_ADDRESS": "n1:6379"}),
            host({"http_proxy": _PROXY, "RAY_ADDRESS": "[fd00::4]:6379"}, nodes=None),
        ],
        silent=[
            host(),
            host({"http_proxy": _PROXY, "VLLM_HOST_IP": "10.0.0.4"}),  # LCH028
            host({"http_proxy": _PROXY, "MASTER_ADDR": "10.0.0.4"}),
            host({"HTTP_PROXY": _PROXY, "VLLM_HOST_IP": "10.0.0.4"}),
            host({"http_proxy": "", "VLLM_HOST_IP": "10.0.0.4"}),
            host({"http_proxy": _PROXY, "VLLM_HOST_IP": "10.0.0.4"}, nodes=1),
            *(
                host({"http_proxy": _PROXY, "no_proxy": text, "RAY_ADDRESS": "10.0.0.4:6379"})
                for text in ("localhost,10.0.0.4", "10.0.0.0/8", "*")
            ),
            host({"http_proxy": _PROXY, "no_proxy": ".corp.example", "RAY_ADDRESS": "n1.corp.example:6379"}),
            *(host({"http_proxy": _PROXY, "RAY_ADDRESS": text}) for text in ("auto", "127.0.0.1:6379")),
        ],
    ),
)
