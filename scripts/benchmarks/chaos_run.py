"""Carries out trials of the chaos bench: starts the command, hits the target at its moment, sees what comes."""

import json
import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT
from typing import Any

from benchmarks import chaos_processes
from benchmarks.chaos_trials import Act, Phase, Scene, Target, Trial
from benchmarks.chaos_truth import Outcome
from tests.support.commands import NCCLTOOL, Command, until

LIMIT_S = 180.0
"""A command that has not ended by then hangs: the longest allowance of a run is 120 s."""
LEFT_S = 30.0
_LOOK_S = 0.01
_SUITE = """\
schema = 1
title = "chaos"
about = "20 s"
[inventory]
[doctor]
select = ["PLG007"]
[across]
ops = ["all_reduce"]
sizes = ["64 KiB"]
"""
_WORDS = {
    "probe": ("--op", "all_reduce,broadcast", "--sizes", "1KiB,64KiB", "-n", "100"),
    "train": ("ddp", "--steps", "5", "--time-steps", "5"),
    "preflight": (),
}


@dataclass(frozen=True, slots=True)
class Course:
    """When an undisturbed run gets where, in seconds from its start."""

    world_s: float
    """All ranks have met."""
    bye_s: float
    """The first rank is done."""
    end_s: float

    def moment(self, phase: Phase, share: float) -> tuple[str, float]:
        """(event to wait for, seconds to wait then)."""
        match phase:
            case Phase.START:
                return "", share * self.world_s
            case Phase.MEASURING:
                return "world", share * (self.bye_s - self.world_s)
            case Phase.ENDING:
                return "bye", share * (self.end_s - self.bye_s)
        return "", share * self.end_s


class Local:
    """Commands whose nodes are emulated on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def hosts(self, scene: Scene) -> tuple[str, ...]:
        return (socket.gethostname(),) * scene.nodes

    def networks(self, scene: Scene) -> tuple[int, ...]:
        return (Path("/proc/self/ns/net").stat().st_ino,) * scene.nodes

    @contextmanager
    def started(self, scene: Scene, folder: Path) -> Iterator[Command]:
        """The command, in folders of its own."""
        shm = folder / "shm"
        shm.mkdir(parents=True)
        with Command(argv(scene, folder), folder, prefix=_own_shm(shm)) as command:
            yield command


def _own_shm(folder: Path) -> tuple[str, ...]:
    """A /dev/shm of its own, in which nothing of others lies, where that may be made."""
    if os.geteuid():
        return ()
    script = 'mount --bind "$0" /dev/shm && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", script, str(folder))


def argv(scene: Scene, folder: Path, *places: str) -> tuple[str, ...]:
    """The command of a scene."""
    words = _WORDS[scene.product]
    if scene.product == "preflight":
        suite = folder / "suite.toml"
        suite.write_text(_SUITE)
        words = ("--suite", str(suite))
    where = places or ("--nodes", str(scene.nodes))
    each = ("--nproc-per-node", str(scene.ranks), "--timeout", "4", "--format", "json", "-q")
    return (*NCCLTOOL, scene.product, *words, *where, *each)


class Stage:
    """Runs trials, and remembers how undisturbed runs went."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._local = folder, Local(folder)
        self._courses: dict[Scene, Course] = {}
        self._count = 0

    def hosts(self, scene: Scene) -> tuple[str, ...]:
        return self._local.hosts(scene)

    def run(self, trial: Trial) -> tuple[Outcome, Path]:
        """What came of a trial, and the folder in which it lies."""
        course = self._courses.get(trial.scene) or self._calibrated(trial.scene)
        folder = self._new_folder()
        with self._local.started(trial.scene, folder) as command:
            return _disturbed(command, trial, course, self._local.networks(trial.scene)), folder

    def _calibrated(self, scene: Scene) -> Course:
        folder = self._new_folder()
        with self._local.started(scene, folder) as command:
            began = time.monotonic()
            world_s, bye_s = (_reached(command, kind) - began for kind in ("world", "bye"))
            code = command.process.wait(LIMIT_S)
            course = Course(world_s, bye_s, time.monotonic() - began)
        if code:
            raise RuntimeError(
                f"{scene} ends with {code} when nobody disturbs it:\n{(folder / 'stderr').read_text()}"
            )
        shutil.rmtree(folder)
        self._courses[scene] = course
        return course

    def _new_folder(self) -> Path:
        self._count += 1
        return self._folder / str(self._count)


def _reached(command: Command, kind: str) -> float:
    """When the first event of a kind was there, or the command had ended."""
    until(lambda: command.process.poll() is not None or _has(command, kind), LIMIT_S)
    return time.monotonic()


def _has(command: Command, kind: str) -> bool:
    return any(f'"event":"{kind}"' in file.read_text() for file in command.runs.rglob("events.jsonl"))


def _disturbed(command: Command, trial: Trial, course: Course, networks: Sequence[int]) -> Outcome:
    began = time.monotonic()
    event, after_s = course.moment(trial.phase, trial.share)
    moment = (_reached(command, event) if event else began) + after_s
    time.sleep(max(moment - time.monotonic(), 0.0))
    was_hit = _hit(command, trial, networks)
    acted = time.monotonic()
    if was_hit and trial.act is Act.PAUSE:
        _resume(command, trial.hold_s, was_hit)
    over = until(lambda: command.process.poll() is not None, LIMIT_S)
    seconds = time.monotonic() - acted
    document = _document((command.folder / "stdout").read_text())
    return Outcome(
        was_hit=was_hit is not None,
        code=command.process.returncode if over else None,
        document=document,
        torn=_torn(command.runs),
        left=_left(command),
        seconds=seconds,
    )


def _hit(command: Command, trial: Trial, networks: Sequence[int]) -> int | None:
    """Wait until the target is there; its pid, or None when the command ended before."""
    runner = command.process.pid
    previous = None
    while command.process.poll() is None:
        processes = chaos_processes.look(command.living())
        # before its first fork it has not yet taken over what signals do
        has_forked = any(one.parent == runner for one in processes)
        pid = chaos_processes.find(trial, runner, processes, networks) if has_forked else None
        if pid is not None and (pid == previous or trial.target is Target.RUNNER):
            return pid if chaos_processes.send(pid, trial.act.signal) else None
        previous = pid  # a fork that is about to become another program is no agent
        time.sleep(_LOOK_S)
    return None


def _resume(command: Command, seconds: float, pid: int) -> None:
    until(lambda: command.process.poll() is not None, seconds)
    if pid in (command.process.pid, *command.living()):
        chaos_processes.send(pid, SIGCONT)


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


def _left(command: Command) -> tuple[str, ...]:
    until(lambda: not _remains(command), LEFT_S)
    return _remains(command)


def _remains(command: Command) -> tuple[str, ...]:
    pids = [pid for pid in command.living() if pid != command.process.pid]
    files = (file for name in ("tmp", "shm") for file in (command.folder / name).glob("*"))
    processes = (f"{one.pid} {' '.join(one.words)[:60]}" for one in chaos_processes.look(pids))
    return (*processes, *(str(file.relative_to(command.folder)) for file in files))
