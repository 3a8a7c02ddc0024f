"""torch's worker server as a fake: HTTP over a Unix socket or a port, with answers as torch 2.13 gives them."""

import json
import socket
import socketserver
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self

from nccltool.attach.seen.job import RankSample
from nccltool.attach.seen.process import ProcessState, SocketSeen


def entry(number: int, sizes: list[list[int]], retired: bool, op: str = "gloo:all_reduce") -> dict[str, Any]:
    return {
        "collective_seq_id": number,
        "input_dtypes": ["Float"],
        "input_sizes": sizes,
        "is_p2p": False,
        "op_id": number,
        "output_dtypes": ["Float"],
        "output_sizes": sizes,
        "p2p_seq_id": 0,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "profiling_name": op,
        "record_id": number - 1,
        "retired": retired,
        "state": "scheduled",
        "thread_name": "python",
        "time_created_ns": 1795552409384631629,
        "timeout_ms": 1800000,
    }


def recorded(*entries: dict[str, Any], completed: int) -> bytes:
    status = {
        "last_completed_collective": str(completed),
        "last_enqueued_collective": str(len(entries)),
        "last_started_collective": "-1",
    }
    document = {
        "comm_lib_version": "",
        "entries": list(entries),
        "nccl_comm_state": {},
        "pg_config": {"": {"desc": "", "name": "", "ranks": "[0, 1]"}},
        "pg_status": {"0": status},
        "version": "2.10",
    }
    return json.dumps(document).encode()


COUNTERS = json.dumps(
    {
        "pytorch.wait_counter.TCPStore__get": {"active_count": 1, "max_time_us": 30, "total_calls": 2},
        "pytorch.wait_counter.TCPStore__wait": {"active_count": 0, "max_time_us": 178, "total_calls": 2},
    }
).encode()


class FakeWorkerServer(socketserver.ThreadingUnixStreamServer):
    """`answers`: handler -> body; None: it never answers."""

    daemon_threads = True

    def __init__(self, path: Path, answers: Mapping[str, bytes | None]) -> None:
        self.answers, self.asked, self.stop = dict(answers), list[str](), threading.Event()
        super().__init__(str(path), _Handler)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop.set()
        self.shutdown()
        self.server_close()


class FakeTcpWorkerServer(socketserver.ThreadingTCPServer):
    """The same over TCP, on all addresses, as torch.distributed.debug starts it."""

    daemon_threads = True
    address_family = socket.AF_INET6

    def __init__(self, answers: Mapping[str, bytes | None]) -> None:
        self.answers, self.asked, self.stop = dict(answers), list[str](), threading.Event()
        super().__init__(("::", 0), _Handler)
        self.port = int(self.server_address[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop.set()
        self.shutdown()
        self.server_close()


def listening(pid: int, *ports: int, thread: str = "pt_workerserver") -> RankSample:
    """A rank that listens on all addresses, and, as Gloo does, on one."""
    gloo = SocketSeen(local="10.0.0.1:40001", peer="0.0.0.0:0", state="LISTEN")
    sockets = (SocketSeen(local=f"[::]:{port}", peer="[::]:0", state="LISTEN") for port in ports)
    process = ProcessState(pid=pid, name="python", state="S", parent=1, threads=("python", thread))
    return RankSample(pid=pid, process=process, sockets=(gloo, *sockets))


class _Handler(BaseHTTPRequestHandler):
    server: FakeWorkerServer | FakeTcpWorkerServer

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *words: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        self._send(200 if self.path == "/handler/" else 404, json.dumps(list(self.server.answers)).encode())

    def do_POST(self) -> None:
        name = self.path.removeprefix("/handler/")
        self.server.asked.append(name)
        body = self.server.answers.get(name, b"")
        if body is None:
            self.server.stop.wait(20)
            return
        self._send(200 if name in self.server.answers else 404, body)

    def _send(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
