"""Does `nccltool attach` say the state of a job on several hosts, in Slurm, or in containers, and name the rank?

scripts/bench attach_far --place ssh --trials 8             eight of each state, over ssh
scripts/bench attach_far --place slurm --only stopped       states whose names have this word
scripts/bench attach_far --place containers --seed 7 --trials 1
"""

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import extent
from benchmarks.attach_far_job import FarJob
from benchmarks.attach_far_states import STATES, FarState
from benchmarks.attach_places.base import Place, Sight

_PLACES = {"ssh": "OverSsh", "slurm": "InSlurm", "containers": "InContainers"}


@dataclass(frozen=True)
class FarScore:
    """A look, and whether it was right."""

    state: str
    seen_from: str
    is_right: bool
    innocent: bool
    """A rank or host was named with high confidence that did nothing."""
    said: str


def main(options: Sequence[str] = ()) -> bool:
    """Print a line a look, then the table; whether no innocent was named for certain and no healthy job hung."""
    asked = _asked(options)
    module = import_module(f"benchmarks.attach_places.{asked.place}")
    kind = getattr(module, _PLACES[asked.place])
    if reason := kind.missing():
        print(f"{asked.place}: {reason}")
        return True
    scores: list[FarScore] = []
    with (
        tempfile.TemporaryDirectory(prefix="attach-far-", ignore_cleanup_errors=True) as base,
        ExitStack() as stack,
    ):
        Path(base).chmod(0o755)
        place = kind(Path(base), stack)
        for trial in range(asked.trials):
            for state in _chosen(asked.place, asked.only):
                scores += _trial(place, state, asked.seed + trial, Path(base))
    print("\n".join(table(scores)))
    return not any(one.innocent or (one.state.startswith("healthy") and one.said == "hung") for one in scores)


def _asked(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench attach_far")
    parser.add_argument("--place", choices=tuple(_PLACES), default="ssh")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=extent.of(8, 1), help="of each state")
    parser.add_argument("--only", default=extent.of("", "dead"), help="words of the names, separated by commas")
    return parser.parse_args(options)


def _chosen(place: str, only: str) -> Iterator[FarState]:
    words = [word for word in only.split(",") if word]
    for one in STATES:
        if place in one.places and (not words or any(word in one.name for word in words)):
            yield one


def _trial(place: Place, state: FarState, seed: int, base: Path) -> Iterator[FarScore]:
    chance = random.Random(f"{seed} {state.name}")
    per_host = chance.choice(state.per_host)
    hosts = place.hosts()
    hosts = hosts if state.hidden or per_host == 1 else hosts[: chance.choice((2, len(hosts)))]
    world = len(hosts) * per_host
    lowest = per_host if state.hidden == "fault" else 0
    rank = chance.randrange(lowest, world)
    if state.hidden == "other":
        rank = chance.randrange(2 * per_host)
    job = FarJob(
        state=state,
        strategy=chance.choice(state.strategies),
        launcher=chance.choice(state.launchers),
        hosts=hosts,
        per_host=per_host,
        rank=rank,
        folder=base / f"{seed}-{state.name.replace(' ', '-')}",
    )
    told = f"{state.name}, seed {seed}: {job.strategy}, {job.launcher}, {len(hosts)} x {per_host}, rank {rank}"
    try:
        job.prepare()
        with place.started(job):
            job.come_to_fault()
            place.act(job)
            time.sleep(state.settle_s)
            for sight in place.sights(job):
                yield _score(job, sight, f"{told}, from {sight.seen_from}")
    except (RuntimeError, OSError) as error:
        print(f"{told}: NO TRIAL: {str(error)[:900]}", flush=True)
    finally:
        shutil.rmtree(job.folder, ignore_errors=True)


def _score(job: FarJob, sight: Sight, told: str) -> FarScore:
    document = sight.document
    culprits = [one for one in document.get("culprits", ()) if one["level"] != "low"]
    state = str(document.get("state", "none"))
    may_be_unknown = sight.is_partial and state == "unknown"
    is_right = (state in job.state.states or may_be_unknown) and _names(job, sight, culprits)
    innocent = any(one["level"] == "high" and not _is_guilty(job, sight, one) for one in culprits)
    print(f"{told}: {document.get('message', sight.said)}: {'ok' if is_right else 'WRONG'}", flush=True)
    if not is_right or innocent:
        print("\n".join(_details(document, sight)), flush=True)
    return FarScore(job.state.name, sight.seen_from, is_right, innocent, state)


def _names(job: FarJob, sight: Sight, culprits: Sequence[Any]) -> bool:
    if job.state.named == "nobody":
        return not [one for one in culprits if one["rank"] is not None]
    if not culprits:
        return sight.is_partial
    first = culprits[0]
    return first["cause"] in job.state.causes and all(_is_guilty(job, sight, one) for one in culprits)


def _is_guilty(job: FarJob, sight: Sight, one: Any) -> bool:
    """Whether a suspect is who did it."""
    named, host = job.state.named, sight.host or job.host_of(job.rank)
    if named == "rank":  # numbers are variables, which only the job's user reads
        is_pid = sight.is_partial and one["rank"] is None and f"pid {job.of_rank(job.rank)} " in one["message"]
        return bool(one["host"] == host and (is_pid or one["rank"] == job.rank))
    if named == "host":  # between two hosts, either may be at fault: then none is the subject
        return one["rank"] is None and (one["host"] or f"{one['message']} ").find(host) >= 0
    if named == "store":
        return one["rank"] is None and (one["host"] in ("", job.hosts[0]))
    return False


def _details(document: Any, sight: Sight) -> Iterator[str]:
    yield f"    {sight.said}"
    for one in document.get("ranks", ()):
        what = f"{one['condition']} {one['detail']} ({one['phase']}) at {one['where']}"
        yield f"    rank {one['rank']} on {one['host']} {what}, moves {one['moves']}, since {one['since_s']}"
    for one in document.get("culprits", ()):
        yield f"    {one['level']} {one['cause']} {one['message']} ({one['host']}): {one['evidence']}"
    yield f"    notes {document.get('notes')}, unread {[one['what'] for one in document.get('unread', ())][:6]}"


def table(scores: Iterable[FarScore]) -> Iterator[str]:
    """In Markdown."""
    by_name: dict[tuple[str, str], list[FarScore]] = {}
    for one in scores:
        by_name.setdefault((one.state, one.seen_from), []).append(one)
    yield "| state | seen from | right | innocent named, high confidence | states |"
    yield "|---|---|---|---|---|"
    for (name, seen_from), group in by_name.items():
        right, innocent = sum(one.is_right for one in group), sum(one.innocent for one in group)
        states = ", ".join(sorted({one.said for one in group}))
        yield f"| {name} | {seen_from} | {right}/{len(group)} | {innocent} | {states} |"
