"""Does `localize` name what is slow, and nothing else? Simulated fabrics, this check and seven other schemes.

`scripts/bench localize [--part 2/3]`: rows of docs/localize.md. A run is exact if what is named is what is slow.
The other schemes are told the healthy bandwidth; this check is not. Each run has a seed of its own.
"""

import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from benchmarks import extent
from benchmarks.localize_cases import CASES, LARGE, Trial
from benchmarks.localize_fabric import HEALTHY, Fabric, draw
from benchmarks.localize_mixed import innocent, mixed
from benchmarks.localize_schemes import SCHEMES
from nccltool.localize.judge import judge
from nccltool.localize.result import Localization, Suspect
from nccltool.localize.schedule import circle, next_round
from nccltool.localize.schedule.adaptive import FIRST_ROUNDS

_STEPS = (0.9, 0.95, 0.99, 1.0)
_LARGE_S, _LARGE_MIB = 2.0, 400
_MIXED, _MOST_INNOCENT = 500, 0.005
Name = tuple[str, str, tuple[str, ...]]
"""Kind, direction, subject."""


@dataclass(kw_only=True)
class Score:
    """Of one case."""

    runs: int = 0
    exact: int = 0
    named: int = 0
    faults: int = 0
    wrong: int = 0
    rounds: int = 0
    verdicts: list[tuple[float, bool]] = field(default_factory=list)
    """Confidence of each suspect, and whether it was one."""

    def add(self, found: set[Name], truth: set[Name], rounds: int) -> None:
        """One run."""
        self.runs += 1
        self.exact += found == truth
        self.named += len(found & truth)
        self.faults += len(truth)
        self.wrong += len(found - truth)
        self.rounds += rounds


def main(options: Sequence[str] = ()) -> bool:
    """Print a row a case, the reliability, and the cost; whether the goals are met."""
    part, parts = (int(word) for word in options[1].split("/")) if options else (1, 1)
    print("| case | runs | exact | recall | false per run | rounds | " + " | ".join(SCHEMES) + " |")
    verdicts: list[tuple[float, bool]] = []
    met = []
    for trial in CASES[part - 1 :: parts]:
        runs = extent.of(trial.runs, 2)
        score = of_check(trial, runs)
        verdicts += score.verdicts
        others = [of_scheme(trial, name, runs) for name in SCHEMES] if trial.has_others else []
        good = trial.is_met(score.exact / runs, score.named / max(score.faults, 1), score.wrong / runs)
        met.append(good)
        print(_row(trial, score, others), "" if good else "MISSED", flush=True)
    print(*_reliability(verdicts), sep="\n", flush=True)
    return all([*met, part > 1 or (_large() & _mixed())])


def of_check(trial: Trial, runs: int, begin: int = 0) -> Score:
    """This check, with the rounds that it asks for."""
    score = Score()
    for seed in range(begin, begin + runs):
        fabric = draw(trial.case, seed)
        found = localized(fabric, seed)
        truth = faults(fabric)
        score.add({named(each) for each in found.suspects}, truth, fabric.rounds)
        score.verdicts += [(each.confidence, named(each) in truth) for each in found.suspects]
    return score


def of_scheme(trial: Trial, name: str, runs: int) -> Score:
    """One of the others: nodes only."""
    score = Score()
    for seed in range(runs):
        fabric = draw(trial.case, seed)
        found: set[Name] = {("node", "both", (node,)) for node in SCHEMES[name](fabric)}
        score.add(found, faults(fabric), fabric.rounds)
    return score


def localized(fabric: Fabric, seed: int) -> Localization:
    """Rounds until it is sure or has no more; then the run that it asks for."""
    found = _run(fabric, seed)
    if not fabric.case.is_followed or found.scope != "nothing-slow" or _has_all_links(fabric):
        return found
    fabric.seen = []
    fabric.case = replace(fabric.case, is_all_pairs=True)
    return _run(fabric, seed)


def _has_all_links(fabric: Fabric) -> bool:
    count = len(fabric.names)
    met = {frozenset(each.members) for each in fabric.seen if each.busbw_bytes_per_s is not None}
    return len(met) == count * (count - 1) // 2


