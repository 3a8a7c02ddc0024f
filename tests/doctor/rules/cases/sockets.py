"""Cases of nccltool/doctor/rules/interfaces: NCCL over TCP, and Gloo."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Cpu, HostNames, Kernel, ProcessLimits
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import EFA, ETHERNET, HIDDEN, NONE, net, nic, plugin, rdma, settings

_VIRTUAL = Unknown("virtual")
_SLOW = nic("eno1", "10.0.0.1/24", speed=10000)
_FAST = nic("ens3", "10.1.0.1/24", speed=100000)
_BOTH = net(_SLOW, _FAST)
_ENA = net(nic("eth0", "10.0.0.1/24", vendor="0x1d0f"))
_VETH = net(nic("eth0", "10.0.0.1/24", vendor=_VIRTUAL, virtual=True, speed=_VIRTUAL))
_FLANNEL = net(nic("eth0", "10.0.0.1/24"), nic("flannel.1", "10.244.0.0/32", virtual=True, speed=_VIRTUAL))
_THREADS, _SOCKETS = "NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"


def _on(value: str | None = None, **given: Any) -> JudgedHost:
    """A host that has TCP only, with NCCL_SOCKET_IFNAME."""
    env = given.pop("env", {}) | ({"NCCL_SOCKET_IFNAME": value} if value else {})
    return host(env, **{"network": _BOTH, "rdma": NONE, "plugins": (), **given})


def _tuned(threads: int | None, sockets: int | None = None, **given: Any) -> JudgedHost:
    env = {_THREADS: threads, _SOCKETS: sockets}
    return host({name: str(value) for name, value in env.items() if value is not None}, **given)


def _range(text: str, **given: Any) -> JudgedHost:
    return host(kernel=Kernel(sysctls=settings(net_ipv4_ip__local__port__range=text)), **given)


def _busy(threads: int, **given: Any) -> JudgedHost:
    network = net(nic("eth0", "10.0.0.1/24"), nic("eth1", "10.1.0.1/24"))
    parts = {
        "network": network,
        "rdma": NONE,
        "plugins": (),
        "cpu": Cpu(allowed="0-63,128"),
        "limits": ProcessLimits(cpu_cores=None),
    }
    return _tuned(threads, **{**parts, **given})


def _retry(count: str | None, sleep: str | None = None, **given: Any) -> JudgedHost:
    env = {"NCCL_SOCKET_RETRY_CNT": count, "NCCL_SOCKET_RETRY_SLEEP_MSEC": sleep}
    return host({name: value for name, value in env.items() if value is not None}, **given)


_BUFFERS = Kernel(sysctls=settings(net_core_rmem__max="212992", net_core_wmem__max="4194304"))
_ELASTIC = {"TORCHELASTIC_RUN_ID": "7"}

CASES = (
    of(
        "NETIF014",
        fires=[
            _on("eno1"),
            _on("eno1", rdma=ETHERNET, env={"NCCL_IB_DISABLE": "1"}),
            _on("eno1", rdma=ETHERNET, plugins=HIDDEN, env={"NCCL_NET": "socket"}),
            _on("eno1", rdma=EFA),
            _on("eno1", plugins=(plugin(),), env={"NCCL_NET_PLUGIN": "none"}),
        ],
        silent=[
            _on(),
            _on("ens3"),
            _on("eno1", rdma=ETHERNET),
            _on("eno1", rdma=EFA, plugins=(plugin(),)),
            _on("eno1", network=net(_SLOW, nic("ens3", speed=100000))),
            _on("eno1", network=net(_SLOW, nic("ens3", "10.1.0.1/24", speed=100000, running=False))),
            _on(network=net(lo=False)),
        ],
        unknown=[
            UNREAD,
            _on("eno1", plugins=HIDDEN),
            _on("eth0", network=net(nic("eth0", "10.0.0.1/24", speed=_VIRTUAL), _FAST)),
        ],
    ),
    of(
        "NETIF015",
        fires=[
            _on(),
            _on(network=net(nic("eth0", "10.0.0.1/24"), nic("eth1", "10.1.0.1/24"))),
            _on(network=net(nic("eth0", "10.0.0.1/24"), nic("eth1", "10.0.0.2/24", speed=1000))),
            _on(network=_FLANNEL),
        ],
        silent=[
            _on("ens3"),
            _on("=eth0", network=_FLANNEL),
            _on(rdma=ETHERNET),
            _on(network=net(nic("eth0", "10.0.0.1/24"), nic("eth1", "10.0.0.2/24"))),
            _on(network=net(nic("eth0", "10.0.0.1/32"), nic("eth1", "10.1.0.1/32"))),
        ],
        unknown=[
            UNREAD,
            _on(plugins=HIDDEN),
            _on(network=net(nic("eth0", "10.0.0.1/24", speed=_VIRTUAL), nic("eth1", "10.0.0.2/24"))),
        ],
    ),
    of(
        "NETIF018",
        fires=[
            host({"GLOO_SOCKET_IFNAME": "^lo"}),
            host({"GLOO_SOCKET_IFNAME": "=eno1"}, network=_BOTH),
            host({"GLOO_SOCKET_IFNAME": "en"}, network=_BOTH),
            host({"GLOO_SOCKET_IFNAME": "eno1, ens3"}, network=_BOTH),
        ],
        silent=[
            host(),
            host({"GLOO_SOCKET_IFNAME": "eno1,ens3"}, network=_BOTH),
            host({"GLOO_SOCKET_IFNAME": ""}),
        ],
        unknown=[UNREAD, host({"GLOO_SOCKET_IFNAME": "eno1"})],
    ),
    of(
        "NETIF019",
        fires=[
            host(names=HostNames(hostname="n1", addresses=("127.0.1.1",))),
            host(names=HostNames(addresses=("::1", "10.0.0.1"))),
            host(names=HostNames(hostname="n1", addresses=())),
        ],
        silent=[
            host(names=HostNames(hostname="n1", addresses=("10.0.0.1", "127.0.1.1"))),
            host({"GLOO_SOCKET_IFNAME": "eth0"}),
            host(nodes=1),
        ],
        unknown=[UNREAD, host(), host(nodes=None)],
    ),
    of(
        "NETIF020",
        fires=[_on("ens3", env={"GLOO_SOCKET_IFNAME": "eno1"})],
        silent=[
            _on("eno1,ens3", env={"GLOO_SOCKET_IFNAME": "eno1"}),
            _on(env={"GLOO_SOCKET_IFNAME": "eno1"}),
            _on("ens3"),
            _on("ens3", env={"GLOO_SOCKET_IFNAME": "eth7"}),
            _on("eth7", env={"GLOO_SOCKET_IFNAME": "eno1"}),
        ],
        unknown=[UNREAD, host({"NCCL_SOCKET_IFNAME": "eno1", "GLOO_SOCKET_IFNAME": "ens3"})],
    ),
    of(
        "NETIF022",
        fires=[
            *(
                host({"NCCL_COMM_ID": text})
                for text in ("node1", "10.0.0.1", "fd00::1:1", "[fd00::1]", "", "n1:0")
            ),
            host({"NCCL_COMM_ID": "127.0.0.1:1"}),
            host({"NCCL_COMM_ID": "[::1]:1"}),
            host({"NCCL_COMM_ID": "n1:99999"}),
            host({"NCCL_COMM_ID": "0.0.0.0:1"}),
            host({"NCCL_COMM_ID": "localhost:1"}),
            host({"NCCL_COMM_ID": "127.0.0.1:1"}, nodes=None),
            host({"NCCL_COMM_ID": "10.0.0.1:1", **_ELASTIC}, nodes=None),
        ],
        silent=[
            host(),
            *(host({"NCCL_COMM_ID": text}) for text in ("10.0.0.1:1", "[fe80::1%eth0]:1", "node1:23456")),
            host({"NCCL_COMM_ID": "127.0.0.1:1"}, nodes=1),
        ],
    ),
    of(
        "NETIF023",
        fires=[_range("50000\t50100"), _range("50000 50511", local_ranks=9), _range("60000 50000"), _range("")],
        silent=[
            _range("1024\t65535", local_ranks=None),
            _range("50000 50511"),
            _range("50000 50063", local_ranks=1),
        ],
        unknown=[host(), _range("50000 50100", local_ranks=None)],
    ),
    of(
        "NETIF024",
        fires=[_tuned(17), _tuned(0), _tuned(-1)],
        silent=[host(), _tuned(1), _tuned(16), host({_THREADS: ""})],
    ),
    of(
        "NETIF025",
        fires=[
            _tuned(16, 8),
            _tuned(1, 65),
            _tuned(16, network=_ENA),
            _tuned(None, 64, network=_ENA),
            _tuned(100, 5),
        ],
        silent=[
            host(),
            _tuned(8, 8),
            _tuned(4),
            _tuned(0, 1000),
            _tuned(16, network=_BOTH),
            _tuned(None, 64, network=_VETH),
        ],
        unknown=[UNREAD, _tuned(16), _tuned(16, network=net(nic("eth0", "10.0.0.1/24", vendor=HIDDEN)))],
    ),
    of(
        "NETIF026",
        fires=[
            _tuned(None, 4, network=_BOTH),
            _tuned(None, 4, network=_VETH),
            _tuned(None, 4, network=net(lo=False)),
        ],
        silent=[host(), _tuned(1, 4), _tuned(None, 4, network=_ENA), host({_SOCKETS: ""})],
        unknown=[UNREAD, _tuned(None, 4)],
    ),
    of(
        "NETIF027",
        fires=[_tuned(4, rdma=ETHERNET), _tuned(None, 4, rdma=rdma("mlx5_0"))],
        silent=[
            host(),
            _tuned(4, rdma=NONE),
            _tuned(4, rdma=EFA),
            host({_THREADS: "4", "NCCL_IB_DISABLE": "1"}),
            host({_THREADS: "4", "NCCL_NET": "SOCKET"}),
        ],
        unknown=[UNREAD, _tuned(4)],
    ),
    of(
        "NETIF028",
        fires=[
            _busy(5),
            _busy(4, limits=ProcessLimits(cpu_cores=32.0)),
            _busy(1, limits=ProcessLimits(cpu_cores=0.5)),
            _busy(4, local_ranks=16),
        ],
        silent=[host(), _busy(4), _busy(16, rdma=ETHERNET), _busy(0)],
        unknown=[
            UNREAD,
            _busy(16, plugins=HIDDEN),
            _busy(16, local_ranks=None),
            _busy(16, cpu=Cpu()),
        ],
    ),
    of(
        "NETIF029",
        fires=[
            host({"NCCL_SOCKET_RCVBUF": "67108864"}, kernel=_BUFFERS),
            host({"NCCL_SOCKET_SNDBUF": "4194305"}, kernel=_BUFFERS),
        ],
        silent=[
            host(),
            host({"NCCL_SOCKET_RCVBUF": "212992", "NCCL_SOCKET_SNDBUF": "4194304"}, kernel=_BUFFERS),
            host({"NCCL_SOCKET_RCVBUF": "-1"}),
        ],
        unknown=[UNREAD, host({"NCCL_SOCKET_RCVBUF": "1"})],
    ),
    of(
        "NETIF030",
        fires=[
            host({"NCCL_OOB_NET_IFNAME": "=mlx5_1"}),
            host({"NCCL_OOB_NET_IFNAME": "mlx5", "NCCL_OOB_NET_ENABLE": "0"}),
        ],
        silent=[host(), host({"NCCL_OOB_NET_IFNAME": "mlx5", "NCCL_OOB_NET_ENABLE": "1"})],
    ),
    of(
        "NETIF031",
        fires=[_retry("5"), _retry("-1"), _retry(None, "2000"), _retry("0"), _retry("34", "0")],
        silent=[host(nccl=None), _retry("34", "100"), _retry("5", nccl=(2, 21, 5)), _retry("")],
        unknown=[UNREAD, _retry("5", nccl=None)],
    ),
)
