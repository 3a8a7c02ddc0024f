"""Other hosts, asked again and again over commands that go on: starting Python costs more than a look."""

import contextlib
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from nccltool.attach.look.order import LookAnswer, LookOrder
from nccltool.attach.reach.answers import LONGEST_LINE, AnswerReader
from nccltool.attach.reach.asking import FarCommand, end_all
from nccltool.attach.seen.job import Unread

_END_S = 1.0


@dataclass(slots=True)
class _FarEnd:
    """One command, and the lines that it has written."""

    command: FarCommand
    process: "subprocess.Popen[bytes] | None" = None
    lines: "queue.SimpleQueue[bytes | None]" = field(default_factory=queue.SimpleQueue)
    """None = it has ended."""
    reader: threading.Thread = field(default_factory=threading.Thread)

    def send(self, data: bytes) -> str:
        """Why it could not be asked; empty = it was."""
        try:
            if self.process is None or self.process.poll() is not None:
                self._start()
            assert self.process is not None
            assert self.process.stdin is not None
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except OSError as error:
            code = self.end()
            return f"{self.command.argv[0]}: {error.strerror}" if code is None else f"exit code {code}"
        return ""

    def _start(self) -> None:
        self.end()
        self.lines = queue.SimpleQueue()
        self.process = subprocess.Popen(
            self.command.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us
        )
        self.reader = threading.Thread(target=_read, args=(self.process, self.lines), daemon=True)
        self.reader.start()

    def answers(self, until_s: float) -> tuple[list[LookAnswer], str]:
        """What it says until then, and why that is not all."""
        found: list[LookAnswer] = []
        reader = AnswerReader()
        while len(found) < self.command.hosts:
            try:
                line = self.lines.get(timeout=max(0.0, until_s - time.monotonic()))
                answer = None if line is None else reader.answer_of(line)
            except queue.Empty:
                self.end()  # a late answer would be taken for one to the next question
                return found, "no answer in time"
            except ValueError as error:
                self.end()
                return found, f"its answer is damaged: {error}"
            if line is None:
                return found, f"exit code {self.end()}"
            if answer is not None:
                found.append(answer)
        return found, ""

    def hang_up(self) -> None:
        """It ends when it reads no more orders."""
        with contextlib.suppress(OSError):
            if self.process is not None and self.process.stdin:
                self.process.stdin.close()

    def end(self, within_s: float = _END_S) -> int | None:
        """Its exit code."""
        if self.process is None:
            return None
        self.hang_up()
        process, self.process = self.process, None
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            end_all(process)
            process.wait()
        self.reader.join(_END_S)
        return process.returncode


def _read(process: "subprocess.Popen[bytes]", lines: "queue.SimpleQueue[bytes | None]") -> None:
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError), process.stdout as out:
        while line := out.readline(LONGEST_LINE):
            lines.put(line)
    lines.put(None)


class Conversation:
    """All hosts of a job."""

    def __init__(self, commands: Sequence[FarCommand]) -> None:
        self._ends = [_FarEnd(command) for command in commands]

    def ask(self, order: LookOrder, timeout_s: float) -> tuple[tuple[LookAnswer, ...], tuple[Unread, ...]]:
        """The answers of all hosts, and those that gave none."""
        until_s = time.monotonic() + timeout_s
        refused = {
            one.command.name: why for one in self._ends if (why := one.send(one.command.encoded(order) + b"\n"))
        }
        answers: list[LookAnswer] = []
        unread: list[Unread] = []
        for one in self._ends:
            found, why = ([], refused[one.command.name]) if one.command.name in refused else one.answers(until_s)
            answers += found
            if why:
                name, remedy = one.command.name, one.command.remedy
                unread.append(Unread(what=name, reason=why, missing=remedy, host=name))
        return tuple(answers), tuple(unread)

    def end(self) -> None:
        for one in self._ends:
            one.hang_up()
        until_s = time.monotonic() + _END_S
        for one in self._ends:
            one.end(max(0.0, until_s - time.monotonic()))
