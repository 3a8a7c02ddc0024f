"""Does a look at a job say its state, and who holds it up? Real torchrun jobs over Gloo, put into each state.

scripts/bench attach --trials 3 --seed 1        three of each state
scripts/bench attach --only frozen,starting     those whose names have one of these words
scripts/bench attach --healthy 100              looks at healthy jobs of several kinds: how many are called hung
scripts/bench attach --cost 10                  steps of a job with looks and without, in turns
scripts/bench attach --out trials.jsonl         goes on where it was cut off; looks are kept in trials.jsonl.looks
scripts/bench attach --again trials.jsonl       judges the looks that were kept, with the rules of today
"""

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock

from benchmarks import attach_cost, extent
from benchmarks.attach_jobs import Job
from benchmarks.attach_scores import Book, Score, Trial, scored, table
from benchmarks.attach_states import BY_NAME, HEALTHY, ONE_AFTER_THE_OTHER, SCENARIOS, Scenario
from nccltool.attach.look.here import look
from nccltool.attach.look.order import LookOrder
from nccltool.attach.seen.job import JobLook

_ONE_STARTS = Lock()
_PAUSE_S = (1.0, 15.0)
"""Between looks at one healthy job."""


def main(options: Sequence[str] = ()) -> bool:
    """Print a line a trial, then the table; whether no innocent was named for certain and no healthy job hung."""
    asked = _asked(options)
    book = Book(asked.again or asked.out)
    if asked.again:
        book.judge_again()
    else:
        with tempfile.TemporaryDirectory(prefix="attach-", ignore_cleanup_errors=True) as base:
            if asked.cost:
                for line in (attach_cost.of_verdict(), *attach_cost.of_many(5)):
                    print(line, flush=True)
                for line in attach_cost.of_job(asked.cost, Path(base)):
                    print(line, flush=True)
                return True
            _done(_healthy(asked, Path(base), book) if asked.healthy else _work(asked, Path(base), book))
    print("\n".join(table(book.scores)))
    return not any(
        one.wrong_with_high or (one.state.startswith("healthy") and one.verdict == "hung") for one in book.scores
    )


def _asked(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench attach")
    parser.add_argument("--seed", type=int, default=extent.of(1, 5))
    parser.add_argument("--trials", type=int, default=extent.of(20, 1), help="of each state")
    parser.add_argument("--only", default=extent.of("", "stopped"), help="words of the names, separated by commas")
    parser.add_argument("--healthy", type=int, default=0, help="so many looks at healthy jobs, and nothing else")
    parser.add_argument("--cost", type=int, default=0, help="so many looks beside steps, and nothing else")
    parser.add_argument("--out", default="", help="JSON lines; trials that are there are not repeated")
    parser.add_argument("--again", default="", help="a file that --out wrote")
    return parser.parse_args(options)


def _chosen(only: str) -> Iterator[Scenario]:
    words = [word for word in only.split(",") if word]
    for one in SCENARIOS:
        if not words or any(word in one.name for word in words):
            yield one


def _done(work: Iterable[Callable[[], None]]) -> None:
    """One job starts while another waits in its state: starting takes CPU time, and waiting takes none."""
    with ThreadPoolExecutor(2) as pool:
        try:
            for one in [pool.submit(each) for each in work]:
                one.result()
        finally:  # after Ctrl-C, jobs that have started are ended, and no other starts
            pool.shutdown(cancel_futures=True)


def _work(asked: argparse.Namespace, base: Path, book: Book) -> Iterator[Callable[[], None]]:
    chosen = tuple(_chosen(asked.only))
    for seed in range(asked.seed, asked.seed + asked.trials):
        together = [one for one in chosen if one in ONE_AFTER_THE_OTHER]
        if left := [one for one in together if not book.has(_by_chance(one, seed))]:
            yield partial(_one_after_the_other, left, seed, base / f"{seed}", book)
        for scenario in [one for one in chosen if one not in together]:
            trial = _by_chance(scenario, seed)
            if not book.has(trial):
                yield partial(_try, scenario, trial, base / f"{seed}-{scenario.name.replace(' ', '-')}", book)


@contextmanager
def _started(scenario: Scenario, trial: Trial, folder: Path) -> Iterator[Job]:
    """A job that is in its state; one at a time starts."""
    job = Job(scenario, trial.strategy, trial.ranks, trial.rank, folder)
    with ExitStack() as stack:
        with _ONE_STARTS:
            stack.enter_context(job)
            job.spoil()
        yield job


def _one_after_the_other(scenarios: Sequence[Scenario], seed: int, folder: Path, book: Book) -> None:
    """On one job: another rank in each state."""
    first = _by_chance(scenarios[0], seed)
    told = "one after the other"
    try:
        with _started(BY_NAME["healthy"], replace(first, rank=0), folder) as job:
            for scenario in scenarios:
                rank = random.Random(f"{seed} {scenario.name} rank").randrange(first.ranks)
                trial = replace(first, state=scenario.name, rank=rank)
                told = trial.told
                with job.put_into(scenario, rank):
                    time.sleep(scenario.settle_s)
                    book.write(*_look(scenario, job, trial))
    except (RuntimeError, OSError) as error:
        print(f"{told}: NO TRIAL: {str(error)[:600]}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _by_chance(scenario: Scenario, seed: int) -> Trial:
    chance = random.Random(f"{seed} {scenario.name}")
    strategy, ranks = chance.choice(scenario.strategies), chance.choice(scenario.ranks)
    return Trial(state=scenario.name, seed=seed, strategy=strategy, ranks=ranks, rank=chance.randrange(ranks))


def _try(scenario: Scenario, trial: Trial, folder: Path, book: Book) -> None:
    try:
        with _started(scenario, trial, folder) as job:
            time.sleep(scenario.settle_s)
            book.write(*_look(scenario, job, trial))
    except (RuntimeError, OSError) as error:
        print(f"{trial.told}: NO TRIAL: {str(error)[:600]}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _healthy(asked: argparse.Namespace, base: Path, book: Book) -> Iterator[Callable[[], None]]:
    """Some looks at one job of each kind."""
    at_each = -(-asked.healthy // len(HEALTHY))
    left = asked.healthy
    for number, scenario in enumerate(HEALTHY):
        first = _by_chance(scenario, asked.seed)
        looks = [replace(first, seed=1000 * asked.seed + look) for look in range(min(at_each, left))]
        left -= len(looks)
        if looks := [one for one in looks if not book.has(one)]:
            yield partial(_looks, scenario, looks, base / f"healthy-{number}", book)


def _looks(scenario: Scenario, looks: Iterable[Trial], folder: Path, book: Book) -> None:
    pauses = random.Random(f"{scenario.name} pauses")
    try:
        first, *others = looks
        with _started(scenario, first, folder) as job:
            for trial in (first, *others):
                time.sleep(pauses.uniform(*_PAUSE_S))
                book.write(*_look(scenario, job, trial))
    except (RuntimeError, OSError) as error:
        print(f"{scenario.name}: NO TRIAL: {str(error)[:600]}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _look(scenario: Scenario, job: Job, trial: Trial) -> tuple[Score, JobLook]:
    began = time.monotonic()
    answer = look(LookOrder(pid=job.alive.pid))
    if answer.look is None:
        raise RuntimeError(f"no look: {answer.reason}")
    seen = JobLook(hosts=(answer.look,))
    return scored(scenario, trial, seen, time.monotonic() - began), seen
