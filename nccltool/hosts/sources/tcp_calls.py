"""Whether anything at some addresses answers a TCP connection, whether it takes or refuses it."""

import contextlib
import errno
import select
import socket
import time
from collections.abc import Iterable

ANSWER_S = 3.5
"""A first packet that is lost is sent again after 1 s, and then after 2 s more (RFC 6298)."""


def any_answers(addresses: Iterable[tuple[str, int]], limit_s: float = ANSWER_S) -> bool:
    """Whether one of these addresses and ports does in time."""
    poll, end, calls = select.poll(), time.monotonic() + limit_s, dict[int, socket.socket]()
    with contextlib.ExitStack() as stack:
        for address in addresses:
            family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
            call = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            call.setblocking(False)
            error = call.connect_ex(address)
            if _is_answer(error):
                return True
            if error == errno.EINPROGRESS:
                calls[call.fileno()] = call
                poll.register(call, select.POLLOUT)
        while calls and (left_s := end - time.monotonic()) > 0:
            for number, _ in poll.poll(left_s * 1000):
                poll.unregister(number)
                if _is_answer(calls.pop(number).getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)):
                    return True
    return False


def _is_answer(error: int) -> bool:
    return error in (0, errno.ECONNREFUSED, errno.ECONNRESET)
