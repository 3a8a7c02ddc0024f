"""The interfaces of Gloo."""

import ipaddress

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, escaped, known, rule
from nccltool.doctor.rules.interfaces.base import IFNAME


@rule("NETIF018", "error", needs=("network",))
def gloo_list_like_nccl(host: JudgedHost) -> Results:
    """GLOO_SOCKET_IFNAME has ^ or =, or a name that no interface has.

    Why: Gloo takes a list of exact names, and fails otherwise: it knows neither prefixes nor exclusion.
    Example: GLOO_SOCKET_IFNAME=^docker,lo
    Instead: GLOO_SOCKET_IFNAME=eth0
    Source: pytorch torch/csrc/distributed/c10d/init.cpp; ProcessGroupGloo.cpp
    """
    variable = host.variable("GLOO_SOCKET_IFNAME")
    words = variable.value.split(",") if variable and variable.value else []
    wrong = [word for word in words if "^" in word or "=" in word]
    names = [] if wrong or not words else [one.name for one in known(host.facts.network.interfaces)]
    wrong = wrong or [word for word in words if word not in names]
    for word in wrong if variable else ():
        assert variable is not None
        operator = "^" in word or "=" in word
        why = "has an operator of NCCL, which Gloo does not know" if operator else "is no interface of this host"
        yield report.better_unset(
            variable,
            f"{escaped(word[:60])!r} {why}",
            "write exact names of interfaces, separated by commas",
            part=word,
            evidence=(f"here: {escaped(', '.join(names[:12]))}",) if names else (),
        )


@rule("NETIF019", "error", needs=("names",))
def gloo_on_loopback(host: JudgedHost) -> Results:
    """Gloo would tell the other nodes a loopback address: this is what the host's name resolves to.

    Why: Without GLOO_SOCKET_IFNAME Gloo binds to the address of the host's name, and to 127.0.0.1 when it resolves
    to nothing. The other nodes then connect to themselves.
    Example: 127.0.1.1 node7 in /etc/hosts
    Instead: GLOO_SOCKET_IFNAME=eth0, or the real address in /etc/hosts
    Source: pytorch torch/csrc/distributed/c10d/ProcessGroupGloo.cpp (createDefaultDevice)
    """
    if host.get("GLOO_SOCKET_IFNAME") or not host.several_nodes:
        return
    addresses = known(host.facts.names.addresses)
    name = host.facts.names.hostname
    shown = "its own name" if isinstance(name, Unknown) else escaped(name)
    if not addresses or ipaddress.ip_address(addresses[0].partition("%")[0]).is_loopback:
        what = addresses[0] if addresses else "nothing"
        yield report.host(
            host.facts.host,
            f"{shown} resolves to {what}: Gloo on other nodes cannot reach this one",
            "export GLOO_SOCKET_IFNAME=<interface>, or give the name its real address in /etc/hosts",
            evidence=(f"{shown} -> {', '.join(addresses[:4]) or 'nothing'}",),
        )


@rule("NETIF020", "info", needs=("network",))
def gloo_and_nccl_apart(host: JudgedHost) -> Results:
    """GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME choose different interfaces.

    Why: That is allowed. Often one of the two is a left-over.
    Example: GLOO_SOCKET_IFNAME=eth0 and NCCL_SOCKET_IFNAME=ens3
    Instead: the same interface in both, unless it is meant
    Source: our own experience; no rule of torch or NCCL
    """
    gloo, nccl = host.variable("GLOO_SOCKET_IFNAME"), host.variable(IFNAME)
    if not gloo or not nccl or not gloo.value or len(nccl.value) < 2:
        return
    own = {name for name in gloo.value.split(",") if host.facts.network.interface(name)}
    chosen = {one.name for one in host.interfaces.chosen}
    if own and chosen and not own & chosen:
        yield report.about(
            gloo,
            f"Gloo uses {escaped(', '.join(sorted(own)[:4]))}, NCCL {escaped(', '.join(sorted(chosen)[:4]))}",
            "align them, unless it is meant",
            evidence=(f"{escaped(nccl.origin)}: {IFNAME}={escaped(nccl.value[:80])}",),
            part="",
        )
