"""Cases of nccltool/doctor/rules/infiniband: what is about RoCE."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Cloud, RdmaPort
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import EFA, HIDDEN, NONE, gids, hca, ib, net, nic, plugin, rdma, roce, table

_GOOD = roce()
_GCP, _OCI = Cloud(provider="gcp"), Cloud(provider="oci")
_BARE = roce(gids=gids("fe80::1 v1", "fe80::1 v2"))
_SIX = roce(gids=gids("fe80::1 v1", "fe80::1 v2", "fd00::1 v1", "fd00::1 v2"))
_OTHER = roce(gids=gids("fe80::1 v1", "fe80::1 v2", "fd00::1 v1", "10.0.0.1 v1", "10.0.0.1 v2"))
_INVISIBLE = Unknown("/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/3 cannot be read: Invalid argument")
_UNTYPED = roce(gids=tuple(type(gid)(index=gid.index, gid=gid.gid, netdev="eth0") for gid in table()))


def _with(*ports: RdmaPort, **given: Any) -> JudgedHost:
    """A host with one device for each of these ports."""
    devices = (hca(f"mlx5_{number}", port) for number, port in enumerate(ports))
    return host(**{"rdma": rdma(*devices), **given})


def _index(index: int | str, *ports: RdmaPort, **given: Any) -> JudgedHost:
    env = {"NCCL_IB_GID_INDEX": str(index), **given.pop("env", {})}
    return _with(*ports, env=env, **given) if ports else host(env, **given)


def _set(name: str, value: str, *ports: RdmaPort, **given: Any) -> JudgedHost:
    return _with(*ports, env={f"NCCL_{name}": value}, **given) if ports else host({f"NCCL_{name}": value}, **given)


_RAILS = (roce(gids=table("10.1.0.1", "eth0")), roce(gids=table("10.1.1.1", "eth1")))
_NICS = (nic("eth0", "10.1.0.1/24"), nic("eth1", "10.1.1.1/24"))
_LINKS = ("10.1.0.0/24 eth0", "10.1.1.0/24 eth1", "0.0.0.0/0 eth9")
_APART, _JOINED = net(*_NICS, routes=_LINKS), net(*_NICS, routes=(*_LINKS, "10.1.0.0/16 eth0", "10.1.0.0/16 eth1"))

CASES = (
    of(
        "IB016",
        fires=[_index(5, _GOOD), _index(3, _GOOD, _BARE), _index("0x5", _GOOD)],
        silent=[
            host(),
            _index(3, _GOOD),
            _index(5, ib()),
            _index(-1, _BARE),
            _index(5, roce(state="DOWN")),
            _index("", _BARE),
        ],
        unknown=[UNREAD, _index(3), _index(3, roce(gids=HIDDEN))],
    ),
    of(
        "IB017",
        fires=[_index(0, _GOOD), _index(2, _GOOD), _index(3, _GOOD, _OTHER), _index("three", _GOOD)],
        silent=[host(), _index(1, _GOOD), _index(3, _GOOD), _index(9, _GOOD), _index(0, ib())],
        unknown=[UNREAD, _index(3), _index(3, _UNTYPED)],
    ),
    of(
        "IB018",
        fires=[_index(1, _GOOD), _index(0, _GOOD, nodes=1), _index(1, _GOOD, nodes=None)],
        silent=[host(), _index(3, _GOOD), _index(3, _SIX), _index(9, _GOOD), _index(1, ib())],
        unknown=[
            UNREAD,
            _index(1),
            _index(0, roce(gids=(type(table()[0])(index=0, gid="nonsense", type="RoCE v2"),))),
        ],
    ),
    of(
        "IB019",
        fires=[_index(3, _GOOD, _OTHER), _index(3, _GOOD, _SIX)],
        silent=[host(), _index(3, _GOOD, _GOOD), _index(3, _GOOD, _BARE), _index(3, _GOOD, ib())],
        unknown=[UNREAD, _index(3), _index(3, _GOOD, _UNTYPED)],
    ),
    of(
        "IB060",
        fires=[
            (_index(3, _GOOD), _index(3, _SIX, host="n2")),
            (_index(3, _GOOD), _index(3, _BARE, host="n2"), _index(3, roce(gids=HIDDEN), host="n3")),
        ],
        silent=[
            _index(3, _SIX),
            (_index(3, _GOOD), _index(3, roce(gids=table("10.9.9.9")), host="n2")),
            (_with(_GOOD), _with(_SIX, host="n2")),
            (_index(3, ib()), _index(3, _SIX, host="n2")),
        ],
        unknown=[(_index(3, _GOOD), _index(3, host="n2")), (UNREAD, _index(3, _GOOD))],
    ),
    of(
        "IB020",
        fires=[_index(3, ib()), _index(-1, ib(), ib(state="DOWN"))],
        silent=[host(), _index(3, _GOOD), _index(3, ib(), _GOOD), _index(3, rdma=NONE), _index(3, rdma=EFA)],
        unknown=[UNREAD, _index(3)],
    ),
    of(
        "IB021",
        fires=[_index(3), _index(0, cloud=_GCP), _index(3, nccl=(2, 21, 5))],
        silent=[
            host(nccl=None),
            _index(-1),
            _index(3, cloud=_GCP, nccl=None),
            _index(3, cloud=_OCI),
            _index(3, nccl=(2, 20, 5)),
        ],
        unknown=[UNREAD, _index(3, nccl=None)],
    ),
    of(
        "IB022",
        fires=[
            _with(_GOOD, nccl=(2, 20, 5)),
            _with(_SIX, nccl=(2, 18, 3), nodes=1),
            _with(roce(gids=()), nccl=(2, 18, 3)),
        ],
        silent=[
            _with(_GOOD),
            _index(3, _GOOD, nccl=(2, 18, 3)),
            _with(ib(), nccl=None),
            host(rdma=NONE, nccl=(2, 18, 3)),
            _with(roce(gids=gids("10.0.0.1 v2")), nccl=(2, 18, 3)),
        ],
        unknown=[UNREAD, host(nccl=(2, 18, 3)), _with(_GOOD, nccl=None), _with(_UNTYPED, nccl=(2, 18, 3))],
    ),
    of(
        "IB023",
        fires=[
            _index(3, env={"NCCL_IB_ADDR_FAMILY": "AF_INET6"}),
            _index(0, env={"NCCL_IB_ROCE_VERSION_NUM": "2"}),
        ],
        silent=[
            _index(3),
            _set("IB_ADDR_RANGE", "10.0.0.0/8"),
            _index(-1, env={"NCCL_IB_ADDR_RANGE": "10.0.0.0/8"}),
        ],
    ),
    of(
        "IB024",
        fires=[
            *(_set("IB_ADDR_RANGE", text) for text in ("10.0.0.0", "fd00::/16", "10.0.0.0/33", "eth0/8", "/")),
            _set("IB_ADDR_RANGE", "10.9.0.0/16", _GOOD),
            _set("IB_ADDR_RANGE", "10.0.0.0/8", _GOOD, _BARE),
        ],
        silent=[
            host(),
            _set("IB_ADDR_RANGE", ""),
            _set("IB_ADDR_RANGE", "10.0.0.0/8", _GOOD),
            _set("IB_ADDR_RANGE", "10.0.0.77/24", _GOOD),
            _set("IB_ADDR_RANGE", "10.9.0.0/16", ib()),
            _index(3, _GOOD, env={"NCCL_IB_ADDR_RANGE": "10.9.0.0/16"}),
            _with(_SIX, env={"NCCL_IB_ADDR_RANGE": "fd00::/16", "NCCL_IB_ADDR_FAMILY": "AF_INET6"}),
        ],
        unknown=[UNREAD, _set("IB_ADDR_RANGE", "10.0.0.0/8")],
    ),
    of(
        "IB025",
        fires=[
            _with(_BARE),
            _with(_SIX),
            _with(roce(gids=()), nodes=1),
            _with(roce(gids=gids("fe80::1 v1", "-", "10.0.0.1 v1"))),
            _with(_GOOD, env={"NCCL_IB_ADDR_FAMILY": "AF_INET6"}),
            _set("IB_ADDR_RANGE", "10.9.0.0/16", _GOOD),
            _with(_BARE, nccl=None),
        ],
        silent=[
            _with(_GOOD),
            _with(_OTHER),
            _with(_SIX, env={"NCCL_IB_ADDR_FAMILY": "AF_INET6"}),
            _with(_GOOD, env={"NCCL_IB_ROCE_VERSION_NUM": "1"}),
            _with(ib()),
            _index(1, _GOOD),
            _with(_BARE, nccl=(2, 20, 5)),
            _with(roce(gids=gids("10.0.0.1 v2", "10.0.0.1 v1"))),
        ],
        unknown=[UNREAD, host(), _with(roce(gids=HIDDEN)), _with(_UNTYPED)],
    ),
    of(
        "IB026",
        fires=[
            _with(_GOOD, network=net(nic("ens3", "10.0.0.1/24"))),
            _with(roce(gids=table(netdev=_INVISIBLE)), network=net(), nodes=1),
        ],
        silent=[
            _with(_GOOD, network=net(nic("eth0", "10.0.0.1/24"))),
            _with(ib()),
            _with(roce(gids=())),
        ],
        unknown=[UNREAD, host(), _with(_GOOD), _with(roce(gids=table(netdev=HIDDEN)), network=net())],
    ),
    of(
        "IB027",
        fires=[
            _set("IB_TC", "256"),
            _set("IB_FIFO_TC", "-2"),
            host({"NCCL_IB_TC": "26"}),
            _set("IB_TC", "26", roce(traffic_class="Global tclass=106")),
            _set("IB_TC", "41", _GOOD),
            _set("IB_TC", "105", _GOOD, cloud=_GCP),
        ],
        silent=[
            host(),
            _set("IB_TC", "-1"),
            _set("IB_TC", "104"),
            _set("IB_TC", "0"),
            _set("IB_TC", "52", _GOOD, cloud=_GCP),
            _set("IB_TC", "41", cloud=_OCI),
            _set("IB_TC", "41", ib()),
        ],
        unknown=[UNREAD, host({"NCCL_IB_TC": "41"})],
    ),
    of(
        "IB028",
        fires=[_with(_GOOD, nodes=3)],
        silent=[
            _with(_GOOD),
            _with(ib(), nodes=3),
            _set("IB_TC", "104", _GOOD, nodes=3),
            _with(roce(traffic_class="Global tclass=106"), nodes=3),
        ],
        unknown=[UNREAD, host(), _with(_GOOD, nodes=None), _with(roce(traffic_class=HIDDEN), nodes=3)],
    ),
    of(
        "IB029",
        fires=[_set("IB_FIFO_TC", "84", ib())],
        silent=[host(), _set("IB_FIFO_TC", "84", _GOOD), _set("IB_FIFO_TC", "84", rdma=NONE)],
        unknown=[UNREAD, _set("IB_FIFO_TC", "84")],
    ),
    of(
        "IB039",
        fires=[_with(_GOOD, nodes=3, plugins=()), _set("IB_QPS_PER_CONNECTION", "1", _GOOD, nodes=64, plugins=())],
        silent=[
            _with(_GOOD),
            _with(ib(), nodes=3),
            _with(_GOOD, nodes=3, plugins=(plugin(),)),
            _set("IB_QPS_PER_CONNECTION", "4", _GOOD, nodes=3),
        ],
        unknown=[UNREAD, host(), _with(_GOOD, nodes=None), _with(_GOOD, nodes=3)],
    ),
    of(
        "IB041",
        fires=[_set("IB_ADAPTIVE_ROUTING", "1", _GOOD)],
        silent=[
            host(),
            _set("IB_ADAPTIVE_ROUTING", "1", ib()),
            _set("IB_ADAPTIVE_ROUTING", "0", _GOOD),
            _set("IB_ADAPTIVE_ROUTING", "1", _GOOD, cloud=_GCP),
        ],
        unknown=[UNREAD, _set("IB_ADAPTIVE_ROUTING", "1")],
    ),
    of(
        "IB049",
        fires=[
            _set("CROSS_NIC", "1", *_RAILS, network=_APART),
            _set("CROSS_NIC", "2", *_RAILS, network=net(*_NICS, routes=(*_LINKS, "10.1.0.0/16 eth0"))),
        ],
        silent=[
            _with(*_RAILS, network=_APART),
            _set("CROSS_NIC", "0", *_RAILS, network=_APART),
            _set("CROSS_NIC", "1", *_RAILS, network=_JOINED),
            _set("CROSS_NIC", "1", _RAILS[0], network=_APART),
            _set("CROSS_NIC", "1", ib(), ib()),
            _set("CROSS_NIC", "1", _BARE, _BARE),
        ],
        unknown=[UNREAD, _set("CROSS_NIC", "1"), _set("CROSS_NIC", "1", *_RAILS)],
    ),
)
