"""Cases of nccltool/doctor/rules/machine/multihomed.py."""

from nccltool.hosts.facts import Kernel, Services, Setting
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import hca, net, nic, rdma, roce
from tests.doctor.rules.parts import named

_PAIR = rdma(hca("mlx5_0", roce(), netdevs=("eth0",)), hca("mlx5_1", roce(), netdevs=("eth1",)))
_ONE_SUBNET = net(nic("eth0", "10.0.0.1/24"), nic("eth1", "10.0.0.2/24"))
_TWO_SUBNETS = net(nic("eth0", "10.0.0.1/24"), nic("eth1", "10.0.1.1/24"))
_POINT_TO_POINT = net(nic("eth0", "10.0.0.0/31"), nic("eth1", "10.0.0.1/31"))
_ROUTED = net(nic("eth0", "10.0.0.1/24"), routes=("0.0.0.0/0 eth0",))
_ALONE = net(nic("eth0", "192.168.0.7/24"))
_FAR = {"MASTER_ADDR": "10.1.0.5"}


def _sysctls(**values: str) -> Kernel:
    """`arp_ignore`, `arp_announce`, `gc_thresh3` and `somaxconn`."""
    names = {"gc_thresh3": "net.ipv4.neigh.default.gc_thresh3", "somaxconn": "net.core.somaxconn"}
    found = [(names.get(name, f"net.ipv4.conf.all.{name}"), value) for name, value in values.items()]
    return Kernel(sysctls=tuple(Setting(name=name, value=value) for name, value in found))


_ARP, _NO_ARP = _sysctls(arp_ignore="0", arp_announce="0"), _sysctls(arp_ignore="1", arp_announce="2")

CASES = (
    of(
        "HOST008",
        fires=[host(rdma=_PAIR, network=_ONE_SUBNET, kernel=_ARP)],
        silent=[
            host(rdma=_PAIR, network=_ONE_SUBNET, kernel=_NO_ARP),
            host(rdma=_PAIR, network=_TWO_SUBNETS, kernel=_ARP),
            host(rdma=_PAIR, network=_POINT_TO_POINT, kernel=_ARP),
            host(rdma=rdma("mlx5_0", "mlx5_1"), network=_ONE_SUBNET, kernel=_ARP),
            host(rdma=rdma(), network=_ONE_SUBNET, kernel=_ARP),
        ],
        unknown=[host(), host(rdma=_PAIR, network=_ONE_SUBNET)],
    ),
    of(
        "HOST009",
        fires=[host(kernel=_sysctls(gc_thresh3="1024"), nodes=2000)],
        silent=[
            host(),
            host(kernel=_sysctls(gc_thresh3="1024"), nodes=1024),
            host(kernel=_sysctls(gc_thresh3="x"), nodes=2000),
        ],
        unknown=[host(nodes=2000), host(kernel=_sysctls(gc_thresh3="1"), nodes=None)],
    ),
    of(
        "HOST010",
        fires=[host(services=Services(running=("chronyd", "firewalld")))],
        silent=[
            host(services=Services(running=("chronyd",))),
            host(services=Services(running=("firewalld",)), nodes=1),
        ],
        unknown=[host()],
    ),
    of(
        "LCH021",
        fires=[
            host(_FAR, network=_ALONE),
            host({"MASTER_ADDR": "fd00::5"}, network=_ROUTED),
            host({"MASTER_ADDR": "n1"}, network=_ALONE, names=named(master_addr=("fd00::5",))),
        ],
        silent=[
            host(network=_ALONE),
            host(_FAR, network=_ROUTED),
            host({"MASTER_ADDR": "192.168.0.1"}, network=_ALONE),
            host({"MASTER_ADDR": "127.0.0.1"}, network=_ALONE),
            host({"MASTER_ADDR": "n1"}, network=_ALONE, names=named(master_addr=("fd00::5", "192.168.0.9"))),
        ],
        unknown=[UNREAD, host(_FAR), host({"MASTER_ADDR": "n1"}, network=_ALONE)],
    ),
    of(
        "HOST014",
        fires=[
            host(nodes=64, kernel=_sysctls(somaxconn="128")),
            host(nodes=1024, kernel=_sysctls(somaxconn="1024")),
        ],
        silent=[
            host(kernel=_sysctls(somaxconn="16")),
            host(nodes=1024, kernel=_sysctls(somaxconn="4096")),
            host(nodes=1, local_ranks=256, kernel=_sysctls(somaxconn="128")),
            host(nodes=64, kernel=_sysctls(somaxconn="many")),
        ],
        unknown=[
            host(),
            host(nodes=None, kernel=_sysctls(somaxconn="128")),
            host(nodes=64, local_ranks=None, kernel=_sysctls(somaxconn="128")),
        ],
    ),
)
