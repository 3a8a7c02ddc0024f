"""Lists of interfaces of several libraries that contradict each other."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text
from nccltool.doctor.rules.interfaces.base import IFNAME
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.interfaces import is_inside

_INCLUDED = ("GLOO_SOCKET_IFNAME", "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include", "UCX_NET_DEVICES")
_EXCLUDED = ("OMPI_MCA_btl_tcp_if_exclude", "OMPI_MCA_oob_tcp_if_exclude")


@for_text("NETIF039", "warning", IFNAME, *_EXCLUDED, covers=())
def interface_wanted_and_excluded(host: JudgedHost, variable: Variable, text: str) -> Results:
    """One library excludes the interface that another one is told to use.

    Why: The interface connects the nodes, or it does not: one of the two libraries hangs or uses a wrong network.
    Example: NCCL_SOCKET_IFNAME=^enp5s0 and OMPI_MCA_btl_tcp_if_include=enp5s0
    Instead: use the same interface in both
    Source: NCCL user guide, NCCL_SOCKET_IFNAME; https://github.com/horovod/horovod/issues/280
    """
    ours = variable.name == IFNAME
    if ours and not text.startswith("^"):
        return
    excluded = [word for word in values.split(text.lstrip("^=")) if not is_inside(word)]
    for name in _INCLUDED if ours else (IFNAME,):
        wanted = (host.get(name) or "").removeprefix("=")
        both = [] if wanted.startswith("^") else [word for word in values.split(wanted) if word in excluded]
        if both:
            message = f"{escaped(both[0][:40])} is excluded here, and {name} names it"
            yield report.about(variable, message, "use the same interface in both", part=both[0])
