"""Python stacks by py-spy, which reads the memory of a process without stopping it (--nonblocking).

With native frames it stops the process for up to two seconds, and so is run on suspects only. py-spy is another
program: its output is checked here, and a process that cannot be read costs no more than the deadline.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from nccltool.attach.look import pyspy_output
from nccltool.attach.seen.process import StackFrame, ThreadStack
from nccltool.core import external_commands
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree

TIMEOUT_S = 10.0
"""For one process: measured 0.05 to 0.15 s, with native frames 0.7 to 3.7 s, on a loaded host."""
_TRIES = 3
_TORN = "Failed to get stack traces"
"""A process that runs while it is read changes its frames; seen in 1 of 100 stacks on a loaded host."""
_AT_ONCE = max(2, min(16, (os.cpu_count() or 2) // 2))
"""Leaves cores to the job."""
NOT_INSTALLED = "py-spy is not installed"
INSTALL = "pip install 'nccltool[attach]'"
_LONGEST_LINE = 200
_LOADER = ("torch/utils/data/dataloader.py",)
_MOST_WORKERS = 16
"""Loader workers of one rank whose stacks are read."""

Taken = Mapping[int, tuple[ThreadStack, ...] | Unknown]


def program() -> str | None:
    """Where py-spy is: beside this Python, or on the path."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def taken(pids: Sequence[int], tree: Tree, is_native: bool = False) -> Taken:
    """The stacks of these processes, or why there are none."""
    found = program()
    if found is None:
        return dict.fromkeys(pids, Unknown(NOT_INSTALLED))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        given = pool.map(lambda pid: _of(found, pid, is_native), pids)
        return {pid: _with_text(pid, stacks, tree) for pid, stacks in zip(pids, given, strict=True)}


def waits_for_workers(stacks: Sequence[ThreadStack]) -> bool:
    """Whether the training thread is in a data loader: then what its workers do is of interest."""
    return any(frame.file.endswith(_LOADER) for one in stacks if one.trains for frame in one.frames)


def of_workers(children: Sequence[int], tree: Tree) -> Taken:
    return taken(children[:_MOST_WORKERS], tree)


def _of(py_spy: str, pid: int, is_native: bool) -> tuple[ThreadStack, ...] | Unknown:
    how = "--native" if is_native else "--nonblocking"
    argv = [py_spy, "dump", "--pid", str(pid), how, "--json", "--full-filenames"]
    for _ in range(_TRIES):
        done = external_commands.run(argv, TIMEOUT_S)
        if isinstance(done, Unknown) or not done.code or _TORN not in done.err:
            break
    if isinstance(done, Unknown):
        return done
    if done.code:
        return Unknown(_reason(done.err))
    try:
        found = pyspy_output.stacks(done.out, pid)
    except ValueError as error:
        return Unknown(f"py-spy wrote something else: {error}")
    return tuple(replace(one, is_native=is_native) for one in found)


def missing_right(reason: str) -> str:
    """What would help where py-spy failed."""
    if "ermission" in reason or "not permitted" in reason:
        return "CAP_SYS_PTRACE: run as root, or as the job's user with kernel.yama.ptrace_scope=0"
    return INSTALL if reason == NOT_INSTALLED else ""


def _reason(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    named = next((line for line in lines if line.startswith(("Error:", "Permission", "Caused"))), "")
    text = (named or (lines[-1] if lines else "py-spy failed")).removeprefix("Error: ")
    return text.partition(": Try running")[0][:200]


def _with_text(
    pid: int, stacks: tuple[ThreadStack, ...] | Unknown, tree: Tree
) -> tuple[ThreadStack, ...] | Unknown:
    """With the lines of source of the training thread: calls of C functions show only there."""
    if isinstance(stacks, Unknown):
        return stacks
    files: dict[str, Sequence[str]] = {}

    def told(frame: StackFrame) -> StackFrame:
        if frame.line is None or not frame.file.endswith(".py"):
            return frame
        if frame.file not in files:
            text = or_none(tree.exact(f"/proc/{pid}/root{frame.file}"))
            files[frame.file] = (text or "").splitlines()
        lines = files[frame.file]
        text = lines[frame.line - 1].strip()[:_LONGEST_LINE] if 0 < frame.line <= len(lines) else ""
        return replace(frame, text=text)

    return tuple(
        replace(one, frames=tuple(map(told, one.frames[:1])) + one.frames[1:]) if one.trains else one
        for one in stacks
    )
