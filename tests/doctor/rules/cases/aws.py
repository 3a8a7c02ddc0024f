"""Cases of nccltool/doctor/rules/aws.py."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Cloud, Rdma, RdmaDevice
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import interfaces, limits, nvidia, plugin, rdma

_EFA, _IB = rdma(8, driver="efa"), rdma()
_FIRST = Rdma(devices=(RdmaDevice(name="rdmap0s6", driver="efa", device="0xefa0"),))
_OFI = plugin("libnccl-net-ofi.so", version="1.16.3")


def _p5(devices: int, **given: Any) -> JudgedHost:
    cloud = Cloud(provider="aws", product_name="p5.48xlarge")
    return host(**{"rdma": rdma(devices, driver="efa"), "cloud": cloud, "nvidia": nvidia(), **given})


CASES = (
    of(
        "AWS001",
        fires=[
            host(rdma=_EFA, plugins=()),
            host(rdma=_EFA, plugins=(plugin(origin="vendor"),), nodes=None),
            host(rdma=_EFA, plugins=(plugin("libnccl-tuner.so"),)),
        ],
        silent=[host(rdma=_EFA, plugins=(_OFI,)), host(rdma=_IB), host(rdma=_EFA, plugins=(), nodes=1)],
        unknown=[host(), host(rdma=_EFA)],
    ),
    of(
        "AWS015",
        fires=[
            host({"FI_PROVIDER": "efa", "NCCL_GIN_TYPE": "2"}, nccl=(2, 28, 9)),
            host({"FI_PROVIDER": "efa", "NCCL_GIN_ENABLE": "1"}, nccl=(2, 30, 7)),
        ],
        silent=[
            host({"FI_PROVIDER": "efa", "NCCL_GIN_TYPE": "2"}, nccl=(2, 31, 2)),
            host({"FI_PROVIDER": "efa", "NCCL_GIN_TYPE": "2", "OFI_NCCL_FORCE_NUM_RAILS": "4"}),
            host({"FI_PROVIDER": "efa", "NCCL_GIN_TYPE": "0"}),
            host({"FI_PROVIDER": "efa", "NCCL_GIN_TYPE": "2"}, nodes=1),
            host({"NCCL_GIN_TYPE": "2"}),
        ],
        unknown=[UNREAD, host({"FI_PROVIDER": "efa", "NCCL_GIN_TYPE": "2"}, nccl=None)],
    ),
    of(
        "AWS002",
        fires=[host(rdma=_EFA, network=interfaces("ena", 4))],
        silent=[
            host({"NCCL_SOCKET_IFNAME": "^docker,lo"}, rdma=_EFA, network=interfaces("ena", 4)),
            host(rdma=_EFA, network=interfaces("ena", 1)),
            host(rdma=_EFA, network=interfaces("ena", 4), nodes=1),
            host(rdma=_IB),
        ],
        unknown=[UNREAD, host(), host(rdma=_EFA), host(rdma=_EFA, network=interfaces("ena", 4), nodes=None)],
    ),
    of(
        "AWS014",
        fires=[
            host({"FI_PROVIDER": "efa", "RDMAV_FORK_SAFE": "1"}),
            host({"FI_PROVIDER": "efa;ofi_rxr", "IBV_FORK_SAFE": "yes"}),
        ],
        silent=[
            host(),
            host({"RDMAV_FORK_SAFE": "1"}),
            host({"FI_PROVIDER": "^efa", "RDMAV_FORK_SAFE": "1"}),
            host({"FI_PROVIDER": "efa", "RDMAV_FORK_SAFE": "0"}),
            host({"FI_PROVIDER": "efa", "FI_EFA_FORK_SAFE": "1"}),
        ],
    ),
    of(
        "AWS003",
        fires=[
            host({"FI_EFA_USE_DEVICE_RDMA": "1"}, plugins=(_OFI,)),
            host({"RDMAV_FORK_SAFE": "1"}, plugins=(plugin(version="1.7.0"),)),
        ],
        silent=[
            host(plugins=(_OFI,)),
            host({"FI_EFA_USE_DEVICE_RDMA": "1"}, plugins=(plugin(version="1.6.0"),)),
            host({"FI_EFA_USE_DEVICE_RDMA": "1"}, plugins=()),
            host({"FI_PROVIDER": "efa", "RDMAV_FORK_SAFE": "1"}, plugins=(_OFI,)),
        ],
        unknown=[
            UNREAD,
            host({"RDMAV_FORK_SAFE": "1"}),
            host({"RDMAV_FORK_SAFE": "1"}, plugins=(plugin(version=Unknown("it names none")),)),
        ],
    ),
    of(
        "AWS004",
        fires=[
            host({"NCCL_BUFFSIZE": "4194304"}, rdma=_EFA),
            host({"NCCL_TOPO_FILE": "/tmp/t.xml"}, rdma=_EFA),
            host({"NCCL_NET_FORCE_FLUSH": "1"}, rdma=_EFA),
        ],
        silent=[
            host(rdma=_EFA),
            host({"NCCL_BUFFSIZE": "8388608", "NCCL_NETDEVS_POLICY": "max:1"}, rdma=_EFA),
            host({"NCCL_BUFFSIZE": "4194304"}, rdma=_IB),
        ],
        unknown=[UNREAD, host({"NCCL_BUFFSIZE": "4194304"})],
    ),
    of(
        "AWS005",
        fires=[
            host({name: value})
            for name, value in (
                ("OFI_NCCL_PROTOCOL", "RMDA"),
                ("OFI_NCCL_PROTOCOL", ""),
                ("OFI_NCCL_MR_CACHE_DISABLE", "yes"),
                ("OFI_NCCL_MR_CACHE_DISABLE", "1 "),
                ("OFI_NCCL_CQ_SIZE", "-1"),
                ("OFI_NCCL_MIN_STRIPE_SIZE", "128K"),
                ("OFI_NCCL_RDMA_MIN_POSTED_BOUNCE_BUFFERS", "64"),
            )
        ],
        silent=[
            host(),
            host(
                {"OFI_NCCL_PROTOCOL": "rdma", "OFI_NCCL_MR_CACHE_DISABLE": "TRUE", "OFI_NCCL_DISABLE_DMABUF": "7"}
            ),
            host({"OFI_NCCL_EAGER_MAX_SIZE": "-1", "OFI_NCCL_NET_LATENCY": "2.5", "OFI_NCCL_CQ_SIZE": " 64"}),
            host({"OFI_NCCL_ENDPOINT_PER_COMM": "1"}),
        ],
    ),
    of(
        "AWS006",
        fires=[
            host({"FI_PROVIDER": "tcp"}, rdma=_EFA),
            host({"FI_PROVIDER": "^efa"}, rdma=_EFA),
            host({"FI_PROVIDER": "sockets,tcp"}, rdma=_EFA),
            host({"FI_PROVIDER": "tcp;ofi_rxm"}),
            host({"FI_PROVIDER": "verbs", "FI_EFA_FORK_SAFE": "1"}),
        ],
        silent=[
            host(),
            *(host({"FI_PROVIDER": text}, rdma=_EFA) for text in ("efa", "EFA", "^tcp", "efa;ofi_rxm,tcp", "")),
            host({"FI_PROVIDER": "tcp"}, rdma=_IB),
        ],
        unknown=[
            UNREAD,
            host({"FI_PROVIDER": "verbs"}),
            host({"FI_PROVIDER": "cxi"}),
            host({"FI_PROVIDER": "tcp"}, nodes=1),
            host({"FI_PROVIDER": "tcp", "NCCL_NET": "IB"}),
        ],
    ),
    of(
        "AWS007",
        fires=[host(rdma=_EFA, limits=limits(hugepages_total=5128))],
        silent=[
            host(rdma=_EFA, limits=limits()),
            host({"FI_EFA_USE_HUGE_PAGE": "0"}, rdma=_EFA, limits=limits(hugepages_total=5128)),
            host(rdma=_IB, limits=limits(hugepages_total=5128)),
        ],
        unknown=[UNREAD, host(), host(rdma=_EFA)],
    ),
    of(
        "AWS008",
        fires=[host({"NCCL_SHM_USE_CUDA_MEMCPY": "1"})],
        silent=[host(nccl=None), host({"NCCL_SHM_USE_CUDA_MEMCPY": "1"}, nccl=(2, 27, 7))],
        unknown=[UNREAD, host({"NCCL_SHM_USE_CUDA_MEMCPY": "1"}, nccl=None)],
    ),
    of(
        "AWS009",
        fires=[
            host({"FI_PROVIDER": "efa", "NCCL_NET": "Socket"}),
            host({"FI_EFA_USE_HUGE_PAGE": "0", "NCCL_NET_PLUGIN": "none"}, nodes=None),
            host({"FI_PROVIDER": "efa", "NCCL_NET": "IB"}, rdma=_EFA),
        ],
        silent=[
            host(),
            host({"FI_PROVIDER": "efa", "NCCL_NET": "AWS Libfabric"}),
            host({"FI_PROVIDER": "tcp", "NCCL_NET": "Socket"}),
            host({"FI_PROVIDER": "efa", "NCCL_NET": "IB"}, rdma=_IB),
        ],
    ),
    of(
        "AWS010",
        fires=[host({"FI_EFA_USE_DEVICE_RDMA": "0"})],
        silent=[host(), host({"FI_EFA_USE_DEVICE_RDMA": "1"})],
    ),
    of(
        "AWS012",
        fires=[
            host({"FI_EFA_USE_DEVICE_RDMA": "1"}, rdma=_FIRST),
            host({"FI_EFA_USE_DEVICE_RDMA": "1"}, cloud=Cloud(provider="aws", product_name="p3dn.24xlarge")),
        ],
        silent=[
            host(rdma=_FIRST),
            host({"FI_EFA_USE_DEVICE_RDMA": "0"}, rdma=_FIRST),
            host({"FI_EFA_USE_DEVICE_RDMA": "1"}, cloud=Cloud(provider="aws", product_name="p4d.24xlarge")),
            host({"FI_EFA_USE_DEVICE_RDMA": "1"}),
        ],
    ),
    of(
        "AWS013",
        fires=[_p5(1), _p5(7), _p5(3, cloud=Cloud(provider="aws", product_name="p4d.24xlarge"))],
        silent=[
            _p5(8),
            _p5(32),
            _p5(4, cloud=Cloud(provider="aws", product_name="p4d.24xlarge")),
            _p5(1, nodes=1),
            _p5(1, nvidia=nvidia(1)),
            _p5(1, cloud=Cloud(provider="aws", product_name="g5.48xlarge")),
            _p5(0),
        ],
        unknown=[host(), _p5(1, nodes=None)],
    ),
    of(
        "AWS011",
        fires=[host({"FI_MR_CACHE_MONITOR": "memhooks"})],
        silent=[host(), *(host({"FI_MR_CACHE_MONITOR": text}) for text in ("userfaultfd", "kdreg2", "disabled"))],
    ),
)
