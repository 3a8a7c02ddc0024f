"""A node process on another host: a small one that meets the other nodes while its child imports torch.

It is a watchdog: when the runner's end of standard input closes, or the runner is not heard any more (the
connection is lost, its host is down), everything on this host ends and scratch folders are removed.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import FrameType

from nccltool import __version__
from nccltool.core import processes, scratch, signals
from nccltool.core.text import LineCutter
from nccltool.hosts import gpu, reader
from nccltool.hosts.facts import or_none
from nccltool.hosts.sources import net, tcp_table
from nccltool.launch import events, fact_pieces, inside, instructions, stopped, torch_needed
from nccltool.launch.job import Job
from nccltool.worker.bus.seal import RunSecret
from nccltool.worker.bus.server import Server
from nccltool.worker.channel import Channel
from nccltool.worker.node import calls, listeners

RUNNER_SILENT_S = 20.0
"""How long the runner may be silent; it speaks every five seconds."""
FACTS_S = 3.0
"""A host whose file systems hang still takes part in the run that it is looked at for."""
_TICK_S = 0.1
HEARD_OUT_S = 10.0
"""After ranks have failed, how long the runner may take to ask for the calls that tell a broken path from them; it
waits for what they say for 5 s (nccltool.launch.runner)."""
_GONE_S = 5.0
"""How long to wait for killed processes to disappear; one in a driver call may take longer."""
_GO_S = 600.0
"""How long the node waits for Go at most; the watchdog ends it earlier when the runner is gone."""

NodeMain = Callable[[Job, Sequence[socket.socket], int, int], int]
"""(job, listeners of the store where it is served, where instructions come from, where events go) -> exit code."""


def main(job: Job, in_fd: int, out_fd: int, load: Callable[[], NodeMain]) -> int:
    """Run the part of this host; the exit code. `load` imports torch."""
    number = _enter(job)
    with scratch.folder() as folder, scratch.name_in(job.large_files_in) as large_files:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        here = replace(job, scratch=folder, large_files=large_files)
        return _take_part(here, number, in_fd, out_fd, load)


def _take_part(job: Job, number: int, in_fd: int, out_fd: int, load: Callable[[], NodeMain]) -> int:
    of_store, problem = _listen(job.endpoint)
    of_data, _ = _listen("")
    processes.adopt_orphans()
    read_fd, write_fd = os.pipe()
    missing = () if job.kind == "reach" else torch_needed.missing()

    def be_the_node() -> int:
        os.close(write_fd)
        for one in of_data:
            one.close()
        return _be_the_node(job, number, of_store, read_fd, out_fd, None if missing else load)

    child = processes.forked(be_the_node)
    os.close(read_fd)
    channel, greeters = Channel(out_fd, None), list[Server]()
    secret = RunSecret(bytes.fromhex(job.secret), job.run_id)
    try:
        for end in signals.ENDING:  # what a scheduler or a login may send
            signal.signal(end, _leave)
        greeters = [calls.answering(one, secret, number, channel.refused) for one in (of_store, of_data)]
        for greeter in greeters:
            greeter.start()
        port, data_port = _port(of_store), _port(of_data)
        channel.emit(_node(number, port, data_port, problem, missing))
        watchdog = _Watchdog(secret, number, child, in_fd, write_fd, channel, greeters[0], data_port)
        if job.leave_s:
            signal.signal(signal.SIGTERM, watchdog.leave)
        return watchdog.until_end()
    finally:
        _ignore_signals()
        _end()
        for greeter in greeters:
            greeter.stop()


def _enter(job: Job) -> int:
    """Take the variables that are sent here; the number of this node."""
    os.environ.update(job.env)
    return int(os.environ[job.node_variable]) if job.node_variable else job.node_ranks[0]


def tell_facts(job: Job, out_fd: int) -> int:
    """Send what a job of kind `facts` asks for; the exit code."""
    send_facts(_enter(job), Channel(out_fd, None))
    return 0


def send_facts(node: int, channel: Channel) -> None:
    """Look at this host, and tell the runner, in pieces. Torch is not needed."""
    channel.emit(*fact_pieces.pieces(node, reader.take(seconds=FACTS_S)))


def _leave(number: int, frame: FrameType | None) -> None:
    _ignore_signals()
    sys.exit(128 + number)


def _ignore_signals() -> None:
    """Schedulers repeat theirs; cleaning up must not be left halfway."""
    for end in signals.ENDING:
        signal.signal(end, signal.SIG_IGN)


def _end() -> None:
    """Kill our children, then theirs, which become ours, and wait for all: the kernel ends what asked it to, and
    libraries may have started something else."""
    end = time.monotonic() + _GONE_S
    with contextlib.suppress(ChildProcessError):  # when nothing is left
        while time.monotonic() < end:
            for pid in processes.children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)


def _node(number: int, port: int, data_port: int, problem: str, missing: tuple[str, ...]) -> events.Node:
    return events.Node(
        node=number,
        host=socket.gethostname(),
        host_id=net.host_id(),
        nccltool=__version__,
        gpus=or_none(gpu.count()),
        addresses=net.outward_addresses(),
        port=port,
        data_port=data_port,
        problem=problem,
        python=sys.executable,
        missing=missing,
    )


def _listen(endpoint: str) -> tuple[list[socket.socket], str]:
    """Listeners where the endpoint says, else at any port; or why there are none."""
    host, port = inside.parse_endpoint(endpoint) if endpoint else ("", 0)
    try:
        return (listeners.named(host, port) if host else listeners.outward(port)), ""
    except OSError as error:
        return [], f"cannot listen on port {port}: {os.strerror(error.errno or 0)}"


def _port(listening: Sequence[socket.socket]) -> int:
    return listeners.own_way(listening)[1] if listening else 0


def _be_the_node(
    job: Job,
    number: int,
    of_store: Sequence[socket.socket],
    in_fd: int,
    out_fd: int,
    load: Callable[[], NodeMain] | None,
) -> int:
    """The child: torch is imported while the nodes meet; then it waits for Go. Without `load` it takes no part."""
    send_facts(number, Channel(out_fd, None))
    node_main = load() if load else None
    try:
        line = Channel(out_fd, in_fd).wait_for_line(_GO_S)
    except EOFError:  # the watchdog is gone
        return 1
    go = instructions.decode(line or "")
    assert isinstance(go, instructions.Go)
    if node_main is None or number not in go.places:
        return 0
    rank, endpoint = go.places[number]
    placed = replace(job, nodes=go.nodes, nproc_per_node=go.nproc_per_node, node_ranks=(rank,), endpoint=endpoint)
    if rank == 0:
        return node_main(placed, listeners.narrowed(of_store, go.served_at), in_fd, out_fd)
    for one in of_store:
        one.close()
    return node_main(placed, (), in_fd, out_fd)


@dataclass(slots=True)
class _Watchdog:
    """Takes the runner's instructions, answers or passes them on, and watches both ends."""

    secret: RunSecret
    number: int
    child: int
    in_fd: int
    child_fd: int
    channel: Channel
    greeter: Server
    """Where the store would listen, which is the child's from Go on."""
    data_port: int
    """Any other port; others may call again at any time."""
    rank: int | None = None
    cutter: LineCutter = field(default_factory=LineCutter)
    heard_at: float = field(default_factory=time.monotonic)
    watch: stopped.Watch = field(init=False)
    asked_at: float = 0.0
    """When the runner last had us call the others again."""

    def __post_init__(self) -> None:
        self.watch = stopped.Watch(partial(stopped.of_node, self.child, has_agents=True))

    def until_end(self) -> int:
        """Until the child has ended, or the runner is gone; the exit code."""
        while not os.waitid(os.P_PID, self.child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if not self._turn():
                return 1
            if (found := self.watch.changed(time.monotonic())) is not None:
                self.channel.emit(events.Stopped(node=self.number, host=socket.gethostname(), processes=found))
            if time.monotonic() - self.heard_at > RUNNER_SILENT_S:
                sys.stderr.write(
                    f"no contact with the runner for {RUNNER_SILENT_S:.0f} s: ending everything here\n"
                )
                return 1
        code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        if code < 0 and self.rank is not None:
            self.channel.emit(events.AgentKilled(node_rank=self.rank, host=socket.gethostname(), code=code))
        elif code and self.rank is not None:
            self._hear_out()
        return abs(code)

    def leave(self, number: int, frame: FrameType | None) -> None:
        """At SIGTERM: ranks that were started have time to leave. It is passed on, and we end when they have."""
        if self.rank is None:
            _leave(number, frame)
        self._pass_on_sigterm()

    def _pass_on_sigterm(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child, signal.SIGTERM)

    def _hear_out(self) -> None:
        """Ranks have failed, perhaps for the network: the runner may want to know who still reaches whom."""
        ended_at = time.monotonic()
        while time.monotonic() < max(ended_at, self.asked_at) + HEARD_OUT_S and self._turn():
            pass

    def _turn(self) -> bool:
        """One look at everything; False when the runner is gone."""
        ready, _, _ = select.select([self.in_fd], [], [], _TICK_S)
        return not ready or self._read()

    def _read(self) -> bool:
        chunk = os.read(self.in_fd, 65536)
        for line in self.cutter.take(chunk):
            self.heard_at = time.monotonic()
            self._obey(line)
        return bool(chunk)

    def _obey(self, line: bytes) -> None:
        match instructions.decode(line):
            case instructions.Try() as attempt:
                for goal in attempt.goals.get(self.number, ()):
                    threading.Thread(target=self._try, args=(goal,), daemon=True).start()
                if isinstance(attempt, instructions.TryAgain):
                    self.asked_at = time.monotonic()
                    threading.Thread(target=self._tell_half_open, daemon=True).start()
            case instructions.Go() as go:
                self.rank = go.places.get(self.number, (None,))[0]
                self.greeter.stop()
                self._pass_on(instructions.encode(instructions.for_nodes(go, (self.number,))))
            case instructions.Saved() if self.rank == 0:  # nobody else reads it, and the pipe would become full
                self._pass_on(line + b"\n")
            case instructions.Leave():
                self._pass_on_sigterm()

    def _pass_on(self, line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has ended; that is seen in the next turn
            os.write(self.child_fd, line)

    def _try(self, goal: instructions.Goal) -> None:
        self.channel.emit(calls.tried(self.secret, self.number, goal))

    def _tell_half_open(self) -> None:
        time.sleep(calls.HALF_OPEN_S)
        callers = tcp_table.half_open(self.data_port)
        self.channel.emit(events.HalfOpen(node=self.number, callers=callers))
