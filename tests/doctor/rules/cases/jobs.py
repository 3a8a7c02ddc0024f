"""Cases of rules about variables of a job beside NCCL: rules/neighbors.py, and later rules of slurm.py, mpi.py,
torchrun.py, gcp.py, master.py, and consistency.py.
"""

from typing import Any

from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Listener, Network, Nvidia, Setting, Versions
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import ETHERNET, LO, NONE, net, nic
from tests.doctor.rules.parts import nvidia


def _all(name: str, *texts: str, **parts: Any) -> list[JudgedHost]:
    return [host({name: text}, **parts) for text in texts]


_TAKEN = Network(interfaces=(LO[0],), addresses=(), listeners=(Listener(address="::", port=29400, uid=1000),))
_FREE = Network(interfaces=(LO[0],), addresses=(), listeners=())
_OPEN_MPI_4, _OPEN_MPI_5 = (Versions(packages=(Setting(name="openmpi", value=one),)) for one in ("4.1", "5.0"))
_ENDPOINT = "PET_RDZV_ENDPOINT"
_OTHER_ADDRESSES = ("SGLANG_HOST_IP", "VLLM_NIXL_SIDE_CHANNEL_HOST", "MOONCAKE_LOCAL_HOSTNAME")
_IN_ETH0 = net(nic("eth0", "10.0.0.1/24"))

