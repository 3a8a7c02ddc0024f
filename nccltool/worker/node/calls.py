"""Calls from one node process to another: who answers, and whether large packets get through both ways.

The one that is called says in a small packet who it is, then sends as much as fills large ones; the caller sends
as much back, and hears that it came. So a path that loses large packets is told from a host that does not answer.
"""

import contextlib
import errno
import os
import socket
import threading
import time
from dataclasses import dataclass

from nccltool.launch import events
from nccltool.launch.instructions import Goal

TRY_S = 5.0
HALF_OPEN_S = 2.5
"""After it, whose calls could not be answered is looked up: by then each node has called, and again after 1 s."""
_ANSWER_S = TRY_S
_MOST_CALLERS = 256
"""At once; each of 48 hosts calls every other one at two ports, and among more hosts each is called less often."""
_LARGE = 20_000
"""Bytes: more than two jumbo frames."""
_WORD = 128
_CAME = b"."
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


class Answers:
    """Answers callers, each in a thread of its own: one that is slow holds up nobody."""

    def __init__(self, run_id: str, number: int) -> None:
        self._word = _word(run_id, number)
        self._free = threading.BoundedSemaphore(_MOST_CALLERS)

    def accept(self, listener: socket.socket) -> None:
        """Answer one who has called."""
        with contextlib.suppress(OSError):  # a caller that is gone again
            caller, _ = listener.accept()
            if self._free.acquire(blocking=False):
                threading.Thread(target=self._answer, args=(caller,), daemon=True).start()
            else:
                caller.close()

    def _answer(self, caller: socket.socket) -> None:
        with contextlib.suppress(OSError), caller:
            caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            caller.settimeout(_ANSWER_S)
            caller.sendall(self._word)
            caller.sendall(bytes(_LARGE))
            if len(_received(caller, _LARGE)) == _LARGE:
                caller.sendall(_CAME)
        self._free.release()


def call(run_id: str, address: str, goal: Goal) -> Failure | None:
    """Why there was no right answer at an address; None = there was."""
    try:
        with socket.create_connection((address, goal.port), timeout=TRY_S) as connection:
            connection.settimeout(TRY_S)
            return _talk(connection, _word(run_id, goal.node))
    except TimeoutError:
        return NO_ANSWER
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        return Failure(why, is_silence=error.errno in _UNREACHABLE)


def _talk(connection: socket.socket, word: bytes) -> Failure | None:
    wait = SILENT
    try:
        if _received(connection, _WORD) != word:
            return _ANOTHER
        wait = LOST_FROM
        if len(_received(connection, _LARGE)) < _LARGE:
            return _ANOTHER
        wait = LOST_TO
        connection.sendall(bytes(_LARGE))
        return None if _received(connection, 1) == _CAME else _ANOTHER
    except TimeoutError:
        return wait


def _received(connection: socket.socket, count: int) -> bytes:
    """So many bytes, or fewer at the end of what comes. Raises TimeoutError where they take too long together."""
    end, said = time.monotonic() + (connection.gettimeout() or TRY_S), b""
    while len(said) < count and (chunk := connection.recv(count - len(said))):
        said += chunk
        if time.monotonic() > end:
            raise TimeoutError
    return said


def tried(run_id: str, number: int, goal: Goal) -> events.Reached:
    """Call a node at all of its addresses at once; only the right answer counts: an address such as 172.17.0.1 is
    on many hosts, and a call may reach another one, or this one."""
    outcomes: dict[str, Failure | None] = {}
    callers = [
        threading.Thread(target=lambda a=address: outcomes.update({a: call(run_id, a, goal)}), daemon=True)
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


def _word(run_id: str, node: int) -> bytes:
    """What a node says to a caller, so that no other host or program is taken for it."""
    return f"nccltool {run_id} {node:06}\n".encode().ljust(_WORD)[:_WORD]
