"""Cases of nccltool/doctor/rules/interfaces: which one NCCL takes."""

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Network
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import HIDDEN, net, nic

_ETH = net(nic("eth0", "10.0.0.1/24"))
_DOCKER = net(nic("docker0", "172.17.0.1/16"), nic("eth0", "10.0.0.1/24"))
_PREFIX = net(nic("eth1", "10.0.0.1/24"), nic("eth10", "10.0.1.1/24"))
_MANY = net(*(nic(f"eth{n}", f"10.0.{n}.1/24") for n in range(20)))
_ONLY_LO = net()
_IPOIB = net(nic("eth0", "10.0.0.1/24"), nic("ib0", "10.10.0.1/16"), routes=("0.0.0.0/0 eth0", "10.10.0.0/16 ib0"))
_ODD = net(nic("eth\x1b[31m", "10.0.0.1/24"))
_HIDDEN = Network(interfaces=HIDDEN, addresses=HIDDEN)


def _named(value: str) -> dict[str, str]:
    return {"NCCL_SOCKET_IFNAME": value}


def _six(name: str = "eth0") -> dict[str, str]:
    return {"NCCL_SOCKET_FAMILY": "AF_INET6", "NCCL_SOCKET_IFNAME": name}


CASES = (
    of(
        "NETIF001",
        fires=[
            host(_named("eth1"), network=_ETH),
            host(_named("=eth"), network=_ETH),
            host(_named("10.0.0.1"), network=_ETH),
            host(_named("^l,e"), network=_ETH),
            host(_named("eth0"), network=_ODD),
            host(files={"system": "NCCL_SOCKET_IFNAME=ens"}, network=_ETH, nodes=1),
        ],
        silent=[
            host(network=_HIDDEN),
            host(_named("eth"), network=_ETH),
            host(_named("^docker,lo,veth"), network=_ETH),
            host(_named("=eth0:1"), network=_ETH),
            host(_named("x"), network=_ETH),
            host(_named(""), network=_ETH),
        ],
        unknown=[UNREAD, host(_named("eth1"), network=_HIDDEN)],
    ),
    of(
        "NETIF002",
        fires=[
            host(_named("eth0"), network=net(nic("eth0", "10.0.0.1/24", running=False))),
            host(
                _named("eth"), network=net(nic("eth0", running=False), nic("eth1", running=False, carrier=False))
            ),
        ],
        silent=[
            host(_named("eth1"), network=_ETH),
            host(_named("eth"), network=net(nic("eth0"), nic("eth1", running=False))),
            host(_named("eth"), network=net(nic("eth0"), nic("eth1", running=Unknown("no"), speed=1))),
        ],
        unknown=[UNREAD, host(_named("eth0"), network=net(nic("eth0", running=HIDDEN)))],
    ),
    of(
        "NETIF003",
        fires=[
            host(_named("eth0"), network=net(nic("eth0"))),
            host({"NCCL_SOCKET_FAMILY": "AF_INET6"}, network=_ETH),
            host(_six(), network=_ETH),
            host({**_named("eth0"), "NCCL_SOCKET_FAMILY": "AF_INET"}, network=net(nic("eth0", "fd00::1/64"))),
        ],
        silent=[
            host(network=net(lo=False)),
            host(_named("eth0"), network=_ETH),
            host(_six(), network=net(nic("eth0", "10.0.0.1/24", "fd00::1/64"))),
            host(_named("eth0"), network=net(nic("eth0", running=False))),
            host({**_named("eth0"), "NCCL_SOCKET_FAMILY": "ipv6"}, network=_ETH),
        ],
        unknown=[UNREAD, host(_named("eth0"), network=_HIDDEN)],
    ),
    of(
        "NETIF004",
        fires=[
            host(_named("lo"), network=_ETH),
            host(network=_ONLY_LO),
            host(_named("lo"), network=_DOCKER, nccl=(2, 21, 5)),
            host(_named("lo"), network=_ETH, nodes=None),
            host(_named("=lo")),
            host(_named("docker0"), nodes=None),
            host(_named("docker,virbr0")),
            host(_named("=cni0")),
        ],
        silent=[
            host(network=_ETH),
            host(_named("lo"), network=_ETH, nodes=1),
            host(_named("lo"), nodes=1),
            host(_named("^lo,docker"), network=_ETH),
            host(_named("docker0"), network=_DOCKER),
            host(_named("^docker"), network=_ETH),
            host(network=net(lo=False)),
        ],
        unknown=[
            host(network=_HIDDEN),
            host(_named("lo,eth0"), nodes=None),
            host(_named("^lo,docker")),
            host(network=_ONLY_LO, nodes=None),
        ],
    ),
    of(
        "NETIF036",
        fires=[
            *(host(_named(text)) for text in ("mlx5_0", "=mlx5_0,eth0", "ibp65s0", "rocep80s0", "bnxt_re0")),
            host({"GLOO_SOCKET_IFNAME": "mlx5_0"}),
        ],
        silent=[host(), *(host(_named(text)) for text in ("eth0", "ib0", "^mlx5_0", "ibp65s0d1", "ens3"))],
    ),
    of(
        "NETIF035",
        fires=[
            host({"GLOO_SOCKET_IFNAME": "lo"}),
            host({"GLOO_SOCKET_IFNAME": "lo"}, nodes=None),
            host({"GLOO_SOCKET_IFNAME": "docker0"}),
            host({"TP_SOCKET_IFNAME": "lo"}),
        ],
        silent=[
            host(),
            host({"GLOO_SOCKET_IFNAME": "lo"}, nodes=1),
            host({"GLOO_SOCKET_IFNAME": "lo,eth0"}),
            host({"GLOO_SOCKET_IFNAME": "lom1"}),
        ],
    ),
    of(
        "NETIF005",
        fires=[
            host(_named("docker0"), network=_DOCKER),
            host(network=net(nic("br-3f1c", "172.18.0.1/16"), nic("eth0", "10.0.0.1/24"))),
            host(network=net(nic("docker0", "172.17.0.1/16"))),
            host(network=net(nic("wg0", "10.9.0.1/24")), nodes=None),
            host(_named("=virbr0"), network=net(nic("virbr0", "192.168.122.1/24")), nodes=1),
        ],
        silent=[
            host(network=_DOCKER),
            host(_named("eth"), network=_DOCKER),
            host(network=net(nic("bond0", "10.0.0.1/24"), nic("cni0", "10.244.0.1/24"))),
        ],
        unknown=[host(network=_HIDDEN)],
    ),
    of(
        "NETIF006",
        fires=[
            host(_named("^docker0"), network=_DOCKER),
            host(_named("^lo"), network=_DOCKER),
            host(_named("^=lo"), network=net(nic("virbr0", "192.168.122.1/24"))),
            host(_named("^eth1"), network=_DOCKER, nodes=None),
            host(_named("^docker0")),
        ],
        silent=[
            host(network=_DOCKER),
            host(_named("^docker,lo,veth"), network=_DOCKER),
            host(_named("^lo"), network=_ETH),
            host(_named("^lo"), network=net(nic("docker0", "172.17.0.1/16", running=False))),
            host(_named("eth0"), network=_DOCKER),
            host(_named("^="), network=_DOCKER),
        ],
        unknown=[UNREAD, host(_named("^lo"), network=_HIDDEN)],
    ),
    of(
        "NETIF007",
        fires=[
            *(
                host(_named(text))
                for text in ("^lo,^docker", "^=^lo", "==eth0", "=^eth0", "eth0,=eth1", "^=", "=,,")
            ),
        ],
        silent=[
            *(host(_named(text)) for text in ("^=lo,docker", "=eth0", "^lo", "eth0,eth1", "^", "=", "eth=0", ""))
        ],
    ),
    of(
        "NETIF008",
        fires=[
            host(_named("10.0.0.1"), network=_ETH),
            host(_named("=10.0.0.0/24"), network=_ETH),
            host({"GLOO_SOCKET_IFNAME": "fd00::1"}, network=_HIDDEN),
            host(_named("eth0,192.168.7.7"), network=_ETH),
        ],
        silent=[
            host(),
            host(_named("eth0"), network=_HIDDEN),
            host({**_named("^docker,lo"), "GLOO_SOCKET_IFNAME": "eth0,10gbe"}),
        ],
    ),
    of(
        "NETIF009",
        fires=[host(_named("e")), host(_named("^"))],
        silent=[host(), host(_named("")), host(_named("ib"))],
    ),
    of(
        "NETIF010",
        fires=[
            host(_named("eth1"), network=_PREFIX),
            host(_named("^eth1"), network=_PREFIX),
            host(_named("eth0"), network=net(nic("eth0", "10.0.0.1/24"), nic("eth0.100", "10.1.0.1/24"))),
        ],
        silent=[
            host(_named("=eth1"), network=_PREFIX),
            host(_named("eth"), network=_PREFIX),
            host(_named("eth1,eth10"), network=_PREFIX),
            host(_named("eth0"), network=_PREFIX),
            host(network=_HIDDEN),
        ],
        unknown=[UNREAD, host(_named("eth1"), network=_HIDDEN)],
    ),
    of(
        "NETIF011",
        fires=[host(network=_MANY), host(_named("eth"), network=_MANY)],
        silent=[
            host(network=_ETH),
            host(_named("eth1"), network=_MANY),
            host(_named("=eth3,eth4"), network=_MANY),
        ],
        unknown=[host(network=_HIDDEN)],
    ),
    of(
        "NETIF012",
        fires=[
            host(network=net(nic("eth0", "10.0.0.1/24"), nic("eth1", "192.168.7.1/24"))),
            host(_named("e"), network=_PREFIX),
        ],
        silent=[
            host(_named("eth"), network=_PREFIX),
            host(network=_DOCKER),
            host(network=_PREFIX, nodes=1),
            host(network=_IPOIB),
            host(network=net(nic("eth0", "10.0.0.1/32"), nic("eth1", "10.0.1.1/32"))),
            host(network=net(nic("eth0", "10.0.0.1/24"), nic("eth1", "10.0.0.2/24"))),
        ],
        unknown=[host(network=_HIDDEN), host(network=_PREFIX, nodes=None)],
    ),
    of(
        "NETIF013",
        fires=[host(network=_IPOIB)],
        silent=[
            host(_named("eth0"), network=_IPOIB),
            host(network=_ETH),
            host(network=_IPOIB, nodes=1),
            host(network=net(nic("ib0", "10.10.0.1/16"), routes=("0.0.0.0/0 ib0",))),
            host(network=net(nic("ib0", "10.10.0.1/16"))),
        ],
        unknown=[
            host(network=_HIDDEN),
            host(network=Network(interfaces=_IPOIB.interfaces, addresses=_IPOIB.addresses)),
        ],
    ),
    of(
        "NETIF016",
        fires=[host({"NCCL_SOCKET_FAMILY": text}) for text in ("inet", "4", "af_inet", "AF_INET ")],
        silent=[host(), *(host({"NCCL_SOCKET_FAMILY": text}) for text in ("AF_INET", "AF_INET6", ""))],
    ),
    of(
        "NETIF017",
        fires=[
            host(_six(), network=net(nic("eth0", "10.0.0.1/24", "fe80::1/64"))),
            host(
                {"NCCL_SOCKET_FAMILY": "AF_INET6"}, network=net(nic("eth0", "fe80::1/64", "fd00::1/64")), nodes=1
            ),
        ],
        silent=[
            host(network=net(nic("eth0", "fe80::1/64"))),
            host(_six(), network=net(nic("eth0", "fd00::1/64", "fe80::1/64"))),
            host(_six(), network=_ETH),
            host({"NCCL_SOCKET_FAMILY": "AF_INET"}, network=_ETH),
        ],
        unknown=[UNREAD, host(_six(), network=_HIDDEN)],
    ),
    of(
        "NETIF021",
        fires=[
            (host(_named("eth0"), network=_ETH), host(_named("eth0"), network=net(nic("ens3")), host="n2")),
            (
                host(_named("eth0"), network=_ETH),
                host(_named("eth0"), network=_HIDDEN, host="n2"),
                host(_named("eth1"), network=_ETH, host="n3"),
            ),
        ],
        silent=[
            host(_named("eth1"), network=_ETH),
            (host(_named("eth0"), network=_ETH), host(_named("en"), network=net(nic("ens3")), host="n2")),
            (host(network=_HIDDEN), host(_named("eth0"), network=_ETH, host="n2")),
        ],
        unknown=[
            (UNREAD, host(_named("eth0"), network=_ETH)),
            (host(_named("eth0"), network=_HIDDEN), host(_named("eth0"), network=_ETH, host="n2")),
        ],
    ),
    of(
        "NETIF032",
        fires=[
            host(network=net(nic("usb0", "169.254.3.1/16"), nic("eth0", "10.0.0.1/24"))),
            host(network=net(nic("eth0", "fe80::1/64"))),
            host(network=net(nic("usb0", "169.254.3.1/16")), nodes=None),
        ],
        silent=[
            host(network=_ETH),
            host(_named("eth0"), network=net(nic("usb0", "169.254.3.1/16"), nic("eth0", "10.0.0.1/24"))),
            host(_six(), network=net(nic("eth0", "fe80::1/64"))),
        ],
        unknown=[UNREAD, host(network=_HIDDEN)],
    ),
    of(
        "NETIF033",
        fires=[
            host({"NCCL_COMM_ID": "10.1.0.5:23456"}, network=_ETH),
            host({"NCCL_COMM_ID": "10.0.0.5:23456"}, network=net(nic("eth0", "10.0.0.1/32"))),
        ],
        silent=[
            host(network=_ETH),
            host({"NCCL_COMM_ID": "10.0.0.5:23456"}, network=_ETH),
            host({"NCCL_COMM_ID": ""}, network=_HIDDEN),
        ],
        unknown=[UNREAD, host({"NCCL_COMM_ID": "10.0.0.5:23456"}, network=_HIDDEN)],
    ),
    of(
        "NETIF034",
        fires=[
            host(network=net(nic("eth0", "10.1.2.3/32"), routes=("10.1.2.3/32 eth0",))),
            host(network=net(nic("eth0", "fd00::3/128"), routes=("10.0.0.0/8 eth0",))),
        ],
        silent=[
            host(network=_ETH),
            host(network=net(nic("eth0", "10.1.2.3/32"), routes=("0.0.0.0/0 eth0",))),
            host(network=net(nic("eth0", "10.1.2.3/32"), routes=("10.1.0.0/16 eth0",))),
            host(network=net(nic("eth0", "10.1.2.3/32"), routes=()), nodes=1),
        ],
        unknown=[UNREAD, host(network=_HIDDEN), host(network=_ETH, nodes=None)],
    ),
    of(
        "NETIF037",
        fires=[
            host({"NCCL_SOCKET_IFNAME": "auto"}),
            *(host(_named(text)) for text in ("!lo", "eth0/24", "=a_very_long_name1,eth0")),
            host({"GLOO_SOCKET_IFNAME": "<interface>"}),
        ],
        silent=[host(), *(host(_named(text)) for text in ("eth0", "^=lo,docker0", "enp0s31f6.4094", "eth0:1"))],
    ),
)
