"""One node, or all emulated nodes of this host: the store, the relay, and the agents."""

import contextlib
import fcntl
import os
import signal
import socket
import sys
import threading
import traceback
from datetime import timedelta

from torch.distributed import TCPStore

from nccltool.core import processes
from nccltool.core.findings import Finding, Subject
from nccltool.launch import events, inside
from nccltool.launch.finding_kinds import LEADER_GONE, PORT_IN_USE
from nccltool.launch.inside import RankPlace
from nccltool.launch.job import Job
from nccltool.worker.channel import Channel
from nccltool.worker.node import agent, host_facts
from nccltool.worker.node.event_relay import Receiver, Sender
from nccltool.worker.node.rendezvous import StoreAddress, connect
from nccltool.worker.node.supervisor import supervise
from nccltool.worker.rank import life

_FLUSH_S = 5.0
_PIPE_BYTES = 2**20
"""Of the pipe to the relay: a snapshot of the host goes in before the relay starts to read."""
_BACKLOG = 1024


def run(job: Job, listener: socket.socket | None, in_fd: int, out_fd: int) -> int:
    """Run the nodes of the job that are ours, or this rank of a started job; the exit code.

    `listener`: for a remote node 0, the socket that the others have found; else we listen ourselves.
    """
    place = None if job.node_ranks else inside.detect(os.environ, job.endpoint)
    try:
        if place:
            return _started_by_launcher(job, place, in_fd, out_fd)
        return _start_agents(job, listener, in_fd, out_fd)
    except _CannotStart as error:
        Channel(out_fd, in_fd).emit(events.Reported(finding=error.finding))
        return 1


def _start_agents(job: Job, listener: socket.socket | None, in_fd: int, out_fd: int) -> int:
    """Fork an agent for each of our nodes, then serve the store for them. Threads start after the forks."""
    leads = 0 in job.node_ranks
    if leads and listener is None:
        listener = _listen(job)
    address = _address(job, listener)
    # the events of remote nodes come out of their own launches
    relay = _EventRelay(job, leads, not job.remote and len(job.node_ranks) < (job.nodes or 1), out_fd)
    channel = Channel(relay.events_fd, in_fd)
    children = [_fork_agent(job, node, address, channel, listener) for node in job.node_ranks]
    if not job.remote and not job.emulated and (job.nodes or 1) > 1:
        host_facts.send(job.node_ranks[0], channel)
    store = _serve(listener) if listener else None
    relay.start(address, job, senders=(job.nodes or 1) - 1)
    codes = _wait_for(dict(zip(children, job.node_ranks, strict=True)), channel)
    relay.finish()
    del store
    return max(abs(code) for code in codes)


def _wait_for(agents: dict[int, int], channel: Channel) -> list[int]:
    """Wait for the agents (pid to node rank) in the order in which they end; their exit codes."""
    codes = []
    while agents:
        pid, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        codes.append(code)
        node_rank = agents.pop(pid)
        if code < 0:
            host = socket.gethostname()
            channel.emit(events.AgentKilled(node_rank=node_rank, host=host, code=code))
    return codes


def _fork_agent(
    job: Job, node: int, address: StoreAddress, channel: Channel, listener: socket.socket | None
) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        processes.die_with_parent(parent)
        if listener is not None:
            listener.close()
        code = agent.run(job, node, address, channel)
    except Exception:  # noqa: BLE001 - whatever it is, it must be in the log: _exit would not print it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _started_by_launcher(job: Job, place: RankPlace, in_fd: int, out_fd: int) -> int:
    """We are one rank: supervise it here; rank 0 also serves the store unless torchrun does."""
    leads = place.rank == 0
    relay = _EventRelay(job, leads, place.world_size > 1, out_fd)
    channel = Channel(relay.events_fd, in_fd)
    parent = os.getpid()
    watcher = os.fork()
    if watcher == 0:
        processes.die_with_parent(parent)
        os._exit(min(abs(supervise(job, place, channel, life.main)), 255))
    if place.local_rank == 0 and place.world_size > place.local_world_size:
        host_facts.send(place.node_rank, channel)
    store = None
    if leads and not place.store_is_hosted:
        store = _serve(_bind("", place.store_port))
    relay.start(StoreAddress(place.store_host, place.store_port), job, senders=place.world_size - 1)
    code = os.waitstatus_to_exitcode(os.waitpid(watcher, 0)[1])
    relay.finish()
    del store
    return abs(code)


