"""What destinations on the network share."""

import threading
from collections.abc import Callable
from http.client import HTTPException
from urllib.parse import urlsplit

from nccltool.core.errors import BadInput, NccltoolError

AFTER_VERDICT_S = 10.0
"""How long a command that has its verdict goes on trying."""


class PushFailed(NccltoolError):
    """The other side did not take the samples."""

    exit_code = 3


def check_url(url: str, option: str, example: str, remedy: str) -> None:
    """Raises BadInput for an address that cannot be one; `remedy`: of a password in it."""
    parts = urlsplit(url)
    try:
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        good = good and url.isprintable() and " " not in url
    except ValueError:
        good = False
    if not good:
        raise BadInput(f"{option} {url!r} is not a URL", f"write {example}")
    if parts.username is not None:
        raise BadInput(f"{option}: a password in a URL shows up in logs", remedy)


def in_time(ask: Callable[[], None], timeout: float | None) -> None:
    """All of it: the time of urllib and of requests counts anew with each byte that comes. Raises TimeoutError."""
    caught: list[Exception] = []

    def run() -> None:
        try:
            ask()
        except (OSError, HTTPException, ValueError, NccltoolError) as error:
            caught.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout)
    if thread.is_alive():
        raise TimeoutError("no complete response in time")
    if caught:
        raise caught[0]
