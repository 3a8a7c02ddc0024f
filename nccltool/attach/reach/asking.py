"""Runs the commands that look at other hosts: all at once, each with a deadline and a bound on what it may say."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import msgspec

from nccltool.attach.look.order import LookAnswer, LookOrder
from nccltool.attach.reach.answers import AnswerReader
from nccltool.attach.seen.job import Unread

_AT_ONCE = 64
_LARGEST = 256 << 20
"""Bytes of one command: a rank takes about 20 KB."""
_LONGEST_REASON = 200
_END_S = 1.0
"""For a command that was killed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FarCommand:
    """A command whose far end looks at one host, or at each of several."""

    argv: tuple[str, ...]
    name: str
    """For people: the host, or `job 4711`."""
    hosts: int = 1
    """Answers that it should give."""
    remedy: str = ""
    slurm_job: str = ""
    """Its far ends look at ranks of this Slurm job only."""
    is_optional: bool = False
    """It may have no rank: then it is not missed."""

    def encoded(self, order: LookOrder) -> bytes:
        """The order, as its far ends get it."""
        return msgspec.json.encode(replace(order, slurm_job=self.slurm_job))


def ask(
    commands: Sequence[FarCommand], order: LookOrder, timeout_s: float
) -> tuple[tuple[LookAnswer, ...], tuple[Unread, ...]]:
    """The answers of all hosts, and those hosts that gave none."""
    running: set[subprocess.Popen[bytes]] = set()
    pool = ThreadPoolExecutor(max(1, min(_AT_ONCE, len(commands))))
    waiting = [pool.submit(_asked, one, one.encoded(order), timeout_s, running) for one in commands]
    try:
        found = [one.result() for one in waiting]
    except BaseException:  # interrupted: without this, the pool waits for all hosts
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list(running):
            end_all(process)
        raise
    pool.shutdown()
    both = list(zip(commands, found, strict=True))
    answers = tuple(
        answer
        for command, (given, _) in both
        for answer in given
        if answer.look is not None or answer.is_ambiguous or not command.is_optional
    )
    lost = (unread for command, (_, unread) in both if not command.is_optional)
    return answers, tuple(unread for unread in lost if unread is not None)


def _asked(
    command: FarCommand, data: bytes, timeout_s: float, running: set[subprocess.Popen[bytes]]
) -> tuple[list[LookAnswer], Unread | None]:
    try:
        started = subprocess.Popen(
            command.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # what it starts, such as a proxy, ends with it
        )
    except OSError as error:
        return [], _miss(command, f"{command.argv[0]} cannot be started: {error.strerror}")
    running.add(started)
    out, err, late = _said(started, data, timeout_s)
    running.discard(started)
    return _answers(command, out[:_LARGEST], err.decode(errors="replace"), started.returncode, late, timeout_s)


def _said(started: subprocess.Popen[bytes], data: bytes, timeout_s: float) -> tuple[bytes, bytes, bool]:
    """What it wrote, and whether it was late. Something that it left behind may hold its pipes open."""
    try:
        return (*started.communicate(data, timeout_s), False)
    except subprocess.TimeoutExpired:
        end_all(started)
    try:
        return (*started.communicate(timeout=_END_S), True)
    except subprocess.TimeoutExpired as late:
        for stream in (started.stdin, started.stdout, started.stderr):
            if stream is not None:
                stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(_END_S)
        return late.output or b"", late.stderr or b"", True


def end_all(process: subprocess.Popen[bytes]) -> None:
    """The command, and what it started."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def _answers(
    command: FarCommand, out: bytes, err: str, code: int, late: bool, timeout_s: float
) -> tuple[list[LookAnswer], Unread | None]:
    try:
        found = list(_read(out))
    except ValueError as error:
        return [], _miss(command, f"its answer is damaged: {error}")
    if len(found) >= command.hosts:
        return found, None
    said = [line.strip() for line in err.splitlines() if line.strip()]
    ended = f"no answer within {timeout_s:g} s" if late else f"exit code {code}"
    reason = f"{said[-1][:_LONGEST_REASON]} ({ended})" if said else ended
    if found:
        reason = f"{command.hosts - len(found)} of {command.hosts} hosts did not answer: {reason}"
    return found, _miss(command, reason)


def _read(out: bytes) -> Iterator[LookAnswer]:
    reader = AnswerReader()
    for line in out.split(b"\n"):
        if (found := reader.answer_of(line)) is not None:
            yield found


def _miss(command: FarCommand, reason: str) -> Unread:
    return Unread(what=command.name, reason=reason, missing=command.remedy, host=command.name)
