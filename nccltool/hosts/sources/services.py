"""Daemons that matter to collectives, by the names of their processes."""

from collections.abc import Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Services
from nccltool.hosts.sources.base import Source, Tree

_DAEMONS = (
    "nv-fabricmanager", "nvidia-imex", "nvidia-persistenced", "nv-hostengine", "chronyd", "ntpd",
    "systemd-timesyncd", "ptp4l", "phc2sys", "irqbalance", "opensm", "numad", "ibacm", "sharp_am", "sharpd",
)  # fmt: skip
_CUT = {name[:15]: name for name in _DAEMONS}
"""The kernel keeps fifteen letters."""
_INITIAL_PID = "pid:[4026531836]"


def read(tree: Tree, env: Mapping[str, str]) -> Services:
    """Those that run."""
    del env
    namespace = tree.link("/proc/self/ns/pid")
    if isinstance(namespace, Unknown):
        return Services(running=namespace)
    if namespace != _INITIAL_PID:
        return Services(running=Unknown("the daemons of the host are in another PID namespace"))
    pids = tree.names("/proc")
    if isinstance(pids, Unknown):
        return Services(running=pids)
    seen = {tree.text(f"/proc/{pid}/comm") for pid in pids if pid.isdigit()}
    return Services(running=tuple(sorted(_CUT[name] for name in seen if isinstance(name, str) and name in _CUT)))


SOURCES = (Source.quick("services", "services", read),)
