"""Calls from one node process to another: who answers, and whether large packets get through both ways.

Both show that they know the secret of the run, and the one that is called says in a small packet who it is. Then
it sends as much as fills large packets; the caller sends as much back, and hears that it came. So a path that
loses large packets is told from a host that does not answer.
"""

import errno
import os
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.launch import events
from nccltool.launch.instructions import Goal
from nccltool.worker.bus import client
from nccltool.worker.bus.client import BusAddress, SecretDiffers
from nccltool.worker.bus.messages import Ask
from nccltool.worker.bus.seal import RunSecret
from nccltool.worker.bus.server import Report, Server

TRY_S = 5.0
HALF_OPEN_S = 2.5
"""After it, whose calls could not be answered is looked up: by then each node has called, and again after 1 s."""
_LARGE = 20_000
"""Bytes: more than two jumbo frames."""
_BLACK_HOLE = "is the path MTU smaller than the MTU of the interfaces?"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call came to nothing."""

    text: str
    large_lost: events.LargeLost = ""
    is_silence: bool = False
    """Nothing came back at all."""


NO_ANSWER = Failure(
    f"no answer within {TRY_S:.0f} s: a firewall drops the packets, or there is no route", is_silence=True
)
_UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.ETIMEDOUT)
SILENT = Failure(f"it accepts the connection but says nothing for {TRY_S:.0f} s: the process there hangs")
LOST_FROM = Failure(
    f"small packets arrive from it, but large ones do not within {TRY_S:.0f} s: they are lost on the way "
    f"({_BLACK_HOLE})",
    "from-goal",
)
LOST_TO = Failure(
    f"small packets reach it, but large ones do not within {TRY_S:.0f} s: they are lost on the way "
    f"({_BLACK_HOLE})",
    "to-goal",
)
_ANOTHER = Failure("another host or program answered")


def answering(listening: Sequence[socket.socket], secret: RunSecret, number: int, report: Report) -> Server:
    """What answers other nodes there, once it is started."""
    return Server(listening, secret, report, b"meeting", _name(number))


def call(secret: RunSecret, address: str, goal: Goal) -> Failure | None:
    """Why there was no right answer at an address; None = there was."""
    try:
        with socket.create_connection((address, goal.port), timeout=TRY_S) as connected:
            return _talk(connected, BusAddress(address, goal.port, secret, b"meeting"), _name(goal.node))
    except TimeoutError:
        return NO_ANSWER
    except SecretDiffers:
        return _ANOTHER
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        return Failure(why, is_silence=error.errno in _UNREACHABLE)


def _talk(connected: socket.socket, address: BusAddress, name: str) -> Failure | None:
    wait = SILENT
    try:
        connection = client.secured(connected, address)
        if connection.ask(Ask(op="who"), TRY_S).values != (name.encode(),):
            return _ANOTHER
        wait = LOST_FROM
        connection.ask(Ask(op="who", number=_LARGE), TRY_S)
        wait = LOST_TO
        connection.ask(Ask(op="who", values=(bytes(_LARGE),)), TRY_S)
    except TimeoutError:
        return wait
    return None


def tried(secret: RunSecret, number: int, goal: Goal) -> events.Reached:
    """Call a node at all of its addresses at once; only the right answer counts: an address such as 172.17.0.1 is
    on many hosts, and a call may reach another one, or this one."""
    outcomes: dict[str, Failure | None] = {}
    callers = [
        threading.Thread(target=lambda a=address: outcomes.update({a: call(secret, a, goal)}), daemon=True)
        for address in goal.addresses
    ]
    for caller in callers:
        caller.start()
    end = time.monotonic() + TRY_S + 1.0
    for caller in callers:
        caller.join(max(end - time.monotonic(), 0.0))
    late = Failure("no answer in time, or its name did not resolve")
    said = {address: outcomes.get(address, late) for address in goal.addresses}
    failures = {address: failure for address, failure in said.items() if failure is not None}
    lost = next(((a, failure) for a, failure in failures.items() if failure.large_lost), None)
    texts = tuple(f"{address}: {failure.text}" for address, failure in failures.items())
    return events.Reached(
        node=number,
        goal=goal.node,
        port=goal.port,
        addresses=tuple(address for address, failure in said.items() if failure is None),
        failures=texts if said else ("it has no address that other hosts can reach",),
        large_packets_lost=f"{lost[0]}: {lost[1].text}" if lost else "",
        large_lost=lost[1].large_lost if lost else "",
        unanswered=any(failure.is_silence for failure in failures.values()),
    )


def _name(node: int) -> str:
    """What a node says to a caller, so that no other is taken for it."""
    return f"nccltool node {node}"
