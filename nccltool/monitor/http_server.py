"""The HTTP server: /metrics, /healthz, and /runs, over plain text or TLS.

Bodies are made when the run directory is looked at, not when somebody asks. Peers that are slow, silent or rude
are bounded: by the time until a whole request is there, by the size of its head, and by how long a body may wait.
"""

import asyncio
import base64
import binascii
import contextlib
import errno
import gzip
import hashlib
import logging
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import bcrypt
from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config

from nccltool.core.errors import BadInput
from nccltool.core.text import shortened, whole
from nccltool.monitor import host_headers
from nccltool.monitor.web_config import WebConfig

SILENCE_S = 10
"""Until a whole request is there, and between two."""
BODY_S = 30.0
"""Until a body is taken."""
LARGEST_HEAD = 16 * 2**10
PIECE = 64 * 2**10
"""So much of a body waits for a slow peer, not all of it."""
TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
JSON = "application/json"
_UNKNOWN_USER = bcrypt.hashpw(b"", bcrypt.gensalt(10))
"""Checked for names that do not exist, so that time does not tell which do."""

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ResponseBody:
    """What is answered, ready to be sent."""

    kind: str
    plain: bytes
    zipped: bytes

    @classmethod
    def of(cls, kind: str, plain: bytes) -> "ResponseBody":
        """With its compressed form: it is sent many times."""
        return cls(kind, plain, gzip.compress(plain, compresslevel=4, mtime=0))


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """All that is answered until the next look."""

    text: ResponseBody
    openmetrics: ResponseBody
    runs: ResponseBody
    made: float
    """On the monotonic clock."""


Header = tuple[bytes, bytes]
Answer = tuple[int, ResponseBody, tuple[Header, ...]]
"""Status, body, and more headers."""


class MetricsApp:
    """The ASGI application. `page` returns the newest page; older than `stale_s` it is not shown."""

    def __init__(
        self, page: Callable[[], MetricsPage], stale_s: float, config: WebConfig, hosts: frozenset[str]
    ) -> None:
        self._page, self._stale_s, self._users, self._hosts = page, stale_s, config.users, hosts
        self._known: set[bytes] = set()
        self._checks = asyncio.Semaphore(1)  # guessing must not take the machine

    def admit(self, users: Mapping[str, bytes]) -> None:
        """Only these users, from now on."""
        self._users = users
        self._known = set()  # a check that is under way remembers its answer in the set before

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        async with asyncio.timeout(BODY_S):
            status, body, extra = await self._answer(scope["path"], scope["method"], headers)
            zipped = b"gzip" in headers.get(b"accept-encoding", b"")
            await _send(send, status, body, extra, zipped, scope["method"] == "HEAD")

    async def _answer(self, path: str, method: str, headers: Mapping[bytes, bytes]) -> Answer:
        if not host_headers.is_allowed(headers.get(b"host"), self._hosts):
            return _said(421, "not a name of this server; allow it with --allowed-host")
        page = self._page()
        fresh = time.monotonic() - page.made <= self._stale_s
        if path == "/healthz" and fresh:
            return _said(200, "ok")
        if path != "/healthz" and self._users and not await self._may(headers.get(b"authorization", b"")):
            return _said(401, "authentication required", (b"www-authenticate", b'Basic realm="nccltool"'))
        if path != "/healthz" and method not in ("GET", "HEAD"):
            return _said(405, "GET or HEAD", (b"allow", b"GET, HEAD"))
        if path not in ("/metrics", "/runs", "/healthz"):
            return _said(404, "not found; available: /metrics, /runs, /healthz")
        if not fresh:
            return _said(503, "the last scan of the run directory is too old")
        openmetrics = b"application/openmetrics-text" in headers.get(b"accept", b"")
        body = page.runs if path == "/runs" else page.openmetrics if openmetrics else page.text
        return 200, body, ()

    async def _may(self, authorization: bytes) -> bool:
        """Whether name and password are right. bcrypt is slow by design: what was right once is remembered."""
        scheme, _, token = authorization.partition(b" ")
        if scheme.lower() != b"basic":
            return False
        seen = hashlib.sha256(token).digest()
        if seen in self._known:
            return True
        with contextlib.suppress(binascii.Error, ValueError, UnicodeDecodeError):
            name, colon, password = base64.b64decode(token, validate=True).partition(b":")
            hashed = self._users.get(name.decode(), _UNKNOWN_USER)
            known = self._known
            async with self._checks:
                right = await asyncio.to_thread(bcrypt.checkpw, password[:72], hashed)
            if right and colon and hashed is not _UNKNOWN_USER:
                known.add(seen)
                return True
        return False


