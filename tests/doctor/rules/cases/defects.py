"""Cases of nccltool/doctor/rules/defects.py."""

from typing import Any

from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Amd, AmdGpu, Interface, Network, Versions
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import ROCE, rdma

_ID = {"NCCL_COMM_ID": "10.0.0.1:29500"}
_LONG = {"system": f"{'x' * 2000}=1"}


def _amd(gfx: str, hip: str, **env: str) -> JudgedHost:
    gpus = (AmdGpu(pci="0000:05:00.0", gfx=gfx),)
    return host(env, amd=Amd(driver="6.12", gpus=gpus), versions=Versions(torch_hip=hip))


def _gdaki(mtu: int, kind: str = "3", **given: Any) -> JudgedHost:
    interface = Network(interfaces=(Interface(name="ens0", mtu=mtu),))
    return host(
        {"NCCL_GIN_TYPE": kind}, **{"nccl": (2, 28, 9), "rdma": rdma(1, ROCE), "network": interface, **given}
    )


CASES = (
    of(
        "BUG001",
        fires=[host(_ID, nccl=(2, 29, 7))],
        silent=[host(nccl=None), host(_ID), host(_ID, nccl=(2, 28, 9))],
        unknown=[UNREAD, host(_ID, nccl=None)],
    ),
    of(
        "BUG002",
        fires=[host(files=_LONG, nccl=(2, 21, 5))],
        silent=[host(nccl=None), host(files=_LONG), host(files={"system": "A=1"}, nccl=(2, 21, 5))],
        unknown=[UNREAD, host(files=_LONG, nccl=None)],
    ),
    of(
        "BUG003",
        fires=[_amd("gfx942", "6.3.42134"), _amd("gfx942", "7.1.25424"), _amd("gfx90a", "7.13.0")],
        silent=[
            _amd("gfx942", "6.4.43482"),
            _amd("gfx950", "7.1.25424"),
            _amd("gfx90a", "6.3.42134"),
            _amd("gfx942", ""),
            _amd("gfx942", "7.1.25424", HSA_NO_SCRATCH_RECLAIM="1"),
        ],
        unknown=[host(versions=Versions(torch_hip="7.1.25424"))],
    ),
    of(
        "BUG004",
        fires=[_gdaki(1500), _gdaki(2048, nccl=(2, 30, 7))],
        silent=[
            host(),
            _gdaki(9000),
            _gdaki(1500, kind="2"),
            _gdaki(1500, nccl=(2, 27, 7)),
            _gdaki(1500, nodes=1),
            host({"NCCL_GIN_TYPE": "3"}, nccl=(2, 28, 9), rdma=rdma(2)),
        ],
        unknown=[UNREAD, host({"NCCL_GIN_TYPE": "3"}, nccl=(2, 28, 9)), _gdaki(1500, nccl=None)],
    ),
    of(
        "BUG006",
        fires=[
            host({"NCCL_NCHANNELS_PER_NET_PEER": count}, nccl=release)
            for count, release in (("32", (2, 28, 9)), ("4", (2, 27, 7)))
        ],
        silent=[
            host(),
            host({"NCCL_NCHANNELS_PER_NET_PEER": "2"}, nccl=(2, 28, 9)),
            host({"NCCL_NCHANNELS_PER_NET_PEER": "32"}, nccl=(2, 29, 2)),
            host({"NCCL_NCHANNELS_PER_NET_PEER": "32"}, nccl=(2, 26, 2)),
            host({"NCCL_NCHANNELS_PER_NET_PEER": "32"}, nccl=(2, 28, 9), nodes=1),
        ],
        unknown=[
            UNREAD,
            host({"NCCL_NCHANNELS_PER_NET_PEER": "32"}, nccl=None),
            host({"NCCL_NCHANNELS_PER_NET_PEER": "32"}, nccl=(2, 28, 9), nodes=None),
        ],
    ),
)