def _run(fabric: Fabric, seed: int) -> Localization:
    case = fabric.case
    expected = HEALTHY if case.is_expected else None
    before = fabric.rounds
    earliest = circle.rounds_of(len(fabric.names)) if case.is_all_pairs else FIRST_ROUNDS
    while True:
        found = (
            judge(
                fabric.seen,
                nodes=fabric.names,
                topology=fabric.topology,
                expected_busbw_bytes_per_s=expected,
                counters=fabric.counters,
            )
            if fabric.rounds - before >= earliest
            else None
        )
        members = next_round(
            fabric.names,
            fabric.seen,
            topology=fabric.topology,
            seed=seed,
            most_rounds=case.most_rounds,
            is_all_pairs=case.is_all_pairs,
            group_size=case.group_size,
            found=found,
        )
        if not members:
            return found or judge(fabric.seen, nodes=fabric.names, topology=fabric.topology)
        fabric.measure(members)


def faults(fabric: Fabric) -> set[Name]:
    """What should be named; nobody if most of the fabric is slow and nothing tells what it should reach."""
    if not fabric.case.is_expected and len(fabric.bad) > len(fabric.names) / 2:
        return set()
    way = fabric.case.way
    return {
        *(("node", way, (name,)) for name in fabric.bad),
        *(("node", "both", (name,)) for name in fabric.dead),
        *(
            ("link", *(("both", tuple(sorted(ends))) if way == "both" else ("send", ends)))
            for ends in fabric.links
        ),
        *(("rail", "both", rail) for rail in fabric.rails),
        *(("group", "both", members) for members in fabric.groups),
        *(
            ("group", "both", tuple(name for name in fabric.names if fabric.leaf_of[name] == leaf))
            for leaf in fabric.uplinks
        ),
    }


def named(suspect: Suspect) -> Name:
    """To compare with the truth."""
    return suspect.kind, suspect.direction, suspect.subject


def _row(trial: Trial, score: Score, others: Sequence[Score]) -> str:
    cells = [
        trial.case.name,
        f"{score.runs:,}",
        f"{score.exact / score.runs:.4g}",
        f"{score.named / score.faults:.4g}" if score.faults else "",
        f"{score.wrong / score.runs:.3g}",
        f"{score.rounds / score.runs:.1f}",
        *(f"{other.exact / other.runs:.3g}" for other in others),
    ]
    return f"| {' | '.join(cells)} |"


def _reliability(verdicts: Sequence[tuple[float, bool]]) -> Iterator[str]:
    yield "| confidence | verdicts | right |"
    for low, high in pairwise(_STEPS):
        here = [is_right for confidence, is_right in verdicts if low <= confidence < high]
        yield f"| {low:g} to {high:g} | {len(here):,} | {f'{sum(here) / len(here):.3f}' if here else ''} |"


def _mixed() -> bool:
    runs = extent.of(_MIXED, 2)
    score, wrong = of_mixed(runs)
    for seed, names in wrong:
        print(f"  seed {seed}: innocent {sorted(names)}")
    good = len(wrong) <= _MOST_INNOCENT * runs
    print(
        f"{runs} random combinations: {score.named} of {score.faults} faults named, an innocent in {len(wrong)}"
        f" runs (at most {_MOST_INNOCENT:g} per run), another part of what is bad {score.wrong} times"
        f" {'ok' if good else 'MISSED'}",
        flush=True,
    )
    return good


def of_mixed(runs: int, begin: int = 0) -> tuple[Score, list[tuple[int, set[Name]]]]:
    """Faults of several kinds at the same time; the seeds of the runs in which an innocent was named."""
    score, wrong = Score(), []
    for seed in range(begin, begin + runs):
        fabric = draw(mixed(seed), seed)
        found, truth = {named(each) for each in localized(fabric, seed).suspects}, faults(fabric)
        score.add(found, truth, fabric.rounds)
        if names := innocent(fabric, found, truth):
            wrong.append((seed, names))
    return score, wrong


def _large() -> bool:
    fabric = draw(extent.of(LARGE.case, CASES[0].case), 1)
    began = time.process_time()
    found = localized(fabric, 1)
    rounds_s = time.process_time() - began
    began = time.process_time()
    judge(fabric.seen, nodes=fabric.names)
    once_s = time.process_time() - began
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    is_exact = {named(each) for each in found.suspects} == faults(fabric)
    good = is_exact and once_s < _LARGE_S and mib < _LARGE_MIB
    print(
        f"{len(fabric.names)} nodes, {len(fabric.bad)} bad: {'exact' if is_exact else 'NOT EXACT'} after"
        f" {fabric.rounds} rounds; one check {once_s:.1f} s of a core (under {_LARGE_S:g}), {mib:.0f} MiB"
        f" (under {_LARGE_MIB}), all rounds {rounds_s:.1f} s {'ok' if good else 'MISSED'}"
    )
    return good
