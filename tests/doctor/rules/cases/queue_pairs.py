"""Cases of nccltool/doctor/rules/infiniband: connections and routing."""

from typing import Any

from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Cpu, Network, RdmaPort, Versions
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import HIDDEN, NONE, hca, ib, net, nic, plugin, rdma, roce

_TWO_PORTS = rdma(hca("mlx5_0", ib(1), ib(2)))
_TWO_FUNCTIONS = rdma(hca("mlx5_0", pci="0000:18:00.0"), hca("mlx5_1", pci="0000:18:00.1"))
_APART = rdma("mlx5_0", "mlx5_1")
_ETH = net(nic("eth0", "10.0.0.1/24"))
_OLD_TORCH, _TORCH = Versions(torch="2.1.2"), Versions(torch="2.8.0+cu128")


def _ib(name: str, value: int | str, **given: Any) -> JudgedHost:
    env = {f"NCCL_IB_{name}": str(value), **given.pop("env", {})}
    return host(env, **given)


def _cross(value: int | str, **given: Any) -> JudgedHost:
    return host({"NCCL_CROSS_NIC": str(value)}, **{"plugins": (), "network": _ETH, **given})


def _port(port: RdmaPort, **given: Any) -> dict[str, Any]:
    return {"rdma": rdma(hca("mlx5_0", port, **given))}


_RAIL = {"NCCL_NET_MERGE_POLICY": "RAIL"}
_RO = "PCI_RELAXED_ORDERING"

