"""Cases of nccltool/doctor/rules/plugins.py."""

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Cloud, Library, Nvidia, Plugin, Setting, Versions
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import ETHERNET, rdma


def _plugin(name: str, origin: str = "LD_LIBRARY_PATH") -> Plugin:
    return Plugin(library=Library(path=f"/opt/{name}", origin=origin), name=name)


def _of_a_cloud(path: str, provider: str | None) -> JudgedHost:
    """A plugin that the loader finds in the folder of a vendor."""
    plugin = Plugin(library=Library(path=path, origin="ldconfig"), name="libnccl-net.so")
    return host(plugins=(plugin,), cloud=Cloud(provider=provider))


def _libraries(*versions: str | Unknown) -> Versions:
    return Versions(
        libnccl=tuple(
            Library(path=f"/{number}/libnccl.so.2", origin="system", version=version)
            for number, version in enumerate(versions)
        )
    )


def _driver(words: str) -> Nvidia:
    return Nvidia(driver="570.124.06", params=(Setting(name="RegistryDwords", value=words),))


def _offers(*symbols: str, nccl: tuple[int, int, int] | None = (2, 30, 7)) -> JudgedHost:
    library = Library(path="/opt/libnccl-net.so", origin="LD_LIBRARY_PATH")
    return host(plugins=(Plugin(library=library, name="libnccl-net.so", symbols=symbols),), nccl=nccl)


_LIBFABRIC = {"NVSHMEM_REMOTE_TRANSPORT": "libfabric", "NVSHMEM_DISABLE_CUDA_VMM": "1"}
_EFA = "/opt/amazon/ofi-nccl/lib64/libnccl-net.so"
_OFI, _NET = _plugin("libnccl-net-ofi.so"), _plugin("libnccl-net.so")

