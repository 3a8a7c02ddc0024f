"""Cases of nccltool/doctor/rules/machine/service_mesh.py."""

from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Container, Listener, Network
from tests.doctor.rules.base import host, of


def _pod(*ports: int, inside: bool = True) -> JudgedHost:
    listeners = tuple(Listener(address="::", port=port, uid=1337) for port in ports)
    return host(network=Network(listeners=listeners), container=Container(inside=inside))


CASES = (
    of(
        "HOST013",
        fires=[_pod(15001, 15006, 29500), _pod(4140, 4143)],
        silent=[_pod(), _pod(15001), _pod(4140, 15006), _pod(15001, 15006, inside=False)],
        unknown=[host(), host(container=Container(inside=True))],
    ),
)
