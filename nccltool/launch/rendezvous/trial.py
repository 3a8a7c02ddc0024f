"""Try a form of rendezvous: start its ranks, have them add checked data, and say how that ended."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from nccltool.launch.rendezvous import obstacles

Form = Literal["env", "tcp", "file", "spawn"]
FORMS: tuple[Form, ...] = ("env", "tcp", "file", "spawn")
_PAUSE_S = 0.1
_START_S = 90.0
"""Beyond --timeout: to import torch on a busy host or from a slow file system."""
_LONGEST = 64 * 1024
"""Bytes of what a rank printed that are read, from the end."""
_AFTER_ONE_S = 5.0
"""Gloo tells the other ranks within that when one has failed."""


class RankOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What a process of worker/rendezvous.py does."""

    form: Form
    host: str
    port: int
    file: str
    rank: int
    """Of spawn: not used, since torch numbers the ranks."""
    ranks: int
    timeout_s: float


class RankSum(msgspec.Struct, frozen=True, kw_only=True):
    """What a rank prints."""

    rank: int
    wrong: int | None
    """Elements; None = it has started, and joins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """How a form ended."""

    form: Form
    goal: str
    ranks: int
    ok: int
    """Ranks whose data was right."""
    seconds: float | None
    """None = not tried."""
    problem: str = ""
    """Empty = all ranks had right data."""
    remedy: str = ""


def tried(order: RankOrder, scratch: Path) -> Trial:
    """Ranks that are left at the deadline are killed, so this always returns."""
    obstacle = obstacles.of_file(Path(order.file)) if order.form == "file" else obstacles.of_port(order)
    if obstacle is not None and obstacle.prevents_trial:
        said = f"{obstacle.reason}; not tried"
        return _trial(order, 0, None, said, obstacle.remedy)
    was_there, begin = os.path.lexists(order.file), time.monotonic()
    sums, problem = _run(order, scratch)
    seconds = time.monotonic() - begin
    if not was_there:
        with contextlib.suppress(OSError):  # of a folder that cannot be used
            Path(order.file).unlink()
    ok = sum(not one.wrong for one in sums)
    if wrong := sorted(one.rank for one in sums if one.wrong):
        return _trial(order, ok, seconds, f"wrong data on rank {', '.join(map(str, wrong))}", _WRONG)
    if obstacle and ok < order.ranks:
        return _trial(order, ok, seconds, f"{obstacle.reason}; {problem}", obstacle.remedy)
    return _trial(order, ok, seconds, problem, _UNEXPLAINED if problem else "")


def _trial(order: RankOrder, ok: int, seconds: float | None, problem: str, remedy: str) -> Trial:
    return Trial(
        form=order.form,
        goal=_goal(order),
        ranks=order.ranks,
        ok=ok,
        seconds=seconds,
        problem=problem,
        remedy=remedy,
    )


_WRONG = "do not train on this host; nccltool probe checks every operation"
_UNEXPLAINED = "run nccltool facts and nccltool doctor; use a form that works"


def _goal(order: RankOrder) -> str:
    host = f"[{order.host}]" if ":" in order.host else order.host
    place = {"file": f"file://{order.file}", "tcp": f"tcp://{host}:{order.port}"}
    return place.get(order.form, f"{host}:{order.port}")


def _run(order: RankOrder, scratch: Path) -> tuple[list[RankSum], str]:
    """What the ranks had, and what went wrong."""
    orders = (
        [order]
        if order.form == "spawn"
        else [msgspec.structs.replace(order, rank=rank) for rank in range(order.ranks)]
    )
    names = [scratch / f"{order.form}-{number}" for number in range(len(orders))]
    outputs = [name.with_suffix(".out") for name in names]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for one, name in zip(orders, names, strict=True):
            processes.append(_started(one, name))
        late = _waited(processes, order, outputs)
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    sums = [one for one in _told(outputs) if one.wrong is not None]
    said = next(filter(None, (_last_error(_end_of(name.with_suffix(".err"))) for name in names)), "")
    if len(sums) == order.ranks:
        return sums, ""
    silent = sorted(set(range(order.ranks)) - {one.rank for one in sums})
    who = f"{len(silent)} of {order.ranks} ranks "
    return sums, (who + (f"did not finish within {order.timeout_s:g} s" if late else f"failed: {said}")).strip()


def _started(order: RankOrder, name: Path) -> "subprocess.Popen[bytes]":
    env = {key: value for key, value in os.environ.items() if not key.startswith("TORCHELASTIC_")}
    env["OMP_NUM_THREADS"] = "1"
    if order.form in ("env", "spawn"):
        env |= {"MASTER_ADDR": order.host, "MASTER_PORT": str(order.port)}
    if order.form == "env":
        env |= {"RANK": str(order.rank), "WORLD_SIZE": str(order.ranks)}
    with name.with_suffix(".out").open("wb") as out, name.with_suffix(".err").open("wb") as err:
        return subprocess.Popen(
            _argv(order),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=env,
            start_new_session=True,
        )


def _argv(order: RankOrder) -> Sequence[str]:
    return (sys.executable, "-P", "-m", "nccltool.worker.rendezvous", msgspec.json.encode(order).decode())


def _waited(processes: Sequence["subprocess.Popen[bytes]"], order: RankOrder, outputs: Sequence[Path]) -> bool:
    """Whether ranks were still running at the deadline; after one has failed, the others have a few seconds."""
    end, started = time.monotonic() + _START_S + order.timeout_s, False
    while any(one.poll() is None for one in processes):
        now = time.monotonic()
        if not started and len({one.rank for one in _told(outputs)}) == order.ranks:
            started, end = True, now + order.timeout_s
        if any(one.returncode for one in processes):
            end = min(end, now + _AFTER_ONE_S)
        if now >= end:
            return not any(one.returncode for one in processes)
        time.sleep(_PAUSE_S)
    return False


def _end_of(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _LONGEST, 0))
        return file.read().decode(errors="backslashreplace")


def _told(outputs: Sequence[Path]) -> list[RankSum]:
    found = []
    for line in (line for one in outputs for line in _end_of(one).splitlines()):
        with contextlib.suppress(msgspec.DecodeError):  # a line of a library
            found.append(msgspec.json.decode(line, type=RankSum))
    return found


def _last_error(text: str) -> str:
    """The last line that names an exception: torch adds lines of its own below a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if line.partition(":")[0].rpartition(".")[2].endswith(("Error", "Exception"))]
    return (named or lines or [""])[-1][:300]
