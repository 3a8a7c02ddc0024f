"""The supervisor of one rank: starts its process, carries its log, and says how far it is and how it ended.

It does nothing else, so it can still speak when the rank is stopped, stuck inside a library, or dead.
"""

import faulthandler
import os
import select
import signal
import socket
import time
from functools import partial

from nccltool.core import processes
from nccltool.core.text import LineCutter
from nccltool.launch import events, stopped
from nccltool.launch.inside import RankPlace
from nccltool.launch.job import Job
from nccltool.worker.channel import Channel
from nccltool.worker.node.data_flow import DataFlow
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank import life

BEAT_S = 1.0
KEEP_ALIVE_BEATS = 5
"""A beat without news is sent only this often, or four times in the time-out where that is short."""
STACK_AT = 0.5
"""Share of the time that it may stand still after which a rank is asked where it is."""
_TEXT = 2000
_WAKE_S = 0.2
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


def supervise(
    job: Job, place: RankPlace, channel: Channel, agent: int | None = None, watchdog: int | None = None
) -> int:
    """Run a rank in a child process until it ends; its exit code, or minus the signal's number.

    `agent`: the process that may end us; None = any may, as launchers do that have daemons of their own.
    `watchdog`: the process that passes on to this node what the runner says; we tell when it is stopped.
    """
    # not handlers: only who waits for a signal learns who sent it
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    code = _Watch(job, place, channel, agent, watchdog).until_exit()
    _can_be_ended()
    return code


def _can_be_ended() -> None:
    """Elastic keeps us until its other supervisors are done; where one of them was killed it ends us, and waits
    half a minute for that before anybody hears of it. What came until now was for the rank."""
    while signal.sigtimedwait(_ENDING, 0):
        pass
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def _take_over(log_fd: int, stack_fd: int) -> None:
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    processes.write_lines_at_once()
    # elastic's agent installed Python handlers, which a rank inside a library call would never run
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    faulthandler.register(signal.SIGUSR1, file=stack_fd, all_threads=False)


class _Watch:
    """Starts one rank, and looks after it until it ends."""

    def __init__(
        self, job: Job, place: RankPlace, channel: Channel, agent: int | None, watchdog: int | None
    ) -> None:
        self._job, self._place, self._channel, self._slot = job, place, channel, ProgressPage()
        self._agent = agent
        self._above = stopped.Watch(partial(stopped.of_watchdog, watchdog)) if watchdog is not None else None
        (log_read, log_write), (stack_read, stack_write) = os.pipe(), os.pipe()

        def be_the_rank() -> int:
            os.close(log_read)
            os.close(stack_read)
            _take_over(log_write, stack_write)
            return life.main(job, place, self._slot, channel)

        self._pid = processes.forked(be_the_rank)
        os.close(log_write)
        os.close(stack_write)
        self._log, self._stack = _Pipe(log_read), _Pipe(stack_read)
        self._flow = DataFlow(self._pid)
        self._beats = 0
        self._seen: tuple[object, str] | None = None
        self._still_since = time.monotonic()
        self._asked = False
        self._told = False
        self._ended_by = ""

    def until_exit(self) -> int:
        rank, node_rank, host = self._place.rank, self._place.node_rank, socket.gethostname()
        self._channel.emit(events.Spawned(rank=rank, node_rank=node_rank, host=host, pid=self._pid))
        poll = select.poll()
        poll.register(self._log.fd, select.POLLIN)
        next_beat = time.monotonic()  # at once: a rank that starts slowly says so on its page
        while True:
            if poll.poll(_WAKE_S * 1000) and not self._forward_log():
                poll.unregister(self._log.fd)  # end of file: the rank is gone, or closed its output
            gone, status = os.waitpid(self._pid, os.WNOHANG)
            if gone:
                return self._ended(os.waitstatus_to_exitcode(status))
            if came := signal.sigtimedwait(_ENDING, 0):
                self._end(came)
            self._forward_stack()
            if time.monotonic() >= next_beat:
                next_beat += BEAT_S
                self._beat()

    def _end(self, came: signal.struct_siginfo) -> None:
        """Elastic ends all ranks of a node when one has failed; how each of them ended must still be said."""
        if os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return  # it has ended by itself, perhaps as the first
        if self._agent in (None, came.si_pid):
            self._told = True
        else:
            sender = processes.name(came.si_pid)
            self._ended_by = f"{signal.Signals(came.si_signo).name} from process {came.si_pid} ({sender})"
        os.kill(self._pid, signal.SIGTERM)  # SIGINT it would not hear

    def _forward_log(self) -> bool:
        lines = self._log.lines()
        for line in lines or ():
            self._channel.emit(events.Log(rank=self._place.rank, text=line))
        return lines is not None

    def _beat(self) -> None:
        where, state = (*self._slot.read(), self._slot.allowance_s()), processes.state(self._pid)
        now, patience_s = time.monotonic(), self._job.timeout_s + where[-1]
        if self._seen is None or where != self._seen[0]:
            self._still_since, self._asked = now, False
            self._flow.forget()
        elif not self._asked and now - self._still_since > STACK_AT * patience_s:
            self._asked = True
            os.kill(self._pid, signal.SIGUSR1)
        if self._above is not None and (found := self._above.changed(now)) is not None:
            node, host = self._place.node_rank, socket.gethostname()
            self._channel.emit(events.Stopped(node=node, host=host, processes=found, watcher="supervisor"))
        is_waiting = (where, state) == self._seen and where[2] % 2 == 1 and state not in processes.STOPPED
        flowed = is_waiting and not self._job.emulated and self._flow.has_flowed()
        self._beats += 1
        every = max(1, min(KEEP_ALIVE_BEATS, int(self._job.timeout_s / 4 / BEAT_S)))
        if (where, state) != self._seen or flowed or self._beats % every == 0:
            self._emit_beat(state, flowed)
        self._seen = (where, state)

    def _emit_beat(self, state: str, flowed: bool = False) -> None:
        phase, step, calls = self._slot.read()
        self._channel.emit(
            events.Beat(
                rank=self._place.rank,
                phase=phase,
                step=step,
                calls=calls,
                state=state,
                allowance_s=self._slot.allowance_s(),
                flowed=flowed,
            )
        )

    def _forward_stack(self) -> None:
        text = "\n".join(self._stack.lines() or ())
        if text:
            self._channel.emit(events.Stack(rank=self._place.rank, text=text[:_TEXT]))

    def _ended(self, code: int) -> int:
        while self._forward_log() and select.select([self._log.fd], [], [], 0)[0]:
            pass  # up to the end of the file, or to a grandchild that holds it open
        self._emit_beat("X")  # its last position outlives it in the shared page
        self._channel.emit(
            events.Exited(rank=self._place.rank, code=code, told=self._told, ended_by=self._ended_by)
        )
        return code


class _Pipe:
    """Lines out of a pipe, without waiting for them; long ones are cut into pieces that fit an event."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._buffer = LineCutter(longest=_TEXT)
        os.set_blocking(fd, False)

    def lines(self) -> list[str] | None:
        """The complete lines that are there now; None at the end of the file."""
        try:
            chunk = os.read(self.fd, 65536)
        except BlockingIOError:
            return []
        lines = self._buffer.take(chunk) if chunk else self._buffer.end()
        if not chunk and not lines:
            return None
        texts = [line.decode(errors="replace") for line in lines]
        return [text[i : i + _TEXT] for text in texts for i in range(0, max(len(text), 1), _TEXT)]
