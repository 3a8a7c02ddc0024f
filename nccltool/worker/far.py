"""The far end of a remote launch: a small process that meets the other nodes while its child imports torch.

It holds the leash. When the runner's end of standard input closes, or the runner is not heard any more (the
connection is lost, its host is down), everything on this host ends and the scratch folder is removed.
"""

import contextlib
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from nccltool import __version__, events, instructions, processes
from nccltool.facts import gpu, net
from nccltool.launchers import inside
from nccltool.model import Job
from nccltool.worker.channel import Channel

LEASH_S = 20.0
"""How long the runner may be silent; it speaks every five seconds."""
_TRY_S = 5.0
_TICK_S = 0.1
_BACKLOG = 1024

NodeMain = Callable[[Job, socket.socket | None, int, int], int]
"""(job, listener of the store if there is one, where instructions come from, where events go) -> exit code."""
Load = Callable[[], NodeMain]
"""Imports torch."""


def main(job: Job, in_fd: int, out_fd: int, load: Load) -> int:
    """Run the part of this host; the exit code."""
    os.environ.update(job.env)
    scratch = tempfile.mkdtemp(prefix="nccltool-")
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    job = replace(job, scratch=scratch)
    number = int(os.environ[job.node_variable]) if job.node_variable else job.node_ranks[0]
    listener, problem = _listen(job)
    read_fd, write_fd = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        processes.die_with_parent(parent)
        os.close(write_fd)
        _be_the_node(job, number, listener, read_fd, out_fd, load)
    os.close(read_fd)
    channel = Channel(out_fd, None)
    try:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # a scheduler's
        port = int(listener.getsockname()[1]) if listener else 0
        channel.emit(_node(number, port, problem))
        return _Leash(job, number, child, in_fd, write_fd, channel, listener).until_end()
    finally:
        _end(child)
        shutil.rmtree(scratch, ignore_errors=True)


def _end(child: int) -> None:
    """Kill the child if it is still there; the kernel ends what it started."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _node(number: int, port: int, problem: str) -> events.Node:
    return events.Node(
        node=number,
        host=socket.gethostname(),
        host_id=net.host_id(),
        nccltool=__version__,
        gpus=gpu.count(),
        addresses=net.outward_addresses(),
        port=port,
        problem=problem,
    )


def _listen(job: Job) -> tuple[socket.socket | None, str]:
    """A socket for the store, should this become node 0: any port, or the one of --rdzv-endpoint."""
    port = inside.parse_endpoint(job.endpoint)[1] if job.endpoint else 0
    dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual else socket.AF_INET
    try:
        return socket.create_server(("", port), family=family, backlog=_BACKLOG, dualstack_ipv6=dual), ""
    except OSError as error:
        return None, f"cannot listen on port {port}: {os.strerror(error.errno or 0)}"


def _be_the_node(
    job: Job, number: int, listener: socket.socket | None, in_fd: int, out_fd: int, load: Load
) -> None:
    """The child: torch is imported while the nodes meet; then it waits for Go."""
    code = 1
    try:
        node_main = load()
        line = Channel(out_fd, in_fd).wait_for_line(job.join_timeout_s + LEASH_S)
        go = instructions.decode(line or "")
        assert isinstance(go, instructions.Go)
        if number in go.places:
            rank, endpoint = go.places[number]
            placed = replace(
                job,
                nodes=len(go.places),
                nproc_per_node=go.nproc_per_node,
                node_ranks=(rank,),
                endpoint=endpoint,
            )
            if rank and listener is not None:
                listener.close()
            code = node_main(placed, None if rank else listener, in_fd, out_fd)
        else:
            code = 0
    finally:
        sys.stderr.flush()
        os._exit(min(abs(code), 255))


class _Leash:
    """Takes the runner's instructions, answers or passes them on, and watches both ends."""

    def __init__(
        self,
        job: Job,
        number: int,
        child: int,
        in_fd: int,
        child_fd: int,
        channel: Channel,
        listener: socket.socket | None,
    ) -> None:
        self._number, self._child, self._in_fd, self._child_fd = number, child, in_fd, child_fd
        self._channel, self._listener, self._word = channel, listener, _word(job)
        self._rest = b""
        self._heard_at = time.monotonic()

    def until_end(self) -> int:
        """Until the child has ended, or the runner is gone; the exit code."""
        while True:
            pid, status = os.waitpid(self._child, os.WNOHANG)
            if pid:
                return abs(os.waitstatus_to_exitcode(status))
            if not self._turn() or time.monotonic() - self._heard_at > LEASH_S:
                return 1

    def _turn(self) -> bool:
        """One look at everything; False when the runner is gone."""
        sources = [self._in_fd, *([self._listener.fileno()] if self._listener else [])]
        ready, _, _ = select.select(sources, [], [], _TICK_S)
        if self._listener is not None and self._listener.fileno() in ready:
            self._answer_caller()
        return self._in_fd not in ready or self._read()

    def _read(self) -> bool:
        chunk = os.read(self._in_fd, 65536)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._heard_at = time.monotonic()
            self._obey(line)
        return bool(chunk)

    def _obey(self, line: bytes) -> None:
        match instructions.decode(line):
            case instructions.Try() as attempt:
                threading.Thread(target=self._try, args=(attempt,), daemon=True).start()
            case instructions.Go():
                if self._listener is not None:
                    self._listener.close()  # the child has it
                    self._listener = None
                os.write(self._child_fd, line + b"\n")
            case instructions.Saved():
                os.write(self._child_fd, line + b"\n")
            case instructions.Alive():
                pass

    def _answer_caller(self) -> None:
        assert self._listener is not None
        caller, _ = self._listener.accept()
        with caller:
            caller.settimeout(1.0)
            caller.sendall(self._word)

    def _try(self, attempt: instructions.Try) -> None:
        """Call node 0 at all of its addresses at once; only the right answer counts: an address such as
        172.17.0.1 is on many hosts, and a call may reach another one, or this one."""
        outcomes: dict[str, str] = {}
        callers = [
            threading.Thread(target=lambda a=address: outcomes.update({a: self._call(a, attempt.port)}))
            for address in attempt.addresses
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(_TRY_S + 1.0)
        said = {address: outcomes.get(address, "timed out") for address in attempt.addresses}
        self._channel.emit(
            events.Reached(
                node=self._number,
                addresses=tuple(address for address, failure in said.items() if not failure),
                failures=tuple(f"{address}: {failure}" for address, failure in said.items() if failure),
            )
        )

    def _call(self, address: str, port: int) -> str:
        """Why there was no right answer; empty = there was."""
        try:
            with socket.create_connection((address, port), timeout=_TRY_S) as connection:
                connection.settimeout(_TRY_S)
                said = b""
                while len(said) < len(self._word) and (chunk := connection.recv(len(self._word))):
                    said += chunk
        except TimeoutError:
            return f"no answer in {_TRY_S:.0f} s: a firewall drops it, or there is no route"
        except OSError as error:
            return os.strerror(error.errno) if error.errno else str(error)
        return "" if said == self._word else "another program answered"


def _word(job: Job) -> bytes:
    """What node 0 says to a caller, so that no other host or program is taken for it."""
    return f"nccltool {job.run_id}\n".encode()

