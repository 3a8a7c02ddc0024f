"""Cases of nccltool/doctor/rules/tuning."""

from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Amd, AmdGpu, Gpu, Nvidia, NvLink, Rdma, RdmaDevice, Versions
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import NO_GPUS

_EIGHT = Rdma(devices=tuple(RdmaDevice(name=f"mlx5_{number}") for number in range(8)))
_NO_RDMA = Rdma(devices=())
_PLAIN = Nvidia(gpus=(Gpu(pci="0000:18:00.0", nvlinks=()),))
_SWITCHED = Nvidia(gpus=(Gpu(pci="0000:18:00.0", nvlinks=(NvLink(number=0, active=True, remote="switch"),)),))
_TWO = Nvidia(
    gpus=(Gpu(pci="0000:18:00.0", uuid="GPU-a"), Gpu(pci="0000:19:00.0", uuid="GPU-b")),
    visible_gpus=2,
)


def _rank(number: int, **env: str) -> JudgedHost:
    return host({"RANK": str(number), "LOCAL_RANK": str(number), **env}, nvidia=_TWO, boot_id="b")


_AMD = Amd(driver="6.12.12", gpus=(AmdGpu(pci="0000:05:00.0", gfx="gfx942"),))
_GFX950 = Amd(driver="6.16.6", gpus=(AmdGpu(pci="0000:05:00.0", gfx="gfx950"),))
_GFX1250 = Amd(driver="6.16.6", gpus=(AmdGpu(pci="0000:05:00.0", gfx="gfx1250"),))

