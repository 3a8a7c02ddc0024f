"""One node, or all emulated nodes of this host: the bus, the relay, and the agents."""

import logging
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous.api import rendezvous_handler_registry
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from nccltool.core import processes
from nccltool.core.findings import Subject
from nccltool.launch import events, inside, strangers
from nccltool.launch.finding_kinds import PORT_IN_USE, SHM_UNUSABLE
from nccltool.launch.inside import RankPlace
from nccltool.launch.job import Job
from nccltool.worker.bus.client import BusAddress
from nccltool.worker.bus.server import Server
from nccltool.worker.channel import Channel
from nccltool.worker.node import listeners, remote, rendezvous, sigterm
from nccltool.worker.node.counting import Counting
from nccltool.worker.node.event_relay import EventRelay
from nccltool.worker.node.rendezvous import CannotStart, FixedRendezvous
from nccltool.worker.node.supervisor import supervise

_MONITOR_S = 0.05
_SHUTDOWN_S = 2


def run(job: Job, listening: Sequence[socket.socket], in_fd: int, out_fd: int) -> int:
    """Run the nodes of the job that are ours, or this rank of a started job; the exit code.

    `listening`: of a remote node 0, the sockets that the others have found; else we listen ourselves.
    """
    place = None if job.node_ranks else inside.detect(os.environ, job.endpoint)
    if job.leave_s:  # until there are those that it can be passed on to
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        if place:
            return _started_by_launcher(job, place, in_fd, out_fd)
        return _start_agents(job, listening, in_fd, out_fd)
    except CannotStart as error:
        Channel(out_fd, in_fd).report(error.finding)
        return 1


def _start_agents(job: Job, listening: Sequence[socket.socket], in_fd: int, out_fd: int) -> int:
    """Fork an agent for each of our nodes, then serve the bus for them. Threads start after the forks."""
    _check_semaphores()
    leads, secret = 0 in job.node_ranks, rendezvous.secret_of(job)
    if leads and not listening:
        # emulated nodes find each other on loopback, at any port
        listening = _listen(*inside.parse_endpoint(job.endpoint)) if job.endpoint else listeners.loopback()
    # our own ranks take the short way, whatever the endpoint's name resolves to
    where = listeners.own_way(listening) if listening else inside.parse_endpoint(job.endpoint)
    address = BusAddress(*where, secret)
    # the events of remote nodes come out of their own launches
    relay = EventRelay(leads, not job.remote and len(job.node_ranks) < (job.nodes or 1), out_fd)
    channel = Channel(relay.events_fd, in_fd)
    watchdog = os.getppid() if job.remote else None
    children = {
        processes.forked(partial(_run_agent, job, node, address, channel, listening, watchdog)): node
        for node in job.node_ranks
    }
    if job.leave_s:
        sigterm.pass_on(children.keys)
    counting = None if job.emulated or job.nodes == 1 else Counting(channel)
    if not job.remote and not job.emulated and (job.nodes or 1) > 1:
        remote.send_facts(job.node_ranks[0], channel)
    server = _serve(listening, job, Channel(out_fd, None)) if listening else None
    relay.start(address, job, senders=(job.nodes or 1) - 1)
    codes = []
    while children:
        pid, status = os.wait()
        if pid not in children:  # the one that counts
            continue
        code, node_rank = os.waitstatus_to_exitcode(status), children.pop(pid)
        codes.append(abs(code))
        if code < 0:
            channel.emit(events.AgentKilled(node_rank=node_rank, host=socket.gethostname(), code=code))
    if counting is not None:
        counting.end()
    relay.finish()
    if server is not None:
        server.stop()
    return max(codes)


def _run_agent(
    job: Job,
    node_rank: int,
    store: BusAddress,
    channel: Channel,
    listening: Sequence[socket.socket],
    watchdog: int | None,
) -> int:
    """Torch elastic starts a supervisor for each rank of the node, by fork; 0 when all of them ended well."""
    for one in listening:
        one.close()
    assert job.nodes is not None
    # the same on all nodes, whose commands do not know each other's run id
    run_id = job.run_id if job.remote else "emulated" if job.emulated else "joined"
    meeting = FixedRendezvous(store, node_rank, job.nodes, run_id, job.join_timeout_s)
    for handler in logging.getLogger("torch.distributed").handlers:
        handler.addFilter(_with_traceback)
    rendezvous_handler_registry.register(rendezvous.BACKEND, lambda _: meeting)
    if job.leave_s:
        sigterm.pass_on_as_an_agent()
    logs = Path(job.scratch) / f"elastic-{node_rank}"
    logs.mkdir(parents=True)
    with _without_gpus():
        config = _config(job, run_id, store, logs)
    try:
        elastic_launch(config, _one_rank)(job, channel, watchdog)
    except CannotStart as error:
        channel.report(error.finding)
        return 1
    except ChildFailedError as error:
        for rank_number, failure in error.failures.items():
            if failure.exitcode < 0:  # the supervisor itself was killed; else it has said which rank and how
                code, host = failure.exitcode, socket.gethostname()
                channel.emit(events.Exited(rank=rank_number, code=code, node_rank=node_rank, host=host))
        return 1
    except SignalException as ended:  # elastic has ended the ranks; who waits for us must learn why
        signal.signal(ended.sigval, signal.SIG_DFL)
        os.kill(os.getpid(), ended.sigval)
    return 0


