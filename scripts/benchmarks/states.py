"""Does `nccltool train`, or its trace, say what slows a training? Real Gloo jobs, put into states from outside.

scripts/bench states --trials 20 --seed 1         twenty of each state
scripts/bench states --only input,healthy         those whose names have one of these words
scripts/bench states --out trials.jsonl           goes on where it was cut off

Storage is a folder behind FUSE whose reads take long, the network is the shaped loopback of a network
namespace, and a starved rank has a CPU quota. Launch-bound and GPU-bound jobs train on simulated GPUs: each
operator takes what it takes here to launch, and a set time on the device. Of them the profiler's files alone are
judged too; scripts/bench trace has the other states. Needs root, and what tests/support/slow_storage.py needs.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import state_trials
from benchmarks.state_trials import JobTrial, Series
from nccltool.trace.report import TraceReport
from nccltool.trace.run import trace
from tests.papergpu.machines import paper
from tests.support import slow_storage
from tests.support.commands import NCCLTOOL
from tests.support.slow_storage import Storage

_LONGEST_S = 180
_SPAWNED_S = 60.0
_BYTES = 200_000
_CPU = Path("/sys/fs/cgroup/cpu")
_BUS = 400e9
"""Bytes a second: about an H100's over NVLink."""


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """What is done to a job."""

    told: str = ""
    read_s: float = 0.0
    of_rank: bool = False
    """Only to one rank."""
    rate: str = ""
    quota: int = 0
    """Percent of a core."""
    period_us: int = 0
    kernel_us: int = 0
    """What an operator takes on a simulated GPU; 0 = there is none."""


@dataclass(frozen=True, kw_only=True)
class State:
    """A state, and what `train` has to say of it."""

    name: str
    cause: str
    """The largest loss; "any" = it does not count, "not launch" = launches are no loss."""
    disturbed: Callable[[random.Random, int], Disturbance]
    names_rank: bool = False
    by_trace: bool = False
    """Judged by the files of its profiler alone."""
    ranks: tuple[int, ...] = (2, 4)


def _input(chance: random.Random, _: int) -> Disturbance:
    read_s = chance.uniform(0.02, 0.06)
    return Disturbance(told=f"{read_s * 1e3:.0f} ms a read", read_s=read_s)


def _input_of_rank(chance: random.Random, _: int) -> Disturbance:
    read_s = chance.uniform(0.02, 0.06)
    return Disturbance(told=f"{read_s * 1e3:.0f} ms a read", read_s=read_s, of_rank=True)


def _network(chance: random.Random, ranks: int) -> Disturbance:
    rate = f"{chance.randrange(30, 90) * ranks // 2}mbit"
    return Disturbance(told=rate, rate=rate)


def _rank(chance: random.Random, _: int) -> Disturbance:
    quota, period_us = chance.randrange(8, 19), chance.choice((20_000, 100_000))
    told = f"{quota} % of a core, each {period_us // 1000} ms"
    return Disturbance(told=told, quota=quota, period_us=period_us, of_rank=True)


def _kernels(least_us: int, most_us: int) -> Callable[[random.Random, int], Disturbance]:
    def disturbed(chance: random.Random, _: int) -> Disturbance:
        kernel_us = chance.randrange(least_us, most_us)
        return Disturbance(told=f"{kernel_us} us a kernel", kernel_us=kernel_us)

    return disturbed


STATES = (
    State(name="healthy", cause="any", disturbed=lambda *_: Disturbance()),
    State(name="slow input", cause="input", disturbed=_input),
    State(name="slow input of a rank", cause="input", disturbed=_input_of_rank, names_rank=True),
    State(name="slow network", cause="communication", disturbed=_network),
    State(name="starved rank", cause="late rank", disturbed=_rank, names_rank=True),
    State(name="launch-bound", cause="launch", disturbed=_kernels(2, 20), ranks=(2,)),
    State(name="GPU-bound", cause="not launch", disturbed=_kernels(1000, 2000), ranks=(2,)),
    State(name="trace of launch-bound", cause="launch", disturbed=_kernels(2, 20), by_trace=True, ranks=(2,)),
    State(
        name="trace of GPU-bound", cause="not launch", disturbed=_kernels(1000, 2000), by_trace=True, ranks=(2,)
    ),
)


@dataclass(frozen=True, kw_only=True)
class StateTrial(JobTrial):
    """A state of a job, and what `train` said."""

    named: tuple[str, ...]
    """Ranks, each with the code of its finding."""


def main(options: Sequence[str] = ()) -> bool:
    """Print a line a trial, then the table; whether 19 of 20 are right and no innocent was named."""
    wanted = state_trials.asked("states", "starved", options)
    if why := slow_storage.missing():
        sys.exit(f"states: {why}")
    series = Series(StateTrial, STATES, wanted)
    with tempfile.TemporaryDirectory(prefix="states-") as folder, _storage(Path(folder)) as storage:
        for state, seed in series.left:
            series.add(_tried(state, seed, storage))
    print("\n".join(series.table()))
    return series.is_met


@contextlib.contextmanager
def _storage(folder: Path) -> Iterator[Storage]:
    backing = folder / "files"
    backing.mkdir()
    (backing / "tokens.bin").write_bytes(random.Random(0).randbytes(_BYTES))
    with slow_storage.mounted(folder, backing) as storage:
        yield storage


