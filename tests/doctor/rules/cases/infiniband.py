"""Cases of nccltool/doctor/rules/infiniband: adapters and ports."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Container, DeviceFile, FileFact, ProcessLimits, Rdma, RdmaPort, Setting
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import EFA, ETHERNET, HIDDEN, NONE, hca, ib, net, nic, plugin, rdma, roce

_IB = rdma("mlx5_0", "mlx5_1")
_DOWN = rdma(hca("mlx5_0", ib(state="DOWN", phys_state="Polling")))
_HALF = rdma("mlx5_0", hca("mlx5_1", ib(state="INIT")))
_MIXED = rdma("mlx5_0", hca("mlx5_4", roce()))
_STORAGE = rdma("mlx5_1", hca("mlx5_10", ib(rate_gbps=100.0)))
_UNREAD = rdma(hca("mlx5_0", ib(state=HIDDEN)))
_TEN = rdma(*(f"mlx5_{n}" for n in range(12)))
_ETH = net(nic("eth0", "10.0.0.1/24"))
_ONE_LANE = rdma(hca("mlx5_0", ib(rate_gbps=50.0, width="1X")))
_NDR200 = rdma(hca("mlx5_0", ib(rate_gbps=200.0, width="2X")))


def _listed(value: str, devices: Any = _IB, **given: Any) -> JudgedHost:
    return host({"NCCL_IB_HCA": value}, rdma=devices, **given)


def _off(**given: Any) -> JudgedHost:
    return host({"NCCL_IB_DISABLE": "1"}, **{"rdma": _IB, "plugins": (), **given})


def _files(*devices: DeviceFile | str, **given: Any) -> Container:
    files = (
        DeviceFile(path=one, readable=True, writable=True) if isinstance(one, str) else one for one in devices
    )
    return Container(devices=tuple(files), **given)


def _limited(size: int | Unknown | None, capabilities: int | Unknown = 0, **given: Any) -> JudgedHost:
    container = Container(capabilities=capabilities, user_namespace=given.pop("user_namespace", False))
    return host(limits=ProcessLimits(memlock_soft_bytes=size), container=container, **{"rdma": _IB, **given})


def _counted(when: str, name: str = "n1", **counters: str | Unknown) -> JudgedHost:
    values = tuple(Setting(name=key, value=value) for key, value in counters.items())
    return host(rdma=rdma(hca("mlx5_0", ib(counters=values))), taken=when, boot_id=f"of {name}", host=name)


def _functions(*virtual: bool | Unknown, **given: Any) -> JudgedHost:
    """Functions of one card, and a card of its own."""
    card = (hca(f"mlx5_{n}", ib(), pci=f"0000:1a:00.{n}", virtual_function=one) for n, one in enumerate(virtual))
    alone = hca("mlx5_8", ib(), pci="0000:5c:00.0", virtual_function=False)
    env = given.pop("env", {})
    return host(env, **{"rdma": rdma(*card, *given.pop("more", (alone,))), "plugins": (), **given})


_VERBS = "/dev/infiniband/uverbs0"
_LIBRARY = {"NCCL_IBVERBS_LIB": "/opt/libibverbs.so"}


def _library(exists: bool | Unknown) -> tuple[FileFact, ...]:
    return (FileFact(path="/opt/libibverbs.so", asked_by="NCCL_IBVERBS_LIB", exists=exists),)


_NO_IB = RdmaPort(number=1, link_layer=HIDDEN)

CASES = (
    of(
        "IB001",
        fires=[
            _off(),
            _off(nodes=1),
            _off(nodes=None),
            _off(rdma=rdma(hca("mlx5_0", ib(rate_gbps=40.0)))),
            _off(plugins=HIDDEN),
            _off(rdma=ETHERNET, plugins=(plugin("libnccl-tuner.so"),)),
            host({"NCCL_IB_DISABLE": "2"}, rdma=_IB, plugins=()),
        ],
        silent=[
            host({"NCCL_IB_DISABLE": "0"}, rdma=_IB),
            _off(rdma=_DOWN),
            _off(rdma=EFA),
            _off(rdma=NONE),
            _off(plugins=(plugin(),)),
            _off(plugins=(plugin(),), rdma=rdma("mlx5_0")),
        ],
        unknown=[UNREAD, _off(rdma=_UNREAD), host({"NCCL_IB_DISABLE": "1"})],
    ),
    of(
        "IB002",
        fires=[
            _off(plugins=(plugin(),)),
            host({"NCCL_IB_DISABLE": "1", "NCCL_NET_PLUGIN": "ofi"}, plugins=(plugin("libnccl-net-ofi.so"),)),
            *(_off(plugins=(plugin(),), rdma=one) for one in (_HALF, NONE, Rdma())),
        ],
        silent=[
            host(),
            _off(),
            _off(plugins=(plugin(origin="vendor"),)),
            host({"NCCL_IB_DISABLE": "1", "NCCL_NET_PLUGIN": "none"}),
        ],
        unknown=[UNREAD, _off(plugins=HIDDEN)],
    ),
    of(
        "IB003",
        fires=[
            _listed("ibp"),
            _listed("=mlx5"),
            _listed("mlx5", NONE),
            _listed("^mlx5"),
            _listed("=mlx5_2,mlx5_3"),
        ],
        silent=[host(), _listed("mlx5"), _listed("=mlx5_0:1"), _listed(""), _listed("^")],
        unknown=[UNREAD, host({"NCCL_IB_HCA": "mlx5"})],
    ),
    of(
        "IB004",
        fires=[
            _listed("mlx5_1", _TEN),
            _listed("^mlx5_1", _TEN),
            _listed("mlx5_1", _STORAGE),
            _listed("mlx5_1:1", _TEN),
        ],
        silent=[
            host(),
            _listed("=mlx5_1", _TEN),
            _listed("mlx5", _TEN),
            _listed("mlx5_1,mlx5_10,mlx5_11", _TEN),
            _listed("mlx5_2", _TEN),
        ],
        unknown=[UNREAD, host({"NCCL_IB_HCA": "mlx5_1"})],
    ),
    of(
        "IB005",
        fires=[
            *map(_listed, ("mlx5_0:2", "=mlx5_0:a", "=mlx5_0:1,mlx5_1:0", "mlx5:3")),
            host({"NCCL_IB_HCA": "mlx5_0:0"}),
        ],
        silent=[
            host(),
            _listed("mlx5_0:1"),
            _listed("=mlx5_0::0"),
            _listed("mlx5_7:9"),
            _listed("mlx5:2", rdma("mlx5_0", hca("mlx5_1", ib(1), ib(2)))),
        ],
        unknown=[UNREAD, host({"NCCL_IB_HCA": "mlx5_0:2"})],
    ),
    of(
        "IB006",
        fires=[
            host(rdma=_DOWN),
            host(rdma=_DOWN, nodes=1),
            _listed("mlx5_0", _DOWN, nodes=None),
            _listed("=mlx5_1", _HALF),
        ],
        silent=[host(rdma=_IB), host(rdma=NONE), host(rdma=EFA), host(rdma=_HALF), _listed("ibp", _DOWN)],
        unknown=[UNREAD, host(), host(rdma=_UNREAD), host(rdma=rdma(hca("mlx5_0", _NO_IB)))],
    ),
    of(
        "IB007",
        fires=[host(rdma=_HALF), _listed("mlx5", _HALF)],
        silent=[host(rdma=_IB), host(rdma=_DOWN), _listed("=mlx5_0", _HALF), host(rdma=NONE)],
        unknown=[UNREAD, host()],
    ),
    of(
        "IB008",
        fires=[
            *(host({"NCCL_IB_HCA": text}) for text in ("^mlx5_0,^mlx5_3", "=^mlx5", "mlx5_0,=mlx5_1", "^", "^="))
        ],
        silent=[*(host({"NCCL_IB_HCA": text}) for text in ("^=mlx5_0,mlx5_3", "=mlx5_0:1", "mlx5", "")), host()],
    ),
    of(
        "IB009",
        fires=[
            _listed("eth0", network=_ETH),
            _listed("=eth0,mlx5_0", rdma(hca("mlx5_0", netdevs=("eth0",))), network=_ETH),
            _listed("eth0"),
            *(host({"NCCL_IB_HCA": text}) for text in ("ens5", "=ib0,ib1", "enp12s0f0np0", "bond0", "10.0.0.7")),
        ],
        silent=[
            host(),
            _listed("mlx5", network=_ETH),
            _listed("eth1", network=_ETH),
            _listed("mlx", network=HIDDEN),
        ],
        unknown=[UNREAD, host({"NCCL_IB_HCA": "mlx5_0"}), host({"NCCL_IB_HCA": "^eth0"})],
    ),
    of(
        "IB010",
        fires=[host(rdma=_MIXED), _listed("mlx5", _MIXED)],
        silent=[host(rdma=_IB), host(rdma=ETHERNET), _listed("=mlx5_0", _MIXED), host(rdma=NONE)],
        unknown=[UNREAD, host()],
    ),
    of(
        "IB011",
        fires=[host(rdma=_STORAGE), _listed("mlx5", _STORAGE)],
        silent=[
            host(rdma=_IB),
            _listed("=mlx5_1", _STORAGE),
            host(rdma=rdma("mlx5_0", hca("mlx5_1", ib(rate_gbps=201.0)))),
            host(rdma=rdma("mlx5_0", hca("mlx5_1", ib(rate_gbps=100.0, state="DOWN")))),
        ],
        unknown=[UNREAD, host(), host(rdma=rdma("mlx5_0", hca("mlx5_1", ib(rate_gbps=HIDDEN))))],
    ),
    of(
        "IB012",
        fires=[host(rdma=rdma(*(f"mlx5_{n}" for n in range(33))))],
        silent=[
            host(rdma=rdma(*(f"mlx5_{n}" for n in range(32)))),
            _listed("mlx5_1", rdma(*(f"mlx5_{n}" for n in range(40)))),
        ],
        unknown=[UNREAD, host()],
    ),
    of(
        "IB013",
        fires=[
            host(rdma=_IB, container=_files()),
            host(rdma=_IB, container=_files(DeviceFile(path=_VERBS, readable=False, writable=True))),
            host(rdma=_IB, container=_files(), nodes=1),
        ],
        silent=[host(rdma=_IB, container=_files(_VERBS)), host(rdma=NONE), host(rdma=EFA), host(rdma=_DOWN)],
        unknown=[
            UNREAD,
            host(rdma=_IB),
            host(rdma=rdma(hca("mlx5_0", uverbs=HIDDEN)), container=_files()),
            host(rdma=_IB, container=_files(DeviceFile(path=_VERBS))),
        ],
    ),
    of(
        "IB014",
        fires=[
            host(rdma=rdma("mlx5_0", ibverbs="")),
            host(_LIBRARY, rdma=rdma("mlx5_0", ibverbs=""), files_=_library(exists=False)),
        ],
        silent=[
            host(rdma=rdma("mlx5_0", ibverbs="/lib/libibverbs.so.1")),
            host(rdma=rdma(ibverbs="")),
            host(_LIBRARY, rdma=rdma("mlx5_0", ibverbs=""), files_=_library(exists=True)),
        ],
        unknown=[
            UNREAD,
            host(rdma=_IB),
            host(_LIBRARY, rdma=rdma("mlx5_0", ibverbs="")),
            host(_LIBRARY, rdma=rdma("mlx5_0", ibverbs=""), files_=_library(exists=HIDDEN)),
        ],
    ),
    of(
        "IB015",
        fires=[_limited(65536), _limited(65536, 1 << 14, user_namespace=True), _limited(512 << 19, 1 << 13)],
        silent=[
            _limited(None),
            _limited(512 << 20),
            _limited(65536, 1 << 14),
            _limited(65536, rdma=NONE),
            _limited(65536, rdma=EFA),
        ],
        unknown=[UNREAD, host(), _limited(HIDDEN), _limited(65536, HIDDEN), _limited(65536, rdma=_UNREAD)],
    ),
    of(
        "IB052",
        fires=[
            host(rdma=rdma("mlx5_0", hca("mlx5_1", ib(rate_gbps=200.0)))),
            host(rdma=_ONE_LANE),
            _listed("mlx5", rdma("mlx5_0", hca("mlx5_1", ib(rate_gbps=50.0, width="1X")))),
        ],
        silent=[
            host(rdma=_IB),
            host(rdma=_NDR200),
            host(rdma=rdma(hca("mlx5_0", roce(rate_gbps=25.0, width="1X")))),
            host(rdma=rdma("mlx5_0", hca("mlx5_1", ib(rate_gbps=200.0), board_id="MT_2"))),
            host(rdma=rdma("mlx5_0", hca("mlx5_1", ib(rate_gbps=10.0, state="DOWN")))),
            _listed("=mlx5_0", rdma("mlx5_0", hca("mlx5_1", ib(rate_gbps=200.0)))),
        ],
        unknown=[
            UNREAD,
            host(),
            host(rdma=rdma(hca("mlx5_0", ib(rate_gbps=HIDDEN)))),
            host(rdma=rdma(hca("mlx5_0", board_id=HIDDEN))),
        ],
    ),
    of(
        "IB053",
        fires=[host(rdma=_HALF), _listed("=mlx5_1", _HALF)],
        silent=[
            host(rdma=_IB),
            _listed("=mlx5_0", _HALF),
            host(rdma=_DOWN),
            host(rdma=rdma(hca("mlx5_0", roce(state="INIT")))),
            host(rdma=rdma(hca("mlx5_0", ib(state="INIT", phys_state="Polling")))),
        ],
        unknown=[
            UNREAD,
            host(),
            host(rdma=_UNREAD),
            host(rdma=rdma(hca("mlx5_0", ib(state="INIT", phys_state=HIDDEN)))),
        ],
    ),
    of(
        "IB054",
        fires=[
            host({"NCCL_NET": "IB"}, rdma=_DOWN),
            host({"NCCL_NET": "ib"}, rdma=NONE),
            host({"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_1"}, rdma=_HALF),
        ],
        silent=[
            host(),
            host({"NCCL_NET": "IB"}, rdma=_IB),
            host({"NCCL_NET": "Socket"}),
            host({"NCCL_NET": "IBext_v8"}),
        ],
        unknown=[UNREAD, host({"NCCL_NET": "IB"})],
    ),
    of(
        "IB055",
        fires=[host({"NCCL_NET": "Socket"}, rdma=_IB), host({"NCCL_NET": "socket"}, rdma=ETHERNET)],
        silent=[
            host(),
            host({"NCCL_NET": "Socket"}, rdma=NONE),
            host({"NCCL_NET": "Socket"}, rdma=EFA),
            host({"NCCL_NET": "IB"}),
        ],
        unknown=[UNREAD, host({"NCCL_NET": "Socket"})],
    ),
    of(
        "IB056",
        fires=[host({"NCCL_NET": "ib", "NCCL_IB_DISABLE": "1"})],
        silent=[
            host(),
            host({"NCCL_NET": "IB", "NCCL_IB_DISABLE": "0"}),
            host({"NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1"}),
        ],
    ),
    of(
        "IB057",
        fires=[
            host({"NCCL_SOCKET_IFNAME": "ens3"}, rdma=_IB, network=_ETH),
            host(rdma=_IB, network=net(lo=False)),
            host({"NCCL_SOCKET_FAMILY": "AF_INET6"}, rdma=_IB, network=_ETH),
        ],
        silent=[
            host(rdma=_IB, network=_ETH),
            host({"NCCL_SOCKET_IFNAME": "ens3"}, rdma=NONE),
            host({"NCCL_SOCKET_IFNAME": "ens3"}, rdma=EFA),
        ],
        unknown=[UNREAD, host(), host(rdma=_IB)],
    ),
    of(
        "IB059",
        fires=[
            (_counted("1", symbol_error="12"), _counted("2", symbol_error="340")),
            (_counted("2", link_downed="1"), _counted("1", link_downed="0"), _counted("1", "n2")),
        ],
        silent=[
            _counted("1", symbol_error="12"),
            (_counted("1", symbol_error="12"), _counted("2", symbol_error="12")),
            (_counted("1", symbol_error="0"), _counted("1", "n2", symbol_error="0")),
            (_counted("1", symbol_error="12"), _counted("2", symbol_error="0")),
            (_counted("1"), _counted("2", symbol_error="x", link_downed=HIDDEN)),
        ],
        unknown=[
            (_counted("1", symbol_error="12"), _counted("1", "n2")),
            (host(), host()),
            (_counted("1"), host(rdma=_IB, host="n2")),
        ],
    ),
    of(
        "IB061",
        fires=[
            host({"NCCL_IB_HCA": text})
            for text in (
                "all",
                "mlx5_0-7",
                "mlx5-0",
                "=mlx5_1,mxl5_0",
                "mlx_0",
                "^mlx50",
                "mlx5_o",
                "none",
                "0",
                "uverbs0",
            )
        ],
        silent=[
            host(),
            *(host({"NCCL_IB_HCA": text}) for text in ("mlx5", "mlx5_0:1,mlx4_0", "mlx5_bond_0", "=ibp1s0")),
        ],
    ),
    of(
        "IB062",
        fires=[
            host({"NCCL_IB_DISABLE": "1", "NCCL_IB_HCA": "mlx5_0"}),
            host({"NCCL_NET": "Socket", "NCCL_IB_HCA": "=mlx5_0"}, nodes=None),
            host({"NCCL_IB_DISABLE": "1"}),
            host({"NCCL_NET": "socket"}),
        ],
        silent=[
            host(),
            host({"NCCL_IB_DISABLE": "0", "NCCL_IB_HCA": "mlx5_0"}),
            host({"NCCL_IB_DISABLE": "1"}, nodes=None),
            host({"NCCL_IB_DISABLE": "1"}, nodes=1),
            host({"NCCL_IB_DISABLE": "1", "NCCL_IB_HCA": "^mlx5_0"}, nodes=None),
            host({"NCCL_IB_DISABLE": "1", "NCCL_NET": "gIB"}),
            host({"NCCL_IB_DISABLE": "1", "NCCL_NET_PLUGIN": "ofi"}),
            host({"NCCL_IB_DISABLE": "1"}, rdma=NONE),
            _off(plugins=(plugin(),)),
        ],
    ),
    of(
        "IB063",
        fires=[host({"NCCL_NET": "IB", "NCCL_IB_DISABLE": "1"})],
        silent=[
            host(),
            host({"NCCL_NET": "IB"}),
            host({"NCCL_NET": "ib", "NCCL_IB_DISABLE": "0"}),
            host({"NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1"}),
        ],
    ),
    of(
        "IB064",
        fires=[host({"NCCL_IB_GID_INDEX": text}) for text in ("256", "1000")],
        silent=[
            host(),
            *(host({"NCCL_IB_GID_INDEX": text}) for text in ("255", "3", "-1")),
            host({"NCCL_IB_GID_INDEX": "1000"}, rdma=_IB),
        ],
    ),
    of(
        "IB065",
        fires=[host({"NCCL_IB_ROCE_VERSION_NUM": "1"})],
        silent=[host(), host({"NCCL_IB_ROCE_VERSION_NUM": "2"})],
    ),
    of(
        "IB066",
        fires=[
            _functions(False, True),
            _functions(False, True, nccl=(2, 22, 3), more=()),
            _functions(False, True, nccl=(2, 20, 3)),
            _functions(False, True, env={"NCCL_IB_HCA": "mlx5"}),
        ],
        silent=[
            _functions(False, False),
            _functions(True, True),
            _functions(False, True, nccl=(2, 19, 4)),
            _functions(False, True, nccl=(2, 22, 3)),
            _functions(False, True, nodes=1),
            _functions(False, True, plugins=(plugin(),)),
            *(
                _functions(False, True, env=env)
                for env in (
                    {"NCCL_IB_MERGE_NICS": "0"},
                    {"NCCL_NET_MERGE_LEVEL": "LOC"},
                    {"NCCL_IB_HCA": "=mlx5_0,mlx5_8"},
                )
            ),
        ],
        unknown=[
            UNREAD,
            host(),
            _functions(False, HIDDEN),
            _functions(False, True, nodes=None),
            _functions(False, True, nccl=None),
        ],
    ),
)
