"""The processes of a command: which of them is a rank, its supervisor, an agent, a node process, a far end."""

import os
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.chaos_trials import Target, Trial

_DEPTHS = (Target.FAR_END, Target.NODE, Target.AGENT, Target.SUPERVISOR, Target.RANK)
"""Each is the parent of the next; without ssh there is no far end."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process that lives."""

    pid: int
    parent: int
    began: int
    """In clock ticks since boot."""
    words: tuple[str, ...]
    network: int
    """The namespace of its network, which is its host."""

    @property
    def is_node(self) -> bool:
        """Whether it is a process of a node: all of them are forked from one."""
        return "nccltool.worker" in self.words

    @property
    def is_command(self) -> bool:
        """Whether preflight started it as a command: not an ssh, which has our module among the words for its far
        end, nor a fork of preflight that reads facts, which has its words."""
        return "nccltool" in self.words and "preflight" not in self.words


def look(pids: Sequence[int]) -> tuple[Process, ...]:
    """Those of them that live, oldest first."""
    found = (one for pid in pids if (one := _read(pid)))
    return tuple(sorted(found, key=lambda one: (one.began, one.pid)))


def _read(pid: int) -> Process | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        network = Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return None
    return None if fields[0] in "ZX" else Process(pid, int(fields[1]), int(fields[19]), tuple(words), network)


def find(trial: Trial, runner: int, processes: Sequence[Process], networks: Sequence[int]) -> int | None:
    """The pid of a trial's target; None when there is none now. `networks`: that of each node's host."""
    if trial.target is Target.RUNNER:
        return runner
    if trial.target is Target.CHILD:
        return _last(one for one in processes if one.parent == runner and one.is_command)
    if trial.target is Target.SSH:
        host = f"n{trial.node + 1}"
        return _last(one for one in processes if one.words[0].endswith("ssh") and host in one.words)
    return _of_a_node(trial, processes, networks)


def _of_a_node(trial: Trial, processes: Sequence[Process], networks: Sequence[int]) -> int | None:
    by_pid = {one.pid: one for one in processes}
    roots = [one for one in processes if one.is_node and not _is_node(by_pid.get(one.parent))]
    if trial.scene.is_ssh:
        roots = [one for one in roots if one.network == networks[trial.node]]
    if not roots:
        return None
    depths = _DEPTHS if trial.scene.is_ssh else _DEPTHS[1:]
    found = roots[-1]
    for target in depths[1 : depths.index(trial.target) + 1]:
        children = [one for one in processes if one.parent == found.pid and one.is_node]
        number = _number(trial, target)
        if number >= len(children):
            return None
        found = children[number]
    return found.pid


def _is_node(process: Process | None) -> bool:
    return process is not None and process.is_node


def _number(trial: Trial, target: Target) -> int:
    """Which of its parent's children it is, in the order of their start."""
    if target is Target.AGENT and not trial.scene.is_ssh:
        return trial.node
    return trial.local_rank if target is Target.SUPERVISOR else 0


def is_forked_for_ranks(pid: int) -> bool:
    """Whether torch is loaded: agents are forked after that, and before it processes that read facts of a host."""
    try:
        return "libtorch" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def _last(found: Iterable[Process]) -> int | None:
    pids = [one.pid for one in found]
    return pids[-1] if pids else None


def send(pid: int, number: signal.Signals) -> bool:
    """Whether it was still there to be hit: one that has ended and was not waited for is not."""
    if not look([pid]):
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
