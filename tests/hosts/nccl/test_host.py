"""What NCCL would choose on a host: its ports, and what carries traffic between nodes."""

import pytest

from nccltool.hosts.facts import HostFacts, Plugin, Rdma
from nccltool.hosts.nccl.host import NcclHost
from tests.doctor.rules import machines
from tests.hosts.nccl.test_adapters import of


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (None, "mlx5_0:1 mlx5_1:1 mlx5_1:2 mlx5_10:1"),
        ("", "mlx5_0:1 mlx5_1:1 mlx5_1:2 mlx5_10:1"),
        ("mlx5_1", "mlx5_1:1 mlx5_1:2 mlx5_10:1"),
        ("=mlx5_1", "mlx5_1:1 mlx5_1:2"),
        ("=mlx5_1:2,mlx5_0", "mlx5_0:1 mlx5_1:2"),
        ("^=mlx5_1:2", "mlx5_0:1 mlx5_1:1 mlx5_10:1"),
        ("^", ""),
        ("ibp", ""),
        ("efa", ""),
    ],
)
def test_ports_are_those_of_the_list(value: str | None, names: str) -> None:
    devices = (
        machines.hca("mlx5_0"),
        machines.hca("mlx5_1", machines.ib(1), machines.roce(2)),
        machines.hca("mlx5_10", machines.ib(state="DOWN")),
        machines.hca("efa_0", machines.ib(link_layer="Unspecified")),
    )
    settings = of(**({} if value is None else {"IB_HCA": value}))
    host = NcclHost(settings=settings, facts=HostFacts(host="n1", rdma=machines.rdma(*devices)))
    assert " ".join(one.name for one in host.ports) == names
    assert "mlx5_10:1" not in [one.name for one in host.active_ports]


IB, NONE, EFA = machines.rdma("mlx5_0"), machines.NONE, machines.EFA
OFI, DEFAULT = machines.plugin("libnccl-net-ofi.so"), machines.plugin()


@pytest.mark.parametrize(
    ("values", "rdma", "plugins", "network"),
    [
        ({}, IB, (), "IB"),
        ({}, NONE, (), "Socket"),
        ({}, EFA, (), "Socket"),
        ({}, EFA, (DEFAULT,), "plugin"),
        ({}, EFA, (OFI,), "Socket"),
        ({}, EFA, (machines.plugin(origin="vendor"),), "Socket"),
        ({"NET_PLUGIN": "ofi"}, EFA, (OFI,), "plugin"),
        ({"NET_PLUGIN": "/opt/libnccl-net-ofi.so"}, EFA, (OFI,), "plugin"),
        ({"NET_PLUGIN": "None"}, IB, (DEFAULT,), "IB"),
        ({"NET_PLUGIN": "x"}, IB, (DEFAULT,), "IB"),
        ({"IB_DISABLE": "1"}, IB, (), "Socket"),
        ({"IB_DISABLE": "1"}, IB, (DEFAULT,), "plugin"),
        ({"IB_HCA": "ibp"}, IB, (), "Socket"),
        ({"NET": "socket"}, IB, (DEFAULT,), "Socket"),
        ({"NET": "IB"}, NONE, (), "IB"),
        ({"NET": "AWS Libfabric"}, IB, (), "plugin"),
        ({"NET": ""}, IB, (), "IB"),
    ],
)
def test_the_network_is_known(
    values: dict[str, str], rdma: Rdma, plugins: tuple[Plugin, ...], network: str
) -> None:
    facts = HostFacts(host="n1", rdma=rdma, plugins=plugins)
    assert NcclHost(settings=of(**values), facts=facts).network_kind == network
