"""Interfaces that are known by their names to be slow or to have an overlay."""

import re

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text
from nccltool.doctor.rules.interfaces.base import IFNAME
from nccltool.hosts.nccl import values

_TUNNEL = re.compile(r"(tailscale|wg|tun|tap|zt|ppp|utun|nebula|vpn)\w*")
_USB = re.compile(r"usb\d+|idrac\w*|bmc\w*|ipmi\w*|enx[0-9a-f]{12}|en[ps]\d+\w*u\d+\w*")
_WIRELESS = re.compile(r"wl(an\d+|p\d+s\d+\w*|o\d+|x[0-9a-f]{12})")

_SLOW = {"a tunnel": _TUNNEL, "wireless": _WIRELESS, "an interface of USB": _USB}


@for_text("NETIF038", "warning", IFNAME, "GLOO_SOCKET_IFNAME", covers=())
def tunnel_or_wireless(host: JudgedHost, variable: Variable, text: str) -> Results:
    """The traffic of a job goes through a VPN tunnel, a wireless interface, or one of USB.

    Why: Each packet is encrypted or sent by radio, or goes to the host's own management controller. Packets are
    small, the bandwidth is seldom more than a gigabit per second, and lost packets stall collectives.
    Example: NCCL_SOCKET_IFNAME=tailscale0
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: systemd.net-naming-scheme(7); WireGuard and Tailscale documentation
    """
    for word in () if text.startswith("^") or host.nodes == 1 else values.split(text.removeprefix("=")):
        kind = next((kind for kind, names in _SLOW.items() if names.fullmatch(word)), "")
        if kind:
            message = f"{escaped(word[:40])} is {kind}: it is slow, and its packets are small"
            yield report.better_unset(variable, message, "use the interface of a wired network", part=word)
