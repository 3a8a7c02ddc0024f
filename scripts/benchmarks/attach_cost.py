"""What a look costs: steps of a job before, during, and after it; many ranks on one host; the verdict on 1,024."""

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.attach_jobs import Job
from benchmarks.attach_states import Scenario
from nccltool.attach.judge.judge import judge
from nccltool.attach.look import step_log
from nccltool.attach.look.here import look
from nccltool.attach.look.order import LookOrder
from tests.attach.judge.looks import SLEEPS, R
from tests.attach.judge.looks import look as look_at

_WINDOW_S = 4.0
_RANKS, _A_HOST = 1024, 8
_MANY = 64
_WATCHED_S = 60.0
_RANK = "import time\ndef wait_for_nobody():\n    time.sleep(600)\nprint(1, flush=True)\nwait_for_nobody()\n"
_FULL = Scenario(name="a rank on each core, computing", states=(), more=("--step-s", "0.05"))
_SPARE = Scenario(name="ranks that mostly sleep", states=(), more=("--step-s", "0.01", "--load-s", "0.01"))


def of_job(rounds: int, base: Path) -> Iterator[str]:
    """Windows before, during, and after one default look: neighbors have the same load."""
    for number, scenario in enumerate((_FULL, _SPARE)):
        with Job(scenario, "ddp", 2, 0, base / f"cost-{number}") as job:
            job.spoil()
            yield from _windows(scenario.name, job, rounds)
            yield f"{scenario.name}: longest step beside looks with --native: {_pauses(job, rounds)}"
            yield f"{scenario.name}: {_watched(job)}"


def _windows(name: str, job: Job, rounds: int) -> Iterator[str]:
    looked: list[float] = []
    noise: list[float] = []
    looks: list[float] = []
    cpu: list[float] = []
    for _ in range(rounds):
        before = _steps_per_s(job, lambda: time.sleep(_WINDOW_S))
        during = _steps_per_s(job, lambda: _look(job, looks, cpu))
        after = _steps_per_s(job, lambda: time.sleep(_WINDOW_S))
        looked.append((before + after) / 2 / during)
        noise.append(before / after)
    yield f"{name}: time of a step during a look, of that before and after: {_spread(looked)}"
    yield f"{name}: after a look, of that before: {_spread(noise)}"
    yield f"{name}: a look at 2 ranks, without its interval: {_spread(looks)} s; its own CPU time {_spread(cpu)} s"


def _look(job: Job, looks: list[float], cpu: list[float], native: tuple[int, ...] = ()) -> None:
    answer = look(LookOrder(pid=job.commands[0].pid, native=native))
    assert answer.look is not None, answer.reason
    looks.append(answer.look.took_s)
    cpu.append(answer.look.own_cpu_s)


def _steps_per_s(job: Job, work: Callable[[], None]) -> float:
    first, began = max(job.steps()), time.monotonic()
    work()
    return (max(job.steps()) - first) / (time.monotonic() - began)


def _pauses(job: Job, rounds: int) -> str:
    """Of steps, as the job's log states them."""
    with_native, without = [], []
    for _ in range(rounds):
        without.append(_longest(job, lambda: _look(job, [], [])))
        with_native.append(_longest(job, lambda: _look(job, [], [], native=(0,))))
    return f"{_spread(with_native)} s; without it {_spread(without)} s"


def _longest(job: Job, work: Callable[[], None]) -> float:
    log = job.folder / "log.0"
    place = log.stat().st_size
    work()
    new = log.read_bytes()[place:].partition(b"\n")[2]
    return max(one.step_s or 0.0 for one in step_log.lines("log", new))


def _watched(job: Job) -> str:
    """The summary of a watch, which has its cost."""
    argv = [sys.executable, "-m", "nccltool", "attach", "--watch", "5s", "--pid", str(job.alive.pid)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(_WATCHED_S)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    return "; ".join(line.strip() for line in said.splitlines() if line.startswith(("watched", "    ")))


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def of_many(rounds: int) -> Iterator[str]:
    """Processes that a launcher started as ranks, and that sleep."""
    ranks = []
    try:
        for rank in range(_MANY):
            own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": _MANY, "LOCAL_WORLD_SIZE": _MANY}
            env = os.environ | {name: str(value) for name, value in own.items()}
            env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29999"}
            ranks.append(subprocess.Popen([sys.executable, "-c", _RANK], env=env, stdout=subprocess.PIPE))
        for one in ranks:
            assert one.stdout is not None
            one.stdout.readline()
        yield from _many_looks(ranks[0].pid, rounds)
    finally:
        for one in ranks:
            one.kill()
            one.communicate()


def _many_looks(pid: int, rounds: int) -> Iterator[str]:
    whole, looks, stacks = [], [], 0
    for _ in range(rounds):
        began = time.monotonic()
        answer = look(LookOrder(pid=pid))
        looks.append(time.monotonic() - began)
        assert answer.look is not None, answer.reason
        stacks = sum(bool(one.stacks) for sample in answer.look.samples for one in sample.ranks)
        argv = [sys.executable, "-m", "nccltool", "attach", "--pid", str(pid)]
        began = time.monotonic()
        subprocess.run(argv, capture_output=True, timeout=60, check=False)
        whole.append(time.monotonic() - began)
    yield f"a look at {_MANY} ranks, with its interval: {_spread(looks)} s, {stacks} stacks"
    yield f"the command: {_spread(whole)} s"


def of_verdict() -> str:
    """1,024 ranks on 128 hosts; one sleeps, and all others wait for it."""
    ranks = [R(host=f"n{number // _A_HOST + 1}", connected=False) for number in range(_RANKS)]
    ranks[171] = R(host="n22", stack=SLEEPS, connected=False)
    seen = look_at(*ranks, span_s=12.0)
    began, cpu = time.perf_counter(), time.process_time()
    verdict = judge(seen)
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    return f"verdict on {_RANKS} ranks: {took:.2f} s, {cpu:.2f} s of CPU time: {verdict.message}"
