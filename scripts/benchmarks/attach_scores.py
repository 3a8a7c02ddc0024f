"""Whether a verdict on a job is right, a file of what came out, and the looks that it came from."""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.attach_states import HEALTHY, SCENARIOS, Scenario
from nccltool.attach import saved
from nccltool.attach.judge.judge import judge
from nccltool.attach.judge.result import AttachVerdict
from nccltool.attach.seen.job import JobLook

_BY_NAME = {one.name: one for one in (*SCENARIOS, *HEALTHY)}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One job, and what is done to it."""

    state: str
    seed: int
    strategy: str
    ranks: int
    rank: int

    @property
    def told(self) -> str:
        return f"{self.state}, seed {self.seed}: {self.strategy}, {self.ranks} ranks, rank {self.rank}"


@dataclass(frozen=True, kw_only=True)
class Score(Trial):
    """A look, and whether it was right."""

    is_right: bool
    wrong_with_high: bool
    verdict: str
    culprits: tuple[str, ...]
    message: str
    took_s: float
    load: float
    """Of the machine, over the last minute."""
    commit: str


def scored(scenario: Scenario, trial: Trial, seen: JobLook, took_s: float) -> Score:
    verdict = judge(seen)
    named = [one for one in verdict.culprits if one.level != "low"]
    innocent = any(
        one.level == "high" and one.rank is not None and (one.rank != trial.rank or not scenario.causes)
        for one in named
    )
    is_right = verdict.state in scenario.states and _culprits_are_right(scenario, trial.rank, verdict)
    culprits = tuple(f"{one.cause} rank {one.rank} {one.host} {one.level}" for one in verdict.culprits[:4])
    told = [f"{trial.told}: {verdict.state}, {'; '.join(culprits) or 'nobody'}: {'ok' if is_right else 'WRONG'}"]
    print("\n".join((*told, *(() if is_right else _details(verdict)))), flush=True)
    return Score(
        state=trial.state,
        seed=trial.seed,
        strategy=trial.strategy,
        ranks=trial.ranks,
        rank=trial.rank,
        is_right=is_right,
        wrong_with_high=innocent,
        verdict=verdict.state,
        culprits=culprits,
        message=verdict.message,
        took_s=took_s,
        load=os.getloadavg()[0],
        commit=_commit(),
    )


def _culprits_are_right(scenario: Scenario, rank: int, verdict: AttachVerdict) -> bool:
    named = [one for one in verdict.culprits if one.level != "low"]
    if not scenario.causes:
        return not named
    if not named or named[0].cause not in scenario.causes:
        return False
    ranks = {one.rank for one in named if one.rank is not None}
    return ranks == ({rank} if scenario.names_rank else set())


def _details(verdict: AttachVerdict) -> Iterator[str]:
    yield f"    {verdict.message}; missing {verdict.missing}; {verdict.notes}"
    for now in verdict.ranks:
        what = f"{now.condition} {now.phase.text} ({now.phase.kind}) at {now.phase.where}"
        yield f"    rank {now.rank} {what}, moves {now.moves}, since {now.since_s}, CPU {now.cpu_share}"
    for one in verdict.culprits:
        yield f"    {one.level} {one.cause} {one.message}: {one.evidence}"


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return done.stdout.strip()


class Book:
    """The scores so far, in memory and in a file of JSON lines; the looks beside it."""

    def __init__(self, file: str) -> None:
        self.file = Path(file) if file else None
        self.scores: list[Score] = []
        if self.file is not None and self.file.exists():
            self.scores = [_read(line) for line in self.file.read_text().splitlines()]

    def has(self, trial: Trial) -> bool:
        return any((one.state, one.seed) == (trial.state, trial.seed) for one in self.scores)

    def write(self, score: Score, seen: JobLook) -> None:
        self.scores.append(score)
        if self.file is None:
            return
        with self.file.open("a") as lines:
            lines.write(json.dumps(asdict(score)) + "\n")
        self._kept(score).parent.mkdir(exist_ok=True)
        self._kept(score).write_text(saved.written(seen))

    def judge_again(self) -> None:
        """The looks that were kept; a trial without its look is left out."""
        self.scores = [
            scored(_BY_NAME[score.state], score, saved.load(str(kept)), score.took_s)
            for score in self.scores
            if (kept := self._kept(score)).exists()
        ]

    def _kept(self, score: Score) -> Path:
        assert self.file is not None
        return Path(f"{self.file}.looks") / f"{score.state.replace(' ', '-').replace(':', '')}-{score.seed}.json"


def _read(line: str) -> Score:
    told = json.loads(line)
    return Score(**told | {"culprits": tuple(told["culprits"])})


def table(scores: Iterable[Score]) -> Iterator[str]:
    """In Markdown: right of all, and how many named an innocent rank with high confidence."""
    by_name: dict[str, list[Score]] = {}
    for one in scores:
        by_name.setdefault(one.state, []).append(one)
    yield "| state | right | wrong rank, high confidence | called hung | called slow |"
    yield "|---|---|---|---|---|"
    for name, group in by_name.items():
        right, innocent = sum(one.is_right for one in group), sum(one.wrong_with_high for one in group)
        hung, slow = (sum(one.verdict == word for one in group) for word in ("hung", "slow"))
        yield f"| {name} | {right}/{len(group)} | {innocent} | {hung} | {slow} |"