CASES = (
    of(
        "IB030",
        fires=[_ib("SL", 16), _ib("SL", -2)],
        silent=[host(), _ib("SL", 0), _ib("SL", 15), _ib("SL", -1), _ib("SL", "")],
    ),
    of(
        "IB031",
        fires=[_ib("TIMEOUT", 0), _ib("TIMEOUT", 32), _ib("TIMEOUT", -1), _ib("TIMEOUT", "long")],
        silent=[host(), _ib("TIMEOUT", 1), _ib("TIMEOUT", 31), _ib("TIMEOUT", "")],
    ),
    of(
        "IB032",
        fires=[
            _ib("TIMEOUT", 17, nodes=9),
            _ib("TIMEOUT", 1, nodes=100),
            _ib("TIMEOUT", 2, nodes=None),
            _ib("TIMEOUT", 13, nodes=2),
        ],
        silent=[
            host(nodes=None),
            _ib("TIMEOUT", 13, nodes=1),
            _ib("TIMEOUT", 14, nodes=8),
            _ib("TIMEOUT", 17, nodes=8),
            _ib("TIMEOUT", 18, nodes=None),
            _ib("TIMEOUT", 0),
        ],
        unknown=[UNREAD, _ib("TIMEOUT", 14, nodes=None)],
    ),
    of(
        "IB033",
        fires=[
            _ib("TIMEOUT", 25, versions=_TORCH),
            _ib("TIMEOUT", 27, nccl=None),
            _ib("TIMEOUT", 26, versions=_OLD_TORCH),
            _ib("RETRY_CNT", 200, versions=_TORCH),
        ],
        silent=[
            host(),
            _ib("TIMEOUT", 24),
            _ib("TIMEOUT", 25, versions=_OLD_TORCH),
            _ib("TIMEOUT", 25, env={"NCCL_IB_RETRY_CNT": "4"}),
            _ib("TIMEOUT", 32),
            _ib("RETRY_CNT", 7, nccl=(2, 12, 7)),
        ],
        unknown=[UNREAD, _ib("TIMEOUT", 25), _ib("RETRY_CNT", 7, nccl=None)],
    ),
    of(
        "IB034",
        fires=[_ib("RETRY_CNT", 8), _ib("RETRY_CNT", -1)],
        silent=[host(), _ib("RETRY_CNT", 7), _ib("RETRY_CNT", 0)],
    ),
    of(
        "IB035",
        fires=[_ib("RETRY_CNT", 6), _ib("RETRY_CNT", 0)],
        silent=[host(), _ib("RETRY_CNT", 7), _ib("RETRY_CNT", 8)],
    ),
    of(
        "IB036",
        fires=[
            _ib("QPS_PER_CONNECTION", 0),
            _ib("QPS_PER_CONNECTION", 129),
            _ib("QPS_PER_CONNECTION", 65, rdma=_TWO_PORTS),
            _ib("QPS_PER_CONNECTION", 128, rdma=_TWO_FUNCTIONS),
        ],
        silent=[
            host(),
            _ib("QPS_PER_CONNECTION", 32),
            _ib("QPS_PER_CONNECTION", 64, rdma=_TWO_PORTS),
            _ib("QPS_PER_CONNECTION", 128, rdma=_APART),
            _ib("QPS_PER_CONNECTION", 128, env={"NCCL_IB_MERGE_NICS": "0"}),
        ],
        unknown=[
            UNREAD,
            _ib("QPS_PER_CONNECTION", 33),
            _ib("QPS_PER_CONNECTION", 33, rdma=_APART, env={"NCCL_NET_MERGE_LEVEL": "SYS"}),
            _ib("QPS_PER_CONNECTION", 33, **_port(ib(), pci=HIDDEN)),
        ],
    ),
    of("IB037", fires=[_ib("QPS_PER_CONNECTION", 17)], silent=[host(), _ib("QPS_PER_CONNECTION", 16)]),
    of(
        "IB038",
        fires=[_ib("SPLIT_DATA_ON_QPS", 1), _ib("SPLIT_DATA_ON_QPS", 1, env={"NCCL_IB_QPS_PER_CONNECTION": "1"})],
        silent=[
            host(),
            _ib("SPLIT_DATA_ON_QPS", 0),
            _ib("SPLIT_DATA_ON_QPS", 1, env={"NCCL_IB_QPS_PER_CONNECTION": "4"}),
        ],
    ),
    of(
        "IB040",
        fires=[_ib("AR_THRESHOLD", 4 << 20), _ib("AR_THRESHOLD", 1 << 20, env={"NCCL_BUFFSIZE": "1048576"})],
        silent=[host(), _ib("AR_THRESHOLD", 8192), _ib("AR_THRESHOLD", 4 << 20, env={"NCCL_BUFFSIZE": "8388608"})],
    ),
    of(
        "IB042",
        fires=[
            _ib("OOO_RQ", 1, **_port(roce())),
            _ib("OOO_RQ", 1, env={"NCCL_IB_ADAPTIVE_ROUTING": "0"}, **_port(ib())),
        ],
        silent=[
            host(),
            _ib("OOO_RQ", 1, **_port(ib())),
            _ib("OOO_RQ", 1, env={"NCCL_IB_ADAPTIVE_ROUTING": "1"}, **_port(roce())),
            _ib("OOO_RQ", 0, **_port(roce())),
            _ib("OOO_RQ", 1, **_port(roce(), driver="bnxt_en")),
            _ib("OOO_RQ", 1, nccl=(2, 29, 7), **_port(roce())),
        ],
        unknown=[
            UNREAD,
            _ib("OOO_RQ", 1),
            _ib("OOO_RQ", 1, **_port(roce(), driver=HIDDEN)),
            _ib("OOO_RQ", 1, nccl=None, **_port(roce())),
        ],
    ),
    of(
        "IB043",
        fires=[_ib(_RO, 0, cpu=Cpu(hypervisor=True))],
        silent=[host(), _ib(_RO, 0, cpu=Cpu(hypervisor=False)), _ib(_RO, 1), _ib(_RO, 2)],
        unknown=[UNREAD, _ib(_RO, 0)],
    ),
    of(
        "IB044",
        fires=[_ib(_RO, 1, rdma=rdma("mlx5_0", ibverbs_iova2=False))],
        silent=[
            host(),
            _ib(_RO, 1, rdma=rdma("mlx5_0", ibverbs_iova2=True)),
            _ib(_RO, 2),
            _ib(_RO, 1, rdma=NONE),
        ],
        unknown=[UNREAD, _ib(_RO, 1), _ib(_RO, 1, rdma=rdma("mlx5_0", ibverbs_iova2=HIDDEN))],
    ),
    of(
        "IB045",
        fires=[
            host(_RAIL),
            host({"NCCL_NET_MERGE_POLICY": "rail", "NCCL_IB_HCA": "=mlx5_0,mlx5_1:1"}),
            host({**_RAIL, "NCCL_IB_HCA": "^mlx5_0::0"}),
        ],
        silent=[
            host(),
            host({**_RAIL, "NCCL_IB_HCA": "=mlx5_0::0,mlx5_1"}),
            host({"NCCL_NET_MERGE_POLICY": "ALL"}),
        ],
    ),
    of(
        "IB046",
        fires=[
            _ib("RESILIENCY_PORT_FAILOVER", 1, rdma=_APART),
            _ib("RESILIENCY_PORT_FAILOVER", 1, env={"NCCL_IB_MERGE_NICS": "0"}),
        ],
        silent=[
            host(),
            _ib("RESILIENCY_PORT_FAILOVER", 0),
            _ib("RESILIENCY_PORT_FAILOVER", 1, rdma=_TWO_PORTS),
            _ib("RESILIENCY_PORT_FAILOVER", 1, rdma=NONE),
        ],
        unknown=[
            UNREAD,
            _ib("RESILIENCY_PORT_FAILOVER", 1),
            _ib("RESILIENCY_PORT_FAILOVER", 1, rdma=_APART, env={"NCCL_NET_FORCE_MERGE": "mlx5_0,mlx5_1"}),
        ],
    ),
    of("IB047", fires=[_ib("RETURN_ASYNC_EVENTS", 0)], silent=[host(), _ib("RETURN_ASYNC_EVENTS", 1)]),
    of(
        "IB048",
        fires=[
            _ib("PKEY", 1, **_port(ib())),
            _ib("PKEY", "0x8001", **_port(ib(pkeys=(0xFFFF, 0x8001)))),
            _ib("PKEY", 1, **_port(roce(pkeys=(0xFFFF, 0, 0x8002)))),
            _ib("PKEY", -1, **_port(ib())),
            _ib("PKEY", 0, **_port(ib(pkeys=()))),
            _ib("PKEY", "0x8001"),
        ],
        silent=[
            host(),
            _ib("PKEY", 0, **_port(ib())),
            _ib("PKEY", 1, **_port(ib(pkeys=(0xFFFF, 0x8001)))),
            _ib("PKEY", 1, rdma=NONE),
        ],
        unknown=[UNREAD, _ib("PKEY", 1), _ib("PKEY", 1, **_port(ib(pkeys=HIDDEN)))],
    ),
    of(
        "IB050",
        fires=[_cross(1, **_port(ib())), _cross(0, rdma=NONE)],
        silent=[
            host(),
            _cross(1, rdma=_APART),
            _cross(1, plugins=(plugin(),), **_port(ib())),
            _cross(0, rdma=NONE, network=net(nic("eth0", "10.0.0.1/24"), nic("eth1", "10.1.0.1/24"))),
        ],
        unknown=[
            UNREAD,
            _cross(1),
            _cross(1, plugins=HIDDEN, **_port(ib())),
            _cross(1, rdma=NONE, network=Network()),
        ],
    ),
    of("IB051", fires=[_cross(3), _cross(-1)], silent=[host(), _cross(0), _cross(2), _cross("")]),
    of(
        "IB058",
        fires=[
            _ib("SUBNET_PREFIX_LEN", 64, env={"NCCL_IB_SUBNET_AWARE_ROUTING": "1"}),
            _ib("SUBNET_PREFIX_LEN", 0, env={"NCCL_IB_SUBNET_AWARE_ROUTING": "1"}),
        ],
        silent=[
            host(),
            _ib("SUBNET_PREFIX_LEN", 64),
            _ib("SUBNET_PREFIX_LEN", 32, env={"NCCL_IB_SUBNET_AWARE_ROUTING": "1"}),
            _ib("SUBNET_AWARE_ROUTING", 1),
        ],
    ),
)
