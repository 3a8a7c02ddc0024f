"""Carries out trials of the chaos bench: starts the command, hits the target at its moment, sees what comes."""

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT
from typing import Any

from benchmarks import chaos_processes
from benchmarks.chaos_places import Local, OverSsh, Place
from benchmarks.chaos_trials import Act, Phase, Scene, Target, Trial
from benchmarks.chaos_truth import Outcome
from tests.support.commands import Command, until

LIMIT_S = 180.0
"""A command that has not ended by then hangs: the longest allowance of a run is 120 s."""
LEFT_S = 30.0
_LOOK_S = 0.01
_CALIBRATIONS = 3


@dataclass(frozen=True, slots=True)
class Course:
    """Where an undisturbed run gets: in seconds from its start, and in events."""

    world_s: float
    """All ranks have met."""
    bye_s: float
    """The first rank is done."""
    end_s: float
    world_events: int
    bye_events: int
    """How many events come before."""

    def begins(self, trial: Trial, events: Sequence[str]) -> bool:
        """Whether it is time for what a trial waits for. Measuring is waited for by events: its duration depends
        on what else the machine does."""
        is_ending = any(_BYE in line for line in events)
        match trial.phase:
            case Phase.MEASURING:
                most = self.world_events + trial.share * (self.bye_events - self.world_events)
                return is_ending or len(events) > most
            case Phase.ENDING:
                return is_ending
        return True

    def then_s(self, trial: Trial) -> float:
        """How long to wait then."""
        match trial.phase:
            case Phase.START:
                return trial.share * self.world_s
            case Phase.MEASURING:
                return trial.jitter_s
            case Phase.ENDING:
                return trial.share * (self.end_s - self.bye_s)
        return trial.share * self.end_s


_WORLD, _BYE = '"event":"world"', '"event":"bye"'


