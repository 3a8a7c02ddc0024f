"""Does a run name whom a random fault hit, and nobody else? Random signals at random moments.

scripts/bench chaos --trials 50 --seed 100     the trials of seeds 100, 101, ...
scripts/bench chaos --seed 117 --trials 1      one of them again
scripts/bench chaos --only local,probe         those whose line has these words
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks import chaos_trials, extent
from benchmarks.chaos_run import Stage
from benchmarks.chaos_trials import Trial
from benchmarks.chaos_truth import Naming, Outcome, Score, judge

TRIALS, ONLY = extent.of((30, ""), (1, "local,probe"))


def main(options: Sequence[str] = ()) -> bool:
    """Print a line for each trial, then the table; whether all of them were right."""
    asked = _asked(options)
    results = _recorded(asked.record)
    known = {one.seed for one in results}
    with (
        tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as base,
        Stage(Path(base)) as stage,
    ):
        for trial in _chosen(asked):
            if trial.seed in known:
                continue
            results.append(_one(stage, trial, asked.keep))
            if asked.record:
                with asked.record.open("a") as file:
                    file.write(f"{results[-1].line}\n")
    print("\n".join(table(results)))
    return all(one.score.is_right for one in results)


def _asked(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench chaos")
    parser.add_argument("--seed", type=int, default=1, help="the first; each trial has the next")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--repeat", type=int, default=1, help="each trial so many times")
    parser.add_argument("--only", default=ONLY, help="words of the trial, such as local,probe,SIGTERM")
    parser.add_argument("--record", type=Path, help="a file of scores: its seeds are not run again, and counted")
    parser.add_argument("--keep", type=Path, help="a folder for what wrong trials left")
    return parser.parse_args(options)


def _chosen(asked: argparse.Namespace) -> Iterator[Trial]:
    words, seed, found = [word for word in asked.only.split(",") if word], asked.seed, 0
    while found < asked.trials:
        trial = chaos_trials.draw(seed)
        if all(word in f"{trial}" for word in words):
            yield from [trial] * asked.repeat
            found += 1
        seed += 1


@dataclass(frozen=True, slots=True)
class Result:
    """A trial and its score."""

    seed: int
    trial: str
    target: str
    act: str
    score: Score

    @property
    def line(self) -> str:
        """For a file of results."""
        return msgspec.json.encode(self).decode()


def _recorded(file: Path | None) -> list[Result]:
    if file is None or not file.exists():
        return []
    return [msgspec.json.decode(line, type=Result) for line in file.read_bytes().splitlines()]


def _one(stage: Stage, trial: Trial, keep: Path | None) -> Result:
    print(f"seed {trial.seed} {trial}", flush=True)
    outcome, folder = stage.run(trial)
    score = judge(trial, stage.place(trial.scene).hosts(trial.scene), outcome)
    print(f"    -> {_line(score, outcome)}", flush=True)
    if not score.is_right:
        for one in (outcome.document or {}).get("findings", ()):
            print(f"    {one['severity']} {one['code']} {one['subject']['name']}: {one['message']}", flush=True)
        if keep:
            shutil.copytree(folder, keep / f"seed-{trial.seed}-{time.time_ns()}", symlinks=True)
    shutil.rmtree(folder, ignore_errors=True)
    return Result(trial.seed, f"{trial}", trial.target, trial.act, score)


def _line(score: Score, outcome: Outcome) -> str:
    named = ", ".join(" ".join(name) for name in score.named) or "nobody"
    wrong = [word for word, good in (("exit", score.is_exit_right), ("JSON", score.is_document_whole)) if not good]
    wrong += [f"left: {', '.join(score.left)}"] if score.left else []
    verdict = "ok" if score.is_right else f"WRONG {'; '.join([score.naming, *wrong])}"
    ended = "did not end" if outcome.code is None else f"exit {outcome.code}"
    ended += "" if outcome.was_hit else ", not hit"
    return f"{named}, {ended}, {score.seconds:.1f} s: {verdict}"


def table(results: Iterable[Result]) -> Iterator[str]:
    """The sums by target and act, in Markdown. What was not hit had ended before."""
    groups: dict[tuple[str, str], list[Score]] = {}
    everything: list[Score] = []
    for one in results:
        groups.setdefault((one.target, chaos_trials.group(one.act)), []).append(one.score)
        everything.append(one.score)
    yield _line_of(_HEADINGS)
    yield _line_of("---" for _ in _HEADINGS)
    for (target, act), scores in sorted(groups.items()):
        yield _row(target, act, scores)
    yield _row("all", "", everything)


_HEADINGS = (
    *("target", "act", "trials", "hit", "right"),
    *("unnamed", "innocent", "wrong exit", "broken JSON", "left", "longest"),
)


def _line_of(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(target: str, act: str, scores: Sequence[Score]) -> str:
    counts = (
        len(scores),
        sum(one.was_hit for one in scores),
        sum(one.is_right for one in scores),
        sum(one.naming is Naming.UNNAMED for one in scores),
        sum(one.naming is Naming.INNOCENT for one in scores),
        sum(not one.is_exit_right for one in scores),
        sum(not one.is_document_whole for one in scores),
        sum(bool(one.left) for one in scores),
    )
    longest = f"{max((one.seconds for one in scores), default=0.0):.0f} s"
    return _line_of((target, act, *map(str, counts), longest))