def _said(status: int, sentence: str, *extra: Header) -> Answer:
    return status, ResponseBody.of("text/plain; charset=utf-8", f"{sentence}\n".encode()), extra


async def _send(
    send: Send, status: int, body: ResponseBody, extra: tuple[Header, ...], zipped: bool, head: bool
) -> None:
    data = body.zipped if zipped else body.plain
    headers = [
        (b"content-type", body.kind.encode()),
        (b"content-length", str(len(data)).encode()),
        (b"vary", b"accept, accept-encoding"),
        *([(b"content-encoding", b"gzip")] if zipped else []),
        *extra,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for begin in range(0, 0 if head else len(data), PIECE):
        await send({"type": "http.response.body", "body": data[begin : begin + PIECE], "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def listen(address: str) -> socket.socket:
    """A socket on HOST:PORT or :PORT (all addresses). Raises BadInput."""
    host, colon, port = address.rpartition(":")
    number = whole(port)
    if not colon or number is None or number > 65535:
        raise BadInput(
            f"--listen {shortened(address, 80)!r} is not HOST:PORT",
            "write 127.0.0.1:9779, or :9779 for all addresses",
        )
    try:
        return _listening(host.strip("[]"), number)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(f"--listen {address}: {reason}", "choose another port or address") from error


def _listening(host: str, port: int) -> socket.socket:
    """Without a host, on all addresses: where the kernel has no IPv6, those of IPv4."""
    try:
        return _bound(host or "::", port)
    except OSError as error:
        if host or error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
            raise
        return _bound("0.0.0.0", port)  # noqa: S104


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if host == "::":  # with IPv4, whatever net.ipv6.bindv6only says
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # a peer that takes nothing is dropped by the kernel; connections inherit it
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(BODY_S * 1000))
        made.bind((host, port))
        made.listen(128)
    except OSError:
        made.close()
        raise
    return made


class ServerConfig(Config):
    """With the certificate that new connections get, so that it can be exchanged."""

    _context: ssl.SSLContext | None = None

    def create_ssl_context(self) -> ssl.SSLContext | None:
        """As it is called when the server begins."""
        self._context = super().create_ssl_context()
        return self._context

    def renew(self, web: WebConfig) -> None:
        """Take another certificate and key, and trust more. Raises OSError, where they changed since the check."""
        if self._context and web.cert_file:
            self._context.load_cert_chain(web.cert_file, web.key_file)
        if self._context and web.client_ca_file:
            self._context.load_verify_locations(web.client_ca_file)


def config_of(listening: socket.socket, web: WebConfig) -> ServerConfig:
    config = ServerConfig()
    config.bind = [f"fd://{listening.fileno()}"]
    config.certfile, config.keyfile, config.ca_certs = web.cert_file, web.key_file, web.client_ca_file
    if web.cert_file:
        config.verify_mode = web.client_auth
    config.keep_alive_timeout, config.ssl_handshake_timeout = SILENCE_S, SILENCE_S
    config.h11_max_incomplete_size = LARGEST_HEAD
    config.alpn_protocols = ["http/1.1"]
    config.include_server_header = False
    config.graceful_timeout = config.shutdown_timeout = 2
    quiet = logging.getLogger("nccltool.serve")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    config.errorlog = quiet
    return config


async def serve(app: MetricsApp, config: ServerConfig, until: Callable[[], Awaitable[object]]) -> None:
    """Answer until `until` returns."""
    await hypercorn_serve(cast(Any, app), config, shutdown_trigger=cast(Any, until))
