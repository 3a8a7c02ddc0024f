"""Does a look at a job say its state, and who holds it up? Real torchrun jobs over Gloo, put into each state.

scripts/bench attach --trials 3 --seed 1        three of each state
scripts/bench attach --only frozen,starting     those whose names have one of these words
scripts/bench attach --healthy 100              looks at healthy jobs only: how many are called hung
scripts/bench attach --cost 10                  steps of a job with looks and without, in turns
"""

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import attach_cost, extent
from benchmarks.attach_jobs import Job
from benchmarks.attach_states import BY_NAME, SCENARIOS, Scenario
from nccltool.attach.judge.judge import judge
from nccltool.attach.judge.result import AttachVerdict
from nccltool.attach.look.here import look
from nccltool.attach.look.order import LookOrder
from nccltool.attach.seen.job import JobLook

_LOOKS_AT_ONE_JOB = 20


@dataclass(frozen=True)
class Score:
    """A look, and whether it was right."""

    scenario: str
    is_right: bool
    wrong_with_high: bool
    state: str
    took_s: float


def main(options: Sequence[str] = ()) -> bool:
    """Print a line a trial, then the table; whether no innocent was named for certain and no healthy job hung."""
    asked = _asked(options)
    scores: list[Score] = []
    with tempfile.TemporaryDirectory(prefix="attach-", ignore_cleanup_errors=True) as base:
        if asked.cost:
            print("\n".join((*attach_cost.of_job(asked.cost, Path(base)), attach_cost.of_verdict())))
            return True
        if asked.healthy:
            scores += _healthy(asked.healthy, asked.seed, Path(base))
        for trial in range(0 if asked.healthy else asked.trials):
            for scenario in _chosen(asked.only):
                scores += _trial(scenario, asked.seed + trial, Path(base))
    print("\n".join(table(scores)))
    return not any(one.wrong_with_high or (one.scenario == "healthy" and one.state == "hung") for one in scores)


def _asked(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench attach")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=extent.of(20, 1), help="of each state")
    parser.add_argument("--only", default=extent.of("", "stopped"), help="words of the names, separated by commas")
    parser.add_argument("--healthy", type=int, default=0, help="so many looks at healthy jobs, and nothing else")
    parser.add_argument("--cost", type=int, default=0, help="so many pairs of windows, and nothing else")
    return parser.parse_args(options)


def _chosen(only: str) -> Iterator[Scenario]:
    words = [word for word in only.split(",") if word]
    for one in SCENARIOS:
        if not words or any(word in one.name for word in words):
            yield one


def _trial(scenario: Scenario, seed: int, base: Path) -> list[Score]:
    chance = random.Random(f"{seed} {scenario.name}")
    strategy, ranks = chance.choice(scenario.strategies), chance.choice(scenario.ranks)
    rank = chance.randrange(ranks)
    folder = base / f"{seed}-{scenario.name.replace(' ', '-')}"
    told = f"{scenario.name}, seed {seed}: {strategy}, {ranks} ranks, rank {rank}"
    try:
        with Job(scenario, strategy, ranks, rank, folder) as job:
            job.spoil()
            time.sleep(scenario.settle_s)
            score = _look(scenario, job, told)
    except (RuntimeError, OSError) as error:
        print(f"{told}: NO TRIAL: {str(error)[:600]}", flush=True)
        return []
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [score]


def _healthy(count: int, seed: int, base: Path) -> Iterator[Score]:
    """Many looks at some jobs."""
    scenario = BY_NAME["healthy"]
    for first in range(0, count, _LOOKS_AT_ONE_JOB):
        chance = random.Random(f"{seed} {first}")
        strategy, ranks = chance.choice(scenario.strategies), chance.choice(scenario.ranks)
        with Job(scenario, strategy, ranks, 0, base / f"healthy-{first}") as job:
            job.spoil()
            for number in range(min(_LOOKS_AT_ONE_JOB, count - first)):
                yield _look(scenario, job, f"healthy, look {first + number}: {strategy}, {ranks} ranks")


def _look(scenario: Scenario, job: Job, told: str) -> Score:
    began = time.monotonic()
    answer = look(LookOrder(pid=job.alive.pid))
    if answer.look is None:
        raise RuntimeError(f"no look: {answer.reason}")
    verdict = judge(JobLook(hosts=(answer.look,)))
    named = [one for one in verdict.culprits if one.level != "low"]
    is_right = verdict.state in scenario.states and _culprits_are_right(scenario, job.rank, verdict)
    innocent = any(
        one.level == "high" and one.rank is not None and (one.rank != job.rank or not scenario.causes)
        for one in named
    )
    score = Score(scenario.name, is_right, innocent, verdict.state, time.monotonic() - began)
    culprits = (
        "; ".join(f"{one.cause} rank {one.rank} {one.host} {one.level}" for one in verdict.culprits[:4])
        or "nobody"
    )
    print(f"{told}: {verdict.state}, {culprits}: {'ok' if is_right else 'WRONG'}", flush=True)
    if not is_right:
        print("\n".join(_details(verdict)), flush=True)
    return score


def _details(verdict: AttachVerdict) -> Iterator[str]:
    yield f"    {verdict.message}; missing {verdict.missing}; {verdict.notes}"
    for now in verdict.ranks:
        what = f"{now.condition} {now.phase.text} ({now.phase.kind}) at {now.phase.where}"
        yield f"    rank {now.rank} {what}, moves {now.moves}, since {now.since_s}, CPU {now.cpu_share}"
    for one in verdict.culprits:
        yield f"    {one.level} {one.cause} {one.message}: {one.evidence}"


def _culprits_are_right(scenario: Scenario, rank: int, verdict: AttachVerdict) -> bool:
    named = [one for one in verdict.culprits if one.level != "low"]
    if not scenario.causes:
        return not named
    if not named or named[0].cause not in scenario.causes:
        return False
    ranks = {one.rank for one in named if one.rank is not None}
    return ranks == ({rank} if scenario.names_rank else set())


def table(scores: Iterable[Score]) -> Iterator[str]:
    """In Markdown: right of all, and how many named an innocent rank with high confidence."""
    by_name: dict[str, list[Score]] = {}
    for one in scores:
        by_name.setdefault(one.scenario, []).append(one)
    yield "| state | right | wrong rank, high confidence | called hung |"
    yield "|---|---|---|---|"
    for name, group in by_name.items():
        right, innocent = sum(one.is_right for one in group), sum(one.wrong_with_high for one in group)
        yield f"| {name} | {right}/{len(group)} | {innocent} | {sum(one.state == 'hung' for one in group)} |"
