"""What a look costs: steps of a healthy job before, during, and after looks; and the verdict on 1,024 ranks."""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.attach_jobs import Job
from benchmarks.attach_states import BY_NAME
from nccltool.attach.judge.judge import judge
from nccltool.attach.look.here import look
from nccltool.attach.look.order import LookOrder
from tests.attach.judge.looks import SLEEPS, R
from tests.attach.judge.looks import look as look_at

_WINDOW_S = 4.0
_RANKS, _A_HOST = 1024, 8


def of_job(rounds: int, base: Path) -> Iterator[str]:
    """A window without looks, one with looks without a pause, and so on: neighbors have the same load."""
    with Job(BY_NAME["healthy"], "ddp", 4, 0, base / "cost") as job:
        job.spoil()
        quiet: list[float] = []
        looked: list[float] = []
        looks: list[float] = []
        cpu: list[float] = []
        for _ in range(rounds):
            quiet.append(_steps_per_s(job, lambda: time.sleep(0.2)))
            looked.append(_steps_per_s(job, lambda: _look(job, looks, cpu)))
        after = _steps_per_s(job, lambda: time.sleep(0.2))
    ratios = [one / other for one, other in zip(looked, quiet, strict=True)]
    yield f"steps a second without looks: {_spread(quiet)}; with looks all the time: {_spread(looked)}"
    yield f"steps a second after: {after:.1f}"
    yield f"ratio of neighbors, median: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
    yield f"a look at 4 ranks, without its interval: {_spread(looks)} s; its own CPU time {_spread(cpu)} s"


def _look(job: Job, looks: list[float], cpu: list[float]) -> None:
    answer = look(LookOrder(pid=job.commands[0].pid, interval_s=0.5))
    assert answer.look is not None, answer.reason
    looks.append(answer.look.took_s)
    cpu.append(answer.look.own_cpu_s)


def _steps_per_s(job: Job, work: "object") -> float:
    assert callable(work)
    first, began = max(job.steps()), time.monotonic()
    while time.monotonic() - began < _WINDOW_S:
        work()
    return (max(job.steps()) - first) / (time.monotonic() - began)


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def of_verdict() -> str:
    """1,024 ranks on 128 hosts; one sleeps, and all others wait for it."""
    ranks = [R(host=f"n{number // _A_HOST + 1}", connected=False) for number in range(_RANKS)]
    ranks[171] = R(host="n22", stack=SLEEPS, connected=False)
    seen = look_at(*ranks, span_s=12.0)
    began, cpu = time.perf_counter(), time.process_time()
    verdict = judge(seen)
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    return f"verdict on {_RANKS} ranks: {took:.2f} s, {cpu:.2f} s of CPU time: {verdict.message}"
