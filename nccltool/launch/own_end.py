"""JUDGE hosts of which none was reached, or answers any more: they have in common the host that called them."""

import math
import socket
import time
from collections.abc import Callable, Collection, Sequence

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import named
from nccltool.hosts.sources import tcp_calls
from nccltool.launch.allowances import UNHEARD_S
from nccltool.launch.finding_kinds import HOST_LOST, HOST_UNREACHABLE, LARGE_PACKETS_LOST
from nccltool.launch.session import NodeProcess

_LOST_PACKETS = (HOST_UNREACHABLE, LARGE_PACKETS_LOST)
"""Of hosts from which nothing came. One that refuses is there, and logins may hang on a file system."""
_ENOUGH = 2
"""Of a single host, nobody knows which end it is."""
_SHOWN = 4
_NAMED = 8
_JUST_S = 2.0
"""Before the calls: who was heard then is not cut off. A living rank's supervisor speaks in the seconds after."""
_CALLED = 64
"""Hosts: of so many, one would answer if we were not cut off."""


def cut_off(
    processes: Sequence[NodeProcess], at_home: Collection[int], said: Sequence[Finding], listen: Callable[[], None]
) -> Finding | None:
    """About this host, where no other host answers a call to where its login led; None = one does, or too few are
    known. What takes or refuses the call is there, and so is our own network.

    `at_home`: nodes that run here. `said`: whom the silence would blame. `listen`: hears what has come: a firewall
    that lets no new logins in leaves those that there are.
    """
    elsewhere = [one for one in processes if one.command.host and not set(one.command.nodes) & set(at_home)]
    begin = time.monotonic() - _JUST_S
    if len(elsewhere) < _ENOUGH or _any_answers(elsewhere):
        return None
    listen()
    if any(begin < one.heard_at < math.inf for one in elsewhere):
        return None
    here, hosts = socket.gethostname(), [one.command.host for one in elsewhere]
    return HOST_LOST.finding(
        subject=Subject(kind="host", name=here),
        message=f"this host, {here}, is cut off: none of the {len(hosts)} other hosts responds",
        evidence=(f"other hosts: {named(hosts, _NAMED)}", *(one.message for one in said[:_SHOWN])),
        remedy=f"check the network of {here}: its link, interface, and switch port",
    )


def _any_answers(elsewhere: Sequence[NodeProcess]) -> bool:
    logins = dict.fromkeys(one.login for one in elsewhere)
    if None not in logins:
        return tcp_calls.any_answers([login for login in logins if login][:_CALLED])
    if any(one.exit_code() is not None for one in elsewhere):
        return True  # it is not known why
    now = time.monotonic()
    return any(now - one.heard_at < UNHEARD_S for one in elsewhere)


def of_lost(here: str, others: int, lost: Sequence[Finding]) -> Finding | None:
    """About this host, where each of several others was lost for the network; None = it does not stand out."""
    if others < _ENOUGH or len(lost) < others or any(one.kind not in _LOST_PACKETS for one in lost):
        return None
    large = all(one.kind is LARGE_PACKETS_LOST for one in lost)
    what = "large packets between it and each of them are lost" if large else "none of them responds"
    return lost[0].kind.finding(
        subject=Subject(kind="host", name=here),
        message=f"this host, {here}, reaches none of the {others} other hosts: {what}",
        evidence=tuple(one.message for one in lost[:_SHOWN]),
        remedy=f"check the network of {here}: its link, MTU, interface, and switch port",
    )