CASES = (
    of(
        "PLG025",
        fires=[
            *_all("UCX_MEMTYPE_CACHE", "false", "true"),
            *_all("UCX_BCOPY_THRESH", "8kib", "large", "1.5m"),
            *_all("UCX_IB_TRAFFIC_CLASS", "256", "x"),
            *_all("FI_EFA_USE_DEVICE_RDMA", "enable", "2"),
            *_all("FI_CXI_RDZV_THRESHOLD", "64K", "big"),
            *_all("OMPI_MCA_pml", "xpmem", "ucx,none"),
            *_all("OMP_PROC_BIND", "closed"),
            *_all("CUDA_DEVICE_MAX_CONNECTIONS", "0", "33"),
            *_all("SLURM_MPI_TYPE", "pmix2", "mpi"),
            *_all("NVIDIA_IMEX_CHANNELS", "bogus"),
            *_all("NVSHMEM_QP_DEPTH", "1K"),
            *_all("VLLM_SERVER_DEV_MODE", "true"),
            *_all("SGLANG_ENABLE_JIT_DEEPGEMM", "on"),
            *_all("MC_MTU", "9000"),
            *_all("VLLM_DP_SIZE", ""),
            *_all("MOONCAKE_PROTOCOL", "RDMA"),
            *_all("NVIDIA_VISIBLE_DEVICES", "0-3", "0,2-3"),
        ],
        silent=[
            host(),
            *_all("UCX_MEMTYPE_CACHE", "n", "YES", "", "try", "$CACHE"),
            *_all("NVIDIA_VISIBLE_DEVICES", "all", "0,1", "GPU-1-2,MIG-3", ""),
            *_all("UCX_BCOPY_THRESH", "8192", "64k", "inf", "auto"),
            *_all("UCX_IB_TRAFFIC_CLASS", "255", "106", "auto"),
            *_all("FI_EFA_USE_DEVICE_RDMA", "1", "no", "True"),
            *_all("FI_CXI_RDZV_THRESHOLD", "16384", "0x4000"),
            *_all("OMPI_MCA_pml", "^ucx", "ob1"),
            *_all("OMP_PROC_BIND", "spread", "TRUE", "close,spread"),
            *_all("CUDA_DEVICE_MAX_CONNECTIONS", "1", "32"),
            *_all("SLURM_MPI_TYPE", "pmix_v5", "none"),
            *_all("NVIDIA_IMEX_CHANNELS", "0", "0,1", "all"),
        ],
    ),
    of(
        "DBG015",
        fires=[
            *_all("UCX_LOG_LEVEL", "debug", "TRACE"),
            *_all("AMD_LOG_LEVEL", "4"),
            *_all("FI_LOG_LEVEL", "debug"),
            *_all("VLLM_TRACE_FUNCTION", "1"),
        ],
        silent=[host(), *_all("UCX_LOG_LEVEL", "info", "warn"), *_all("AMD_LOG_LEVEL", "0", "x")],
    ),
    of(
        "LCH016",
        fires=[
            host({"SLURM_MEM_PER_CPU": "4000", "SLURM_MEM_PER_NODE": "64000"}),
            host({"SLURM_NTASKS_PER_GPU": "1", "SLURM_GPUS_PER_TASK": "1"}),
            host({"SLURM_CPUS_PER_TASK": "2", "SLURM_TRES_PER_TASK": "cpu=1"}),
        ],
        silent=[
            host(),
            host({"SLURM_MEM_PER_CPU": "4000"}),
            host({"SLURM_NTASKS_PER_GPU": "1"}),
            host({"SLURM_CPUS_PER_TASK": "2", "SLURM_TRES_PER_TASK": "cpu=2"}),
            host({"SLURM_CPUS_PER_TASK": "2", "SLURM_TRES_PER_TASK": "gres/gpu:1"}),
        ],
    ),
    of(
        "LCH017",
        fires=[
            *_all("SLURM_GPU_BIND", "single:1", "closest", "verbose,per_task:1"),
            host({"SLURM_GPUS_PER_TASK": "1"}),
        ],
        silent=[
            host(),
            *_all("SLURM_GPU_BIND", "none"),
            *_all("SLURM_GPUS_PER_TASK", "8"),
            host({"SLURM_GPUS_PER_TASK": "1", "SLURM_GPU_BIND": "none"}),
            host({"SLURM_GPU_BIND": "single:1"}, local_ranks=1),
        ],
    ),
    of(
        "LCH018",
        fires=[
            host({"SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "2"}),
            host({"SLURM_NTASKS": "2", "SLURM_NNODES": "4"}),
        ],
        silent=[
            host(),
            host({"SLURM_NTASKS": "2", "SLURM_JOB_NUM_NODES": "2"}),
            host({"SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "2", "SLURM_STEP_ID": "0"}),
            host({"SLURM_NTASKS": "1"}),
        ],
    ),
    of(
        "LCH027",
        fires=[
            *_all(
                "VLLM_HOST_IP",
                "10.0.0.1:8000",
                "10.0.0.1/24",
                "eth0",
                "<node ip>",
                "'10.0.0.1'",
                "10.0.1",
                "10.0.0.1\r",
            ),
            *_all("RAY_ADDRESS", "10.0.0.1", "head"),
        ],
        silent=[
            host(),
            *_all("VLLM_HOST_IP", "10.0.0.1", "fd00::1", "node-1.site", "$(POD_IP)", ""),
            *_all("RAY_ADDRESS", "auto", "10.0.0.1:6379", "ray://head:10001", "${HEAD}"),
        ],
        unknown=[UNREAD],
    ),
    of(
        "LCH019",
        fires=[
            *_all("VLLM_HOST_IP", "0.0.0.0", "127.0.0.1", "localhost", "172.17.0.2", "[::1]"),
            *(one for name in _OTHER_ADDRESSES for one in _all(name, "0.0.0.0", "localhost", "::1")),
            *_all("MOONCAKE_LOCAL_HOSTNAME", "localhost:50053"),
        ],
        silent=[
            host(),
            *_all("VLLM_HOST_IP", "10.0.0.1", "node1"),
            host({"VLLM_HOST_IP": "127.0.0.1"}, nodes=1),
            *_all("VLLM_NIXL_SIDE_CHANNEL_HOST", "10.0.0.1", "node1", "172.17.0.5"),
            *(host({name: "localhost"}, nodes=nodes) for name in _OTHER_ADDRESSES for nodes in (1, None)),
            *_all("MOONCAKE_LOCAL_HOSTNAME", "node1:50053"),
        ],
    ),
    of(
        "LCH020",
        fires=_all("SLURM_CPU_BIND", "quiet,mask_cpu:0x0000000F", "mask_cpu:0x1,0x2"),
        silent=[
            host(),
            *_all("SLURM_CPU_BIND", "none", "cores", "quiet,mask_cpu:0xFFFF", "mask_cpu:zz"),
            host({"SLURM_CPU_BIND": "quiet,mask_cpu:0xF", "SLURM_STEP_ID": "0"}),
        ],
        unknown=[UNREAD, host({"SLURM_CPU_BIND": "mask_cpu:0xF"}, local_ranks=None)],
    ),
    of(
        "MPI005",
        fires=[*_all("OMPI_MCA_btl_tcp_if_include", "eth0,lo", "docker0,eth0")],
        silent=[
            host(),
            *_all("OMPI_MCA_btl_tcp_if_include", "eth0", "lo"),
            host({"OMPI_MCA_btl_tcp_if_include": "eth0,lo"}, nodes=1),
        ],
    ),
    of(
        "MPI007",
        fires=[
            *_all("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile", versions=_OPEN_MPI_5),
            host({"OMPI_MCA_orte_keep_fqdn_hostnames": "1", "OPENMPI_VERSION": "5.0.7"}),
        ],
        silent=[
            host(),
            *_all("PRTE_MCA_prte_default_hostfile", "/etc/mpi/hostfile", versions=_OPEN_MPI_5),
            *_all("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile", versions=_OPEN_MPI_4),
            host({"OMPI_MCA_orte_default_hostfile": "/h", "OPENMPI_VERSION": "4.1.7"}, versions=_OPEN_MPI_5),
            host({"OMPI_MCA_orte_rsh_agent": "ssh", "PRTE_MCA_prte_rsh_agent": "ssh", "OPENMPI_VERSION": "5.0.7"}),
            host({"OMPI_MCA_orte_rsh_agent": "ssh", "OMPI_MCA_orte_hnp_uri": "1.0;tcp://10.0.0.4:5"}),
        ],
        unknown=[UNREAD, host({"OMPI_MCA_orte_rsh_agent": "ssh"})],
    ),
    of(
        "GCP006",
        fires=[
            host({"NCCL_FASTRAK_CTRL_DEV": "eth0", "NCCL_FASTRAK_IFNAME": "eth0,eth1"}),
            host({"NCCL_GPUDIRECTTCPX_CTRL_DEV": "eth0", "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME": "eth1,eth0"}),
        ],
        silent=[
            host(),
            host({"NCCL_FASTRAK_CTRL_DEV": "eth0", "NCCL_FASTRAK_IFNAME": "eth1,eth2"}),
            host({"NCCL_FASTRAK_IFNAME": "eth0,eth1"}),
        ],
    ),
    of(
        "RUN005",
        fires=[
            host({_ENDPOINT: "localhost:0", "PET_RDZV_BACKEND": "static"}, nodes=1),
            host({_ENDPOINT: "node1:0", "PET_RDZV_BACKEND": "c10d"}),
        ],
        silent=[
            host(),
            host({_ENDPOINT: "localhost:0", "PET_RDZV_BACKEND": "c10d"}, nodes=1),
            host({_ENDPOINT: "node1:29500"}),
        ],
    ),
    of(
        "RUN006",
        fires=[host({_ENDPOINT: "localhost:29400"}, network=_TAKEN)],
        silent=[
            host(network=_TAKEN),
            host({_ENDPOINT: "localhost:29400"}, network=_FREE),
            host({_ENDPOINT: "node1:29400"}, network=_TAKEN),
            host({_ENDPOINT: "localhost:29400", "RANK": "0"}, network=_TAKEN),
        ],
        unknown=[UNREAD, host({_ENDPOINT: "localhost:29400"})],
    ),
    of(
        "NETIF041",
        fires=[
            host({"OMPI_MCA_btl_tcp_if_include": "eth0,eth7"}, network=_IN_ETH0),
            host({"UCX_NET_DEVICES": "mlx5_7:1"}, rdma=ETHERNET),
            host({"UCX_NET_DEVICES": "ib0"}, network=_IN_ETH0),
        ],
        silent=[
            host(network=_IN_ETH0),
            host({"OMPI_MCA_btl_tcp_if_include": "eth0,10.0.0.0/16"}, network=_IN_ETH0),
            host({"UCX_NET_DEVICES": "mlx5_0:1"}, rdma=ETHERNET),
            host({"UCX_NET_DEVICES": "all"}, rdma=NONE),
            host({"UCX_NET_DEVICES": "^mlx5_7:1"}, rdma=ETHERNET),
        ],
        unknown=[UNREAD, host({"OMPI_MCA_btl_tcp_if_include": "eth0"}), host({"UCX_NET_DEVICES": "mlx5_0:1"})],
    ),
    of(
        "P2P032",
        fires=_all("NCCL_P2P_LEVEL", "SYS", "5"),
        silent=[
            host(),
            *_all("NCCL_P2P_LEVEL", "NVL", "PHB"),
            host({"NCCL_P2P_LEVEL": "SYS"}, nvidia=nvidia()),
            host({"NCCL_P2P_LEVEL": "SYS", "NCCL_P2P_DISABLE": "1"}),
            host({"NCCL_P2P_LEVEL": "SYS"}, nvidia=Nvidia(gpus=())),
        ],
    ),
    of(
        "CON009",
        fires=[
            (host({name: "10.0.0.1"}), host({name: "10.0.0.1"}, host="n2"))
            for name in ("VLLM_HOST_IP", *_OTHER_ADDRESSES)
        ],
        silent=[
            *((host({name: "localhost"}), host({name: "localhost"}, host="n2")) for name in _OTHER_ADDRESSES),
            (host(), host(host="n2")),
            (host({"VLLM_HOST_IP": "10.0.0.1"}), host({"VLLM_HOST_IP": "10.0.0.2"}, host="n2")),
        ],
        unknown=[(UNREAD, UNREAD)],
    ),
)