class _EventRelay:
    """Brings the events of other nodes to node 0; does nothing when all nodes are ours."""

    def __init__(self, job: Job, leads: bool, needed: bool, out_fd: int) -> None:
        self._leads, self._needed, self._out_fd = leads, needed, out_fd
        self._end: Receiver | Sender | None = None
        self._read_fd, self.events_fd = os.pipe() if needed and not leads else (-1, out_fd)
        if self._read_fd >= 0:
            with contextlib.suppress(OSError):  # over the limit of a user: it may wait then
                fcntl.fcntl(self._read_fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def start(self, address: StoreAddress, job: Job, senders: int) -> None:
        """Begin; our own processes have been forked."""
        if not self._needed:
            return

        def client() -> TCPStore:
            # longer than a rank or an agent tries: they know more of what is missing
            return connect(address, job.join_timeout_s + _FLUSH_S)

        if self._leads:
            self._end = Receiver(self._out_fd, client, senders)
        else:
            os.close(self.events_fd)  # the forked processes hold it; its end is their end
            self._end = Sender(self._read_fd, self._out_fd, client, lambda: self._lost(address))

    def finish(self) -> None:
        """Let what is under way arrive."""
        if self._end is not None:
            self._end.finish(_FLUSH_S)

    def _lost(self, address: StoreAddress) -> None:
        finding = LEADER_GONE.finding(
            subject=Subject(kind="host", name=address.host),
            message=f"the store at {address.host}:{address.port} is gone: node 0 ended the run or died",
            remedy="look at the output of node 0",
        )
        Channel(self._out_fd, None).emit(events.Reported(finding=finding))
        threading.Timer(1.0, lambda: os.killpg(os.getpgid(0), signal.SIGKILL)).start()


def _listen(job: Job) -> socket.socket:
    """The store's socket: loopback and any port for emulated nodes, else all interfaces and the agreed port."""
    if not job.endpoint:
        return _bind("127.0.0.1", 0)
    return _bind("", inside.parse_endpoint(job.endpoint)[1])


def _bind(host: str, port: int) -> socket.socket:
    try:
        if host:
            return socket.create_server((host, port), backlog=_BACKLOG)
        dual = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if dual else socket.AF_INET
        return socket.create_server(("", port), family=family, backlog=_BACKLOG, dualstack_ipv6=dual)
    except OSError as error:
        me = socket.gethostname()
        raise _CannotStart(
            PORT_IN_USE.finding(
                subject=Subject(kind="host", name=me),
                message=f"node 0 ({me}) cannot listen on port {port}: {os.strerror(error.errno or 0)}",
                remedy=f"choose another port in --rdzv-endpoint, or end what holds it: ss -ltnp 'sport = :{port}'",
            )
        ) from error


class _CannotStart(Exception):
    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def _address(job: Job, listener: socket.socket | None) -> StoreAddress:
    if listener is not None:  # our own ranks take the short way, whatever the endpoint's name resolves to
        return StoreAddress("127.0.0.1", int(listener.getsockname()[1]))
    return StoreAddress(*inside.parse_endpoint(job.endpoint))


def _serve(listener: socket.socket) -> TCPStore:
    port = int(listener.getsockname()[1])
    return TCPStore(
        "127.0.0.1",
        port,
        is_master=True,
        wait_for_workers=False,
        timeout=timedelta(seconds=60),
        master_listen_fd=listener.detach(),
    )