@contextmanager
def _without_gpus() -> Iterator[None]:
    """Torch 2.13 counts the GPUs to make a configuration of elastic, and does so by HIP where amdsmi is not
    installed: no rank that is forked later could use one. An empty mask answers it before."""
    own = {name: os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")}
    os.environ.update(dict.fromkeys(own, ""))
    try:
        yield
    finally:
        for name, value in own.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _config(job: Job, run_id: str, store: BusAddress, logs: Path) -> LaunchConfig:
    assert job.nodes is not None
    assert job.nproc_per_node is not None
    return LaunchConfig(
        min_nodes=job.nodes,
        max_nodes=job.nodes,
        nproc_per_node=job.nproc_per_node,
        run_id=run_id,
        rdzv_backend=rendezvous.BACKEND,
        rdzv_endpoint=f"{store.host}:{store.port}",
        max_restarts=0,
        monitor_interval=_MONITOR_S,
        start_method="fork",
        logs_specs=DefaultLogsSpecs(log_dir=str(logs)),
        shutdown_timeout=_SHUTDOWN_S,
    )


def _with_traceback(record: logging.LogRecord) -> bool:
    """Torch's formatter imports torch._dynamo to print an exception: seconds in which nobody learns who died."""
    if record.exc_info:
        record.exc_text = logging.Formatter().formatException(record.exc_info)
        record.exc_info = None
    return True


def _one_rank(job: Job, channel: Channel, watchdog: int | None) -> None:
    place = inside.detect(os.environ)
    assert place is not None
    if job.emulated:
        place = replace(place, nodes_here=len(job.node_ranks))
    is_first = place.local_rank == 0
    agent = os.getppid()
    code = supervise(job, place, channel, agent, watchdog if is_first else None)
    # torch's process waits for the agent's word before it ends, without a deadline
    processes.die_with_parent(agent)
    if code:
        sys.exit(code if code > 0 else 128 - code)


def _started_by_launcher(job: Job, place: RankPlace, in_fd: int, out_fd: int) -> int:
    """We are one rank: supervise it here; rank 0 also serves the store unless torchrun does."""
    leads = place.rank == 0
    relay = EventRelay(leads, place.world_size > 1, out_fd)
    channel = Channel(relay.events_fd, in_fd)
    counts = place.local_rank == 0 and place.world_size > place.local_world_size
    watcher = processes.forked(partial(supervise, job, place, channel))
    if job.leave_s:
        sigterm.pass_on(lambda: (watcher,))
    counting = Counting(channel) if counts else None
    if place.local_rank == 0 and place.world_size > place.local_world_size:
        remote.send_facts(place.node_rank, channel)
    server = None
    if leads and not place.store_is_hosted:
        server = _serve(_listen(place.store_host, place.store_port), job, Channel(out_fd, None))
    relay.start(rendezvous.of_place(job, place), job, senders=place.world_size - 1)
    code = os.waitstatus_to_exitcode(os.waitpid(watcher, 0)[1])
    if code < 0:  # the supervisor itself was killed, and its rank with it; else it has said how the rank ended
        channel.emit(events.Exited(rank=place.rank, code=code))
    if counting is not None:
        counting.end()
    relay.finish()
    if server is not None:
        server.stop()
    return abs(code)


def _check_semaphores() -> None:
    """Torch elastic makes one for each node, which is a file in /dev/shm. Raises CannotStart."""
    try:
        multiprocessing.get_context("fork").Lock()
    except OSError as error:
        me = socket.gethostname()
        raise CannotStart(
            SHM_UNUSABLE.finding(
                subject=Subject(kind="host", name=me),
                message=f"ranks on {me} cannot use /dev/shm: {error.strerror}",
                remedy=f"on {me}: mount -o remount,rw /dev/shm; in a container, mount a tmpfs there",
            )
        ) from error


def _listen(host: str, port: int) -> list[socket.socket]:
    try:
        return listeners.named(host, port)
    except OSError as error:
        me = socket.gethostname()
        raise CannotStart(
            PORT_IN_USE.finding(
                subject=Subject(kind="host", name=me),
                message=f"node 0 ({me}) cannot listen on port {port}: {os.strerror(error.errno or 0)}",
                remedy="choose another port in --rdzv-endpoint or stop the process that uses it: "
                f"ss -ltnp 'sport = :{port}'",
            )
        ) from error


def _serve(listening: Sequence[socket.socket], job: Job, channel: Channel) -> Server:
    """Serve the bus. `channel` leads to our own runner."""
    if not job.secret and listeners.is_open_to_others(listening):
        channel.report(strangers.unprotected(*listeners.own_way(listening), not job.node_ranks))
    server = Server(listening, rendezvous.secret_of(job), channel.refused)
    server.start()
    return server
