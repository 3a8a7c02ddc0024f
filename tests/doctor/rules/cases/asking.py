"""Cases of nccltool/doctor/rules/asking.py."""

from dataclasses import replace

from nccltool.core.versions import Version
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Address, Interface, Network
from nccltool.hosts.nccl.library import LibraryAnswer
from tests.doctor.rules.base import host, of

_NETWORK = Network(
    interfaces=(Interface(name="eth0", running=True),),
    addresses=(Address(interface="eth0", address="10.0.0.1", prefix_len=24, family="AF_INET"),),
)
_ENV = {"NCCL_SOCKET_IFNAME": "eth"}


def _asked(interface: str | None = "eth0", value: str = "eth") -> JudgedHost:
    answer = LibraryAnswer(
        version=Version(2, 30, 7),
        code=0 if interface else 5,
        error="" if interface else "no socket interface found",
        interface=interface,
        address="10.0.0.1" if interface else None,
        environment=(("NCCL_SOCKET_IFNAME", value),),
    )
    return replace(host(_ENV, network=_NETWORK), answer=answer)


CASES = (
    of("ASK001", fires=[_asked(value="eth1"), _asked(value="")], silent=[_asked()], unknown=[host()]),
    of("ASK002", fires=[_asked("eth1"), _asked(None)], silent=[_asked()], unknown=[host(_ENV, network=_NETWORK)]),
)