CASES = (
    of(
        "PLG001",
        fires=[
            host({"NCCL_NET_PLUGIN": "ofi"}, plugins=()),
            host({"NCCL_NET_PLUGIN": "ofi,/opt/gone.so"}, plugins=(_OFI,)),
        ],
        silent=[
            host(),
            host({"NCCL_NET_PLUGIN": "ofi"}, plugins=(_OFI,)),
            host({"NCCL_NET_PLUGIN": "none"}),
            host({"NCCL_NET_PLUGIN": "/x/libnccl-net-ofi.so"}, plugins=(_OFI,)),
            host({"NCCL_NET_PLUGIN": "librccl-net.so"}, plugins=(_plugin("librccl-net.so"),)),
            host({"NCCL_NET_PLUGIN": "anp"}, plugins=(_plugin("librccl-net-anp.so"),)),
        ],
        unknown=[UNREAD, host({"NCCL_NET_PLUGIN": "ofi"})],
    ),
    of(
        "PLG002",
        fires=[host(plugins=(_NET,)), _of_a_cloud(_EFA, None), _of_a_cloud("/opt/hpcx/libnccl-net.so", "aws")],
        silent=[
            _of_a_cloud(_EFA, "aws"),
            _of_a_cloud("/var/lib/tcpxo/lib64/libnccl-net.so", "gcp"),
            host(plugins=(_OFI,)),
            host({"NCCL_NET_PLUGIN": "none"}, plugins=(_NET,)),
            host(plugins=(_plugin("libnccl-net.so", "vendor"),)),
        ],
        unknown=[UNREAD, host()],
    ),
    of(
        "PLG003",
        fires=[host({"NCCL_NET": "InfiniBand"}, plugins=()), host({"NCCL_NET": "RoCE"})],
        silent=[
            host(),
            *[
                host({"NCCL_NET": name})
                for name in ("ib", "Socket", "AWS Libfabric", "IBext_v8", "GPUDirectTCPX_v7")
            ],
            host({"NCCL_NET": ""}),
        ],
        unknown=[
            UNREAD,
            host({"NCCL_NET": "Site"}, plugins=(_NET,)),
            host({"NCCL_NET": "Site", "NCCL_NET_PLUGIN": "site"}),
        ],
    ),
    of(
        "PLG004",
        fires=[host({"NCCL_NET": "AWS Libfabric", "NCCL_NET_PLUGIN": "none"})],
        silent=[host(), host({"NCCL_NET": "IB", "NCCL_NET_PLUGIN": "none"}), host({"NCCL_NET": "gIB"})],
    ),
    of(
        "PLG005",
        fires=[
            host({"NCCL_TUNER_PLUGIN": "x"}, plugins=()),
            host({"NCCL_PROFILER_PLUGIN": "/x.so"}, plugins=(_NET,)),
        ],
        silent=[
            host(),
            host({"NCCL_TUNER_PLUGIN": "libnccl-net-ofi.so"}, plugins=(_OFI,)),
            host({"NCCL_TUNER_PLUGIN": "none"}),
        ],
        unknown=[UNREAD, host({"NCCL_TUNER_PLUGIN": "x"})],
    ),
    of(
        "PLG006",
        fires=[host(versions=_libraries("2.27.7", "2.21.5"))],
        silent=[host(versions=_libraries("2.27.7", "2.27.7")), host(versions=_libraries())],
        unknown=[host(), host(versions=_libraries("2.27.7", Unknown("it has no version text")))],
    ),
    of(
        "PLG007",
        fires=[(host(), host(nccl=(2, 27, 7), host="n2"))],
        silent=[host(), (host(), host(host="n2"))],
        unknown=[(host(), host(nccl=None, host="n2"))],
    ),
    of(
        "PLG008",
        fires=[host({"UCX_TLS": "tcp"}), host({"UCX_NET_DEVICES": "mlx5_0:1"})],
        silent=[host(), host({"UCX_TLS": "rc", "NCCL_PLUGIN_P2P": "ucx_rma"})],
    ),
    of(
        "PLG009",
        fires=[
            host({"UCX_TLS": text}) for text in ("self,sm", "cuda_ipc,cuda_copy", "rcx", "shm", "rc_mlx5,rc_verbs")
        ]
        + [host({"UCX_TLS": "tcp", "OMPI_MCA_pml": "ucx"})],
        silent=[
            host(),
            *(
                host({"UCX_TLS": text})
                for text in ("tcp", "ud,self,sm", "rc_mlx5,ud_mlx5", "rc_x", "^sm", "", "\\rc:aux,sm")
            ),
            host({"UCX_TLS": "self,sm"}, nodes=1),
            host({"UCX_TLS": "tcp,self", "OMPI_MCA_pml": "ucx"}),
        ],
    ),
    of(
        "PLG010",
        fires=[
            host({"UCX_NET_DEVICES": text})
            for text in ("mlx5_0", "lo", "eth0,docker0", "eth0:1", "10.0.0.7", "mlx5_0:1;mlx5_1:1")
        ],
        silent=[
            host(),
            *(host({"UCX_NET_DEVICES": text}) for text in ("mlx5_0:1,mlx5_1:1", "eth0", "ibp0:1", "gpu0rdma0")),
            host({"UCX_NET_DEVICES": "lo"}, nodes=1),
        ],
    ),
    of(
        "PLG011",
        fires=[
            host({"UCX_TLS": text}) for text in ("tcp,cuda_copy", "rc,cuda_copy:aux,sm", "tcp,rocm_copy,gdr_copy")
        ],
        silent=[
            host(),
            *(
                host({"UCX_TLS": text})
                for text in ("tcp", "all", "^cuda_copy", "tcp,cuda_copy,cuda_ipc", "rc,cuda")
            ),
            host({"UCX_TLS": "tcp,cuda_copy"}, local_ranks=1),
        ],
    ),
    of(
        "PLG012",
        fires=[
            host({"FI_CXI_RDZV_PROTO": "alt_read"}),
            host({"FI_CXI_RDZV_PROTO": "alt_read", "FI_CXI_RDZV_GET_MIN": "2049"}),
        ],
        silent=[
            host(),
            host({"FI_CXI_RDZV_PROTO": "default"}),
            host({"FI_CXI_RDZV_PROTO": "alt_read", "FI_CXI_RDZV_GET_MIN": "0"}),
            host({"FI_CXI_RDZV_PROTO": "alt_read", "FI_CXI_RDZV_EAGER_SIZE": "0"}),
        ],
    ),
    of(
        "PLG013",
        fires=[host({"RDMAV_FORK_SAFE": "0"}), host({"IBV_FORK_SAFE": ""})],
        silent=[host(), host({"RDMAV_FORK_SAFE": "1"})],
    ),
    of(
        "PLG014",
        fires=[
            host({"NVSHMEM_REMOTE_TRANSPORT": "ib"}),
            host({"NVSHMEM_BOOTSTRAP": "slurm"}),
            host({"NVSHMEM_SYMMETRIC_SIZE": "two GiB"}),
        ],
        silent=[
            host(),
            host({"NVSHMEM_REMOTE_TRANSPORT": "ibgda", "NVSHMEM_BOOTSTRAP": "uid"}),
            *(host({"NVSHMEM_SYMMETRIC_SIZE": text}) for text in ("2G", "3.1M", ".5m", "1073741824", "20kk")),
        ],
    ),
    of(
        "PLG015",
        fires=[host({"NVSHMEM_IB_TRAFFIC_CLASS": "130"}, rdma=rdma("mlx5_0"))],
        silent=[
            host(),
            host({"NVSHMEM_IB_TRAFFIC_CLASS": "0"}, rdma=rdma("mlx5_0")),
            host({"NVSHMEM_IB_TRAFFIC_CLASS": "130"}, rdma=ETHERNET),
        ],
        unknown=[UNREAD, host({"NVSHMEM_IB_TRAFFIC_CLASS": "130"})],
    ),
    of(
        "PLG030",
        fires=[
            host({"NVSHMEM_REMOTE_TRANSPORT": "ibgda"}, nvidia=_driver("")),
            host({"NVSHMEM_IB_ENABLE_IBGDA": "true"}, nvidia=_driver("RmPcieFlr=1")),
        ],
        silent=[
            host(),
            host({"NVSHMEM_REMOTE_TRANSPORT": "ibgda"}, nvidia=_driver("PeerMappingOverride=1;")),
            host({"NVSHMEM_REMOTE_TRANSPORT": "ibrc"}, nvidia=_driver("")),
            host({"NVSHMEM_IB_ENABLE_IBGDA": "1", "NVSHMEM_IBGDA_NIC_HANDLER": "cpu"}, nvidia=_driver("")),
            host({"NVSHMEM_IB_ENABLE_IBGDA": "1"}, nvidia=Nvidia(driver="570.124.06", params=())),
        ],
        unknown=[UNREAD, host({"NVSHMEM_REMOTE_TRANSPORT": "ibgda"})],
    ),
    of(
        "PLG032",
        fires=[_offers("ncclNetPlugin_v4", "ncclNetPlugin_v5"), _offers("ncclNetPlugin_v5", nccl=(2, 27, 3))],
        silent=[
            _offers("ncclNetPlugin_v5", "ncclNetPlugin_v6"),
            _offers("ncclNetPlugin_v5", nccl=(2, 19, 3)),
            _offers("ncclTunerPlugin_v2"),
            host(plugins=()),
        ],
        unknown=[host(), _offers("ncclNetPlugin_v5", nccl=None)],
    ),
    of(
        "PLG033",
        fires=[
            host({"NVSHMEM_REMOTE_TRANSPORT": "libfabric"}),
            host({"NVSHMEM_REMOTE_TRANSPORT": "libfabric", "NVSHMEM_DISABLE_CUDA_VMM": "1"}),
            host({"NVSHMEM_REMOTE_TRANSPORT": "LIBFABRIC", "FI_CXI_OPTIMIZED_MRS": "false"}),
        ],
        silent=[
            host(),
            host({"NVSHMEM_REMOTE_TRANSPORT": "ibrc"}),
            host({**_LIBFABRIC, "FI_CXI_OPTIMIZED_MRS": "false"}),
            host({**_LIBFABRIC, "NVSHMEM_LIBFABRIC_PROVIDER": "efa"}),
        ],
    ),
)