CASES = (
    of("TUN001", fires=[host({"NCCL_BUFFSIZE": "5000000"})], silent=[host(), host({"NCCL_BUFFSIZE": "0x400000"})]),
    of(
        "TUN002",
        fires=[host({"NCCL_BUFFSIZE": "4M"}), host({"NCCL_BUFFSIZE": "-1"})],
        silent=[host(), host({"NCCL_BUFFSIZE": "65536"}), host({"NCCL_BUFFSIZE": ""})],
    ),
    of(
        "TUN003",
        fires=[host({"NCCL_BUFFSIZE": text}) for text in ("67108864", "2147483648")],
        silent=[host(), host({"NCCL_BUFFSIZE": "33554432"})],
    ),
    of(
        "TUN004",
        fires=[host({"NCCL_P2P_NET_CHUNKSIZE": "1048576"}), host({"NCCL_P2P_PCI_CHUNKSIZE": "524289"})],
        silent=[
            host(),
            host({"NCCL_P2P_NET_CHUNKSIZE": "524288"}),
            host({"NCCL_P2P_NET_CHUNKSIZE": "1048576", "NCCL_BUFFSIZE": "8388608"}),
        ],
    ),
    of(
        "TUN005",
        fires=[host({"NCCL_NTHREADS": text}) for text in ("100", "64")],
        silent=[host(), host({"NCCL_NTHREADS": "512"})],
    ),
    of(
        "TUN006",
        fires=[host({"NCCL_LL128_NTHREADS": "128"}), host({"NCCL_LL128_NTHREADS": "170"})],
        silent=[host(), host({"NCCL_LL128_NTHREADS": "640"})],
    ),
    of(
        "TUN007",
        fires=[host({"NCCL_MIN_NCHANNELS": "16", "NCCL_MAX_NCHANNELS": "8"})],
        silent=[host(), host({"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": "8"})],
    ),
    of(
        "TUN008",
        fires=[host({"NCCL_MIN_CTAS": "16", "NCCL_MAX_CTAS": "8"})],
        silent=[host(), host({"NCCL_MIN_CTAS": "16"})],
    ),
    of(
        "TUN009",
        fires=[host({"NCCL_MAX_NCHANNELS": "16", "NCCL_MAX_CTAS": "8"})],
        silent=[host(), host({"NCCL_MAX_NCHANNELS": "8", "NCCL_MAX_CTAS": "8"})],
    ),
    of("TUN010", fires=[host({"NCCL_MIN_NRINGS": "8"})], silent=[host(), host({"NCCL_MIN_CTAS": "8"})]),
    of(
        "TUN011",
        fires=[
            host({"NCCL_MIN_NCHANNELS": "128"}, nccl=None),
            host({"NCCL_MAX_P2P_NCHANNELS": "64"}, nccl=(2, 24, 3)),
        ],
        silent=[host(nccl=None), host({"NCCL_MAX_CTAS": "64"}), host({"NCCL_MAX_CTAS": "32"}, nccl=None)],
        unknown=[UNREAD, host({"NCCL_MAX_CTAS": "64"}, nccl=None)],
    ),
    of(
        "TUN032",
        fires=[host({"NCCL_MIN_NCHANNELS": "112"}, amd=_AMD, nodes=1, local_ranks=4)],
        silent=[
            host(),
            host({"NCCL_MIN_NCHANNELS": "112"}, nodes=1, local_ranks=4),
            host({"NCCL_MIN_NCHANNELS": "64"}, amd=_AMD, nodes=1, local_ranks=4),
            host({"NCCL_MIN_NCHANNELS": "112"}, amd=_AMD, nodes=1, local_ranks=8),
            host({"NCCL_MIN_NCHANNELS": "112"}, amd=_GFX1250, nodes=1, local_ranks=4),
        ],
        unknown=[UNREAD, host({"NCCL_MIN_NCHANNELS": "112"}, amd=_AMD, nodes=None)],
    ),
    of(
        "TUN012",
        fires=[host({"NCCL_MAX_NCHANNELS": "0"}), host({"NCCL_MIN_CTAS": "-1"})],
        silent=[host(), host({"NCCL_MAX_NCHANNELS": "1"})],
    ),
    of(
        "TUN033",
        fires=[
            host({"NCCL_MAX_NCHANNELS": text}, amd=_GFX950, nodes=1, nccl=nccl)
            for text, nccl in (("112", None), ("65", (2, 28, 3)), ("112", (2, 30, 4)))
        ],
        silent=[
            host(amd=_GFX950, nodes=1),
            host({"NCCL_MAX_NCHANNELS": "64"}, amd=_GFX950, nodes=1),
            host({"NCCL_MAX_NCHANNELS": "112"}, amd=_GFX950, nodes=1, nccl=(2, 27, 7)),
            host({"NCCL_MAX_NCHANNELS": "112"}, amd=_GFX950),
            host({"NCCL_MAX_NCHANNELS": "112"}, amd=_AMD, nodes=1),
            host({"NCCL_MAX_NCHANNELS": "112", "RCCL_WARP_SPEED_AUTO": "0"}, amd=_GFX950, nodes=1),
        ],
        unknown=[UNREAD, host({"NCCL_MAX_NCHANNELS": "112"}, amd=Amd(driver="6.16.6"), nvidia=NO_GPUS, nodes=1)],
    ),
    of(
        "TUN013",
        fires=[
            host({"NCCL_MAX_CTAS": "4"}, rdma=_EIGHT),
            host({"NCCL_MAX_NCHANNELS": "2"}, rdma=_NO_RDMA, nvidia=_SWITCHED),
            host({"NCCL_MAX_CTAS": "8"}),
            host({"NCCL_MAX_NCHANNELS": "1"}, nodes=None, local_ranks=None),
        ],
        silent=[
            host(),
            host({"NCCL_MAX_CTAS": "12"}),
            host({"NCCL_MAX_CTAS": "8"}, nodes=1),
            host({"NCCL_MAX_CTAS": "8"}, local_ranks=4),
            host({"NCCL_MAX_CTAS": "8"}, nodes=None, local_ranks=None),
            host({"NCCL_MAX_NCHANNELS": "8", "NCCL_NET": "GPUDirectTCPX_v7"}),
            host({"NCCL_MAX_CTAS": "4"}, rdma=_NO_RDMA, nvidia=_PLAIN, nodes=1),
        ],
        unknown=[
            UNREAD,
            host({"NCCL_MAX_CTAS": "4"}, nodes=None),
            host({"NCCL_MAX_CTAS": "4"}, nvidia=_PLAIN, nodes=None),
        ],
    ),
    of("TUN014", fires=[host({"NCCL_MIN_CTAS": "32"})], silent=[host(), host({"NCCL_MIN_CTAS": "16"})]),
    of(
        "TUN015",
        fires=[host({"NCCL_MIN_P2P_NCHANNELS": "16", "NCCL_MAX_P2P_NCHANNELS": "8"})],
        silent=[host(), host({"NCCL_MIN_P2P_NCHANNELS": "16"})],
    ),
    of(
        "TUN016",
        fires=[host({"NCCL_CGA_CLUSTER_SIZE": "16"})],
        silent=[host(), host({"NCCL_CGA_CLUSTER_SIZE": "0"})],
    ),
    of(
        "TUN017",
        fires=[host({"NCCL_CTA_POLICY": text}) for text in ("EFFICIENCY,ZERO", "3", "ZERO| EFFICIENCY", "FAST")],
        silent=[host(), host({"NCCL_CTA_POLICY": "zero|default"}), host({"NCCL_CTA_POLICY": "2"})],
    ),
    of(
        "TUN018",
        fires=[host({"NCCL_CTA_POLICY": "ZERO|EFFICIENCY"})],
        silent=[host(), host({"NCCL_CTA_POLICY": "ZERO"})],
    ),
    of(
        "TUN019",
        fires=[host({"NCCL_P2P_PER_CHANNEL_NET_BW": text}) for text in ("0", "auto", "-1")],
        silent=[host(), host({"NCCL_P2P_PER_CHANNEL_NET_BW": "14"}), host({"NCCL_P2P_PER_CHANNEL_NET_BW": ""})],
    ),
    of(
        "TUN020",
        fires=[host({"NCCL_WORK_FIFO_BYTES": "1000000"})],
        silent=[host(), host({"NCCL_WORK_FIFO_BYTES": "1048576"})],
    ),
    of(
        "TUN021",
        fires=[host({"NCCL_NETDEVS_POLICY": text}) for text in ("MAX", "MAX:0", "SOME", "MAX:1 ")],
        silent=[host(), host({"NCCL_NETDEVS_POLICY": "max:1"}), host({"NCCL_NETDEVS_POLICY": "AUTO"})],
    ),
    of(
        "TUN022",
        fires=[host({"NCCL_SYM_KERNEL": "AllGather"}), host({"NCCL_SYM_KERNEL": ""})],
        silent=[host(), host({"NCCL_SYM_KERNEL": "^"}), host({"NCCL_SYM_KERNEL": "AllGather_ST"})],
    ),
    of(
        "TUN023",
        fires=[host({"NCCL_THREAD_THRESHOLDS": "8,8,64"})],
        silent=[host(), host({"NCCL_THREAD_THRESHOLDS": "8 8 64 8 8 64"})],
    ),
    of(
        "TUN024",
        fires=[host({"NCCL_LAUNCH_MODE": "GROUP"})],
        silent=[host(), host({"NCCL_LAUNCH_MODE": "PARALLEL"})],
    ),
    of(
        "TUN025",
        fires=[host({"NCCL_GRAPH_STREAM_ORDERING": "0"})],
        silent=[
            host(),
            host({"NCCL_GRAPH_STREAM_ORDERING": "1"}),
            host({"NCCL_GRAPH_STREAM_ORDERING": "0", "NCCL_GRAPH_MIXING_SUPPORT": "0"}),
        ],
    ),
    of(
        "TUN026",
        fires=[host({"NCCL_COMM_BLOCKING": "0"}, versions=Versions(torch="2.13.0"))],
        silent=[host(), host({"NCCL_COMM_BLOCKING": "0"}, versions=Versions(torch=""))],
        unknown=[UNREAD, host({"NCCL_COMM_BLOCKING": "0"})],
    ),
    of(
        "TUN027",
        fires=[host({"NCCL_CHECK_MODE": "DEBUG_GLOBAL"}), host({"NCCL_CHECK_POINTERS": "1"})],
        silent=[host(), host({"NCCL_CHECK_MODE": "DEFAULT", "NCCL_CHECK_POINTERS": "0"})],
    ),
    of(
        "TUN028",
        fires=[host({"NCCL_GRAPH_REGISTER": "1"}, nvidia=_TWO, local_ranks=1)],
        silent=[
            host(),
            host({"NCCL_GRAPH_REGISTER": "0"}),
            host({"NCCL_GRAPH_REGISTER": "1"}, nvidia=_TWO, local_ranks=2),
        ],
        unknown=[UNREAD, host({"NCCL_GRAPH_REGISTER": "1"}, local_ranks=1)],
    ),
    of(
        "TUN029",
        fires=[
            (_rank(0, CUDA_VISIBLE_DEVICES="0"), _rank(1, CUDA_VISIBLE_DEVICES="0")),
        ],
        silent=[
            host(),
            (_rank(0), _rank(1)),
            (_rank(0, CUDA_VISIBLE_DEVICES="0"), _rank(1, CUDA_VISIBLE_DEVICES="1")),
        ],
        unknown=[(UNREAD, UNREAD), (host({"RANK": "0"}), host({"RANK": "1"}))],
    ),
    of(
        "TUN030",
        fires=[host({"NCCL_LL128_BUFFSIZE": "131072"}), host({"NCCL_LL128_BUFFSIZE": "4194304"})],
        silent=[host(), host({"NCCL_LL128_BUFFSIZE": "122880"}), host({"NCCL_LL128_BUFFSIZE": "-2"})],
    ),
    of(
        "TUN031",
        fires=[
            host({"NCCL_CHUNK_SIZE": "1048576"}),
            host({"NCCL_CHUNK_SIZE": "262144"}),
            host({"NCCL_CHUNK_SIZE": "1048576"}, nodes=1),
            host({"NCCL_CHUNK_SIZE": "1048576"}, nodes=None),
            host({"NCCL_CHUNK_SIZE": "1048576", "NCCL_P2P_NET_CHUNKSIZE": "1048576"}),
        ],
        silent=[
            host(),
            host({"NCCL_CHUNK_SIZE": "131072"}),
            host({"NCCL_CHUNK_SIZE": "524288"}, nodes=1),
            host({"NCCL_CHUNK_SIZE": "0"}),
            host({"NCCL_CHUNK_SIZE": "1048576", "NCCL_P2P_NET_CHUNKSIZE": "1048576", "NCCL_BUFFSIZE": "8388608"}),
        ],
    ),
)