def _tried(state: State, seed: int, storage: Storage) -> StateTrial:
    chance = random.Random(f"{seed} {state.name}")
    ranks = chance.choice(state.ranks)
    rank, done = chance.randrange(ranks), state.disturbed(chance, ranks)
    storage.slow(0.0 if done.of_rank else done.read_s)
    with tempfile.TemporaryDirectory(prefix="states-run-", ignore_cleanup_errors=True) as folder:
        profile = Path(folder) / "profile" if state.by_trace else None
        document = _run(ranks, rank, done, storage, Path(folder), profile)
        if profile:  # without one, nothing was told
            document = _read(trace([str(profile)], ())) if profile.exists() else {}
    trial = _scored(state, seed, done.told, ranks, rank, document)
    print(
        f"{state.name}, seed {seed}: {done.told}, rank {rank} of {ranks}: {'; '.join(trial.losses) or 'nothing'}"
        f"; named: {', '.join(trial.named) or 'nobody'}: {'ok' if trial.is_right else 'WRONG'}",
        flush=True,
    )
    return trial


def _read(report: TraceReport) -> dict[str, Any]:
    """What a trace says, as the document of a training."""
    late = {"code": "late-rank", "subject": {"kind": "rank", "name": str(report.late_rank)}, "severity": "warning"}
    losses = [{"cause": one.cause, "share": one.share, "rank": one.rank} for one in report.losses]
    return {"trainings": [{"losses": losses}], "findings": [] if report.late_rank is None else [late]}


def _run(
    ranks: int, rank: int, done: Disturbance, storage: Storage, folder: Path, profile: Path | None
) -> dict[str, Any]:
    shape = f"tc qdisc add dev lo root tbf rate {done.rate} burst 128kb latency 2s && " if done.rate else ""
    prefix = ["unshare", "-n", "sh", "-c", f'ip link set lo up && {shape}exec "$@"', "sh"]
    argv = [*NCCLTOOL, "train", "ddp", "--nproc-per-node", str(ranks), "--steps", "1", "--history", "none"]
    argv += ["--data", str(storage.folder), "--run-dir", str(folder), "-q", "--format", "json"]
    argv += ["--profile", str(profile)] if profile else []
    env = {key: value for key, value in os.environ.items() if not key.startswith("NCCLTOOL_")}
    if done.kernel_us:
        env |= paper("dgx", kernel_s=done.kernel_us / 1e6, bus_bytes_per_s=_BUS).write(folder / "machine")
    with (
        subprocess.Popen([*prefix, *argv], stdout=subprocess.PIPE, env=env) as command,
        contextlib.ExitStack() as stack,
    ):
        if done.of_rank and (pid := _pid(folder, rank, command)):
            stack.enter_context(_disturbed(pid, done, storage))
        try:
            output, _ = command.communicate(timeout=_LONGEST_S)
        except subprocess.TimeoutExpired:
            command.send_signal(signal.SIGTERM)
            output, _ = command.communicate(timeout=_LONGEST_S)
    document: dict[str, Any] = json.loads(output or b"{}")
    return document


def _pid(folder: Path, rank: int, command: "subprocess.Popen[bytes]") -> int | None:
    """Of the process of a rank; None = the command ended before it was there."""
    until = time.monotonic() + _SPAWNED_S
    while time.monotonic() < until and command.poll() is None:
        for file in folder.glob("*/events.jsonl"):
            for line in file.read_text().splitlines():
                with contextlib.suppress(json.JSONDecodeError):  # a line that is being written
                    event = json.loads(line)
                    if event.get("event") == "spawned" and event["rank"] == rank:
                        return int(event["pid"])
        time.sleep(0.05)
    return None


@contextlib.contextmanager
def _disturbed(pid: int, done: Disturbance, storage: Storage) -> Iterator[None]:
    if done.read_s:
        storage.slow(done.read_s, [pid])
    group = _CPU / f"states-{os.getpid()}"
    if done.quota:
        group.mkdir(exist_ok=True)
        (group / "cpu.cfs_period_us").write_text(str(done.period_us))
        (group / "cpu.cfs_quota_us").write_text(str(done.period_us * done.quota // 100))
        (group / "cgroup.procs").write_text(str(pid))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # none was made, or it has members for a moment more
            group.rmdir()


def _scored(state: State, seed: int, told: str, ranks: int, rank: int, document: dict[str, Any]) -> StateTrial:
    losses = [one for training in document.get("trainings", ()) for one in training.get("losses", ())]
    cause = losses[0]["cause"] if losses else ""
    named = [
        (one["code"], one["subject"]["name"])
        for one in document.get("findings", ())
        if one["subject"]["kind"] == "rank" and one["severity"] != "info"
    ]
    accused = any(not state.names_rank or name != str(rank) for _, name in named)
    launches = any(one["cause"] == "launch" for one in losses)
    fits = {"any": True, "not launch": not launches}.get(state.cause, cause == state.cause)
    if state.names_rank:
        fits = fits and losses[0]["rank"] == rank
    return StateTrial(
        state=state.name,
        seed=seed,
        told=told,
        ranks=ranks,
        rank=rank,
        cause=cause,
        named=tuple(f"{code} {name}" for code, name in named),
        losses=tuple(f"{one['cause']} {one['share']:.2f} {one['rank']}" for one in losses),
        is_right=bool(document.get("trainings")) and fits and not accused,
        accused=accused,
        load=round(os.getloadavg()[0], 1),
    )
