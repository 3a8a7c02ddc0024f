"""Do traces alone say what slows a job? Real torchrun jobs over Gloo with a profiler, put into each state.

scripts/bench trace --trials 20 --seed 1         twenty of each state
scripts/bench trace --only late,healthy          those whose names have one of these words
scripts/bench trace --out trials.jsonl           goes on where it was cut off

Launch-bound jobs exist on GPUs only: scripts/bench states reads the traces of simulated ones.
"""

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import state_trials
from benchmarks.state_trials import JobTrial, Series
from nccltool.trace.report import TraceReport
from nccltool.trace.run import trace

_JOB = Path(__file__).with_name("trace_job.py")
_LONGEST_S = 600
_OF_A_JOB = 12


@dataclass(frozen=True, kw_only=True)
class State:
    """What is done to a job, and what its traces have to say."""

    name: str
    cause: str
    """The largest loss; "any" = it does not count."""
    state: Callable[[random.Random, int], str]
    """What the job is told, given one of its ranks."""
    late: bool = False
    """Whether that rank is to be named as late; if not, none is, but one whose input is slow may be."""
    ranks: tuple[int, ...] = (2, 3, 4)


def _seconds(chance: random.Random) -> str:
    return f"{chance.uniform(0.1, 0.2):.3f}"


def _network(chance: random.Random, _: int) -> str:
    return f"network:{chance.randrange(100, 300)}mbit"


STATES = (
    State(name="healthy", cause="any", state=lambda *_: "healthy"),
    State(name="slow input", cause="input", state=lambda chance, _: f"input:{_seconds(chance)}"),
    State(
        name="slow input of a rank",
        cause="input of the rank",
        state=lambda chance, rank: f"input:{_seconds(chance)}:{rank}",
    ),
    State(name="slow network", cause="communication", state=_network),
    State(
        name="slow rank",
        cause="late rank",
        state=lambda chance, rank: f"{chance.choice(('sleep', 'work'))}:{_seconds(chance)}:{rank}",
        late=True,
    ),
    State(
        name="late rank of 4",
        cause="late rank",
        state=lambda chance, rank: f"{chance.choice(('sleep', 'work'))}:{_seconds(chance)}:{rank}",
        late=True,
        ranks=(4,),
    ),
)


@dataclass(frozen=True, kw_only=True)
class TraceTrial(JobTrial):
    """A state of a job, and what its traces said."""

    late_rank: int | None


def main(options: Sequence[str] = ()) -> bool:
    """Print a line a trial, then the table; whether 19 of 20 are right and no innocent was named."""
    series = Series(TraceTrial, STATES, state_trials.asked("trace", "slow rank", options))
    for ranks, trials in _jobs(series.left):
        for trial in _tried(trials, ranks):
            series.add(trial)
    print("\n".join(series.table()))
    return series.is_met


def _jobs(trials: Sequence[tuple[State, int]]) -> Iterator[tuple[int, list[tuple[State, int]]]]:
    """(how many ranks a job has, the trials that it goes through): starting one takes longer than a trial."""
    found: dict[int, list[tuple[State, int]]] = {}
    for one, seed in trials:
        mine = found.setdefault(random.Random(f"{seed} ranks").choice(one.ranks), [])
        mine.append((one, seed))
    for ranks, mine in found.items():
        for first in range(0, len(mine), _OF_A_JOB):
            yield ranks, mine[first : first + _OF_A_JOB]


def _tried(trials: Sequence[tuple[State, int]], ranks: int) -> Iterator[TraceTrial]:
    told, late = [], []
    for number, (one, seed) in enumerate(trials):
        chance = random.Random(f"{seed} {one.name}")
        late.append(chance.randrange(ranks))
        told.append(f"{number}={one.state(chance, late[-1])}")
    with tempfile.TemporaryDirectory(prefix="trace-", ignore_cleanup_errors=True) as folder:
        if said := _run(ranks, folder, told):
            print(f"{ranks} ranks: NO TRIALS: {said[-600:]}", flush=True)
            return
        for number, (one, seed) in enumerate(trials):
            here = Path(folder) / str(number)
            yield _scored(one, seed, told[number], ranks, late[number], trace([str(here)], ()))


def _run(ranks: int, folder: str, told: Sequence[str]) -> str:
    """What went wrong. In a network namespace of its own, whose loopback can be shaped."""
    job = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    argv = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *job, str(_JOB), folder, *told]
    env = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as started:
        try:
            output, _ = started.communicate(timeout=_LONGEST_S)
        except subprocess.TimeoutExpired:
            started.terminate()  # torchrun ends its ranks
            return f"no end within {_LONGEST_S} s"
    return output if started.returncode else ""


def _scored(state: State, seed: int, told: str, ranks: int, rank: int, report: TraceReport) -> TraceTrial:
    most = report.losses[0] if report.losses else None
    cause: str = most.cause if most else ""
    if state.cause == "input of the rank" and cause == "input" and most and most.rank == rank:
        cause = state.cause
    fits = state.cause in ("any", cause)
    may_be_late = state.late or state.cause == "input of the rank"
    accused = report.late_rank is not None and not (may_be_late and report.late_rank == rank)
    trial = TraceTrial(
        state=state.name,
        seed=seed,
        told=told.partition("=")[2],
        ranks=ranks,
        rank=rank,
        cause=cause,
        late_rank=report.late_rank,
        losses=tuple(f"{one.cause} {one.share:.2f} {one.rank}" for one in report.losses),
        is_right=fits and not accused and (report.late_rank == rank or not state.late),
        accused=accused,
        load=round(os.getloadavg()[0], 1),
    )
    print(
        f"{state.name}, seed {seed}: {trial.told}, rank {rank} of {ranks}: {'; '.join(trial.losses) or 'nothing'},"
        f" late {trial.late_rank}: {'ok' if trial.is_right else 'WRONG'}",
        flush=True,
    )
    return trial