class Stage:
    """Runs trials, and remembers how undisturbed runs went."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stack = folder, ExitStack()
        self._local = Local()
        self._by_ssh: OverSsh | None = None
        self._courses: dict[Scene, Course] = {}
        self._count = 0

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def place(self, scene: Scene) -> Place:
        """Where a scene plays; hosts are made when they are needed."""
        if not scene.is_ssh:
            return self._local
        if self._by_ssh is None:
            self._by_ssh = OverSsh(self._folder, self._stack)
        return self._by_ssh

    def run(self, trial: Trial) -> tuple[Outcome, Path]:
        """What came of a trial, and the folder in which it lies."""
        place = self.place(trial.scene)
        course = self._courses.get(trial.scene) or self._learn(trial.scene, place)
        folder = self._new_folder()
        with place.started(trial.scene, folder) as command:
            return _Disturbed(command, trial, place).outcome(course), folder

    def _learn(self, scene: Scene, place: Place) -> Course:
        """The course of an undisturbed run. On a busy machine one may be judged late, and is tried again."""
        for _ in range(_CALIBRATIONS):
            folder = self._new_folder()
            with place.started(scene, folder) as command:
                course = _course(command)
            said = "".join((folder / name).read_text() for name in ("stdout", "stderr"))
            shutil.rmtree(folder)
            if course:
                self._courses[scene] = course
                return course
        raise RuntimeError(f"{scene} does not pass when nobody disturbs it:\n{said}")

    def _new_folder(self) -> Path:
        self._count += 1
        return self._folder / str(self._count)


def _course(command: Command) -> Course | None:
    """Where it got when; None = it did not pass."""
    began = time.monotonic()
    world_s, bye_s = (_reached(command, _comes(word)) - began for word in (_WORLD, _BYE))
    code = command.process.wait(LIMIT_S)
    end_s, events = time.monotonic() - began, _events(command)
    world, bye = (next((n for n, line in enumerate(events) if word in line), None) for word in (_WORLD, _BYE))
    if code or world is None or bye is None:
        return None
    return Course(world_s, bye_s, end_s, world, bye)


def _reached(command: Command, is_it: Callable[[Sequence[str]], bool]) -> float:
    """When the events of a run were as wanted, or the command had ended."""
    until(lambda: is_it(_events(command)) or command.process.poll() is not None, LIMIT_S)
    return time.monotonic()


def _events(command: Command) -> list[str]:
    files = sorted(command.runs.rglob("events.jsonl"), key=lambda file: file.stat().st_mtime)
    return [line for file in files for line in file.read_text().splitlines()]


def _comes(word: str) -> Callable[[Sequence[str]], bool]:
    return lambda events: any(word in line for line in events)


@dataclass(frozen=True, slots=True)
class _Disturbed:
    """A running command, and what is to happen to it."""

    command: Command
    trial: Trial
    place: Place

    def outcome(self, course: Course) -> Outcome:
        """Hit the target at its moment, and wait for the end."""
        is_network = self.trial.target is Target.NETWORK
        pid = None
        if self.trial.phase in (Phase.MEASURING, Phase.ENDING) and not is_network:
            _reached(self.command, _comes(_WORLD))
            pid = self._found()  # before its moment, which would be over when it is found
        began = _reached(self.command, lambda events: course.begins(self.trial, events))
        time.sleep(max(began + course.then_s(self.trial) - time.monotonic(), 0.0))
        try:
            return self._seen(self._cut() if is_network else self._hit(pid))
        finally:
            self.place.reconnect(self.trial)

    def _seen(self, hit_at: float | None) -> Outcome:
        over = until(self._is_over, LIMIT_S)
        seconds = time.monotonic() - hit_at if hit_at else 0.0
        until(lambda: not self._remains(), LEFT_S)
        return Outcome(
            was_hit=hit_at is not None,
            code=self.command.process.returncode if over else None,
            document=_document((self.command.folder / "stdout").read_text()),
            torn=_torn(self.command.runs),
            left=self._remains(),
            seconds=seconds,
        )

    def _is_over(self) -> bool:
        return self.command.process.poll() is not None

    def _cut(self) -> float | None:
        """Disturb the network; when that was, None when the command had ended before."""
        if self._is_over():
            return None
        hit_at = time.monotonic()
        self.place.disturb(self.trial)
        if self.trial.act is Act.FLAP:
            until(self._is_over, self.trial.hold_s)
            self.place.reconnect(self.trial)
        return hit_at

    def _hit(self, known: int | None) -> float | None:
        """Hit the target; when that was, None when it, or the command, had ended before."""
        pid = known or self._found()
        if pid is None or self._is_over():
            return None
        hit_at = time.monotonic() if chaos_processes.send(pid, self.trial.act.signal) else None
        if self.trial.act is Act.PAUSE:
            until(self._is_over, self.trial.hold_s)
            if pid in (self.command.process.pid, *self.command.living()):
                chaos_processes.send(pid, SIGCONT)
        return hit_at

    def _found(self) -> int | None:
        """Wait until the target is there; None when the command ended before."""
        previous = None
        while not self._is_over():
            pid = self._target()
            # a fork that is about to become another program is no agent
            if pid is not None and (pid == previous or self.trial.target is Target.RUNNER) and self._is_it(pid):
                return pid
            previous = pid
            time.sleep(_LOOK_S)
        return None

    def _is_it(self, pid: int) -> bool:
        return self.trial.target is not Target.AGENT or chaos_processes.is_forked_for_ranks(pid)

    def _target(self) -> int | None:
        runner = self.command.process.pid
        processes = chaos_processes.look(self.command.living())
        if all(one.parent != runner for one in processes):
            return None  # before its first fork it has not yet taken over what signals do
        return chaos_processes.find(self.trial, runner, processes, self.place.networks(self.trial.scene))

    def _remains(self) -> tuple[str, ...]:
        command = self.command
        pids = [pid for pid in command.living() if pid != command.process.pid]
        files = (file for folder in self.place.temporary(command.folder) for file in folder.glob("*"))
        processes = (f"{one.pid} {' '.join(one.words)[:60]}" for one in chaos_processes.look(pids))
        return (*processes, *map(str, files))


def _document(text: str) -> Mapping[str, Any] | None:
    try:
        document = json.loads(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) and "exit_code" in document else None


def _torn(runs: Path) -> tuple[str, ...]:
    files = [*runs.rglob("run.json"), *runs.rglob("job.json")]
    return tuple(str(file.relative_to(runs)) for file in files if not _reads(file.read_text()))


def _reads(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
