"""A session with the node processes of a launch: they are started, given the job, heard, instructed, and ended.

Nothing outlives it: every process is in a session of its own that is killed at the end.
"""

import os
import resource
import selectors
import signal
import time
from collections.abc import Callable, Iterator

import msgspec

from nccltool.core import processes
from nccltool.launch import instructions
from nccltool.launch.events import Event
from nccltool.launch.instructions import Instruction
from nccltool.launch.job import Job
from nccltool.launch.launchers.base import Command, Launch
from nccltool.launch.node_process import LineStream, NodeProcess

ALIVE_S = 5.0
"""How often remote nodes hear of us; they end when they do not."""
_TICK_S = 0.2
_PIPES = 3
_OTHER_FILES = 64


class Session:
    """All node processes of a launch."""

    def __init__(self, launch: Launch, scratch: str = "") -> None:
        processes.adopt_orphans()
        self.launch = launch
        # torch and elastic leave files where temporary files go, most of all when ranks die
        self._env = processes.package_environment({**os.environ, "TMPDIR": scratch})
        self._selector = selectors.DefaultSelector()
        self.processes: list[NodeProcess] = []
        self.announcer: NodeProcess | None = None
        """The one that has said that its nodes are being ended, while it still ran."""
        self._ended: set[int] = set()
        self._told_at = time.monotonic()

    def start(self, job: Job) -> None:
        """Start every command, and give each its job."""
        jobs = self.launch.jobs(job)
        _allow_files(len(jobs) * _PIPES + _OTHER_FILES)
        for number, (command, its_job) in enumerate(zip(self.launch.commands, jobs, strict=True)):
            process = NodeProcess(number, command.argv, self._env)
            self.processes.append(process)
            process.tell(msgspec.json.encode(its_job) + b"\n")
            for stream in process.streams(self.launch.unwrapper() if self.launch.unwrapper else None):
                self._selector.register(stream.pipe, selectors.EVENT_READ, stream)

    def command(self, process: NodeProcess) -> Command:
        """What was started."""
        return self.launch.commands[process.number]

    @property
    def speaking(self) -> bool:
        """Whether any pipe is open."""
        return bool(self._selector.get_map())

    def listen(self, decode: Callable[[bytes], Event | None]) -> Iterator[tuple[NodeProcess, bytes, Event | None]]:
        """(process, line, its event) of what comes within a tick. A line without one is kept as evidence."""
        for process in self.processes:
            process.tell_rest()
        for key, _ in self._selector.select(_TICK_S):
            stream: LineStream = key.data
            lines = stream.lines()
            if lines is None:
                self._selector.unregister(key.fileobj)
                stream.process.open_pipes -= 1
                continue
            for line in lines:
                event = decode(line) if stream.is_events else None
                if event is None:
                    self._hear(stream, line.decode(errors="replace"))
                yield stream.process, line, event

    def _hear(self, stream: LineStream, text: str) -> None:
        announces = not stream.is_events and self.launch.announces_end(text)
        stream.process.hear(text, is_telling=announces)
        if announces:
            self.announcer = stream.process

    def newly_ended(self) -> Iterator[NodeProcess]:
        """Those that have ended and were not named before."""
        for process in self.processes:
            if not process.open_pipes and process.number not in self._ended:
                self._ended.add(process.number)
                yield process

    def tell(self, instruction: Instruction) -> None:
        """Tell each process what of an instruction is for its nodes."""
        for process in self.processes:
            process.tell(instructions.encode(instructions.for_nodes(instruction, self.command(process).nodes)))
        self._told_at = time.monotonic()

    def keep_alive(self) -> None:
        """Let remote nodes know that we are there, when it is time."""
        if self.launch.remote and time.monotonic() - self._told_at > ALIVE_S:
            self.tell(instructions.Alive())

    def end(self) -> None:
        """End every process. A scheduler's command must hear of it to end what it has started elsewhere."""
        started = [process.process for process in self.processes]
        processes.end_all(started, signal.SIGTERM, self.launch.ends_by_sigterm_s)
        for process in self.processes:
            process.close()
        self._selector.close()


def _allow_files(wanted: int) -> None:
    """Many systems allow 1024 open files, and more to those who ask: each command has three pipes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
