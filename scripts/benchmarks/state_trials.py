"""Trials of jobs that are put into a state: which are asked for, what is kept of them, and their table."""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from benchmarks import extent

_NEEDED = 0.95


class Named(Protocol):
    """A state."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class JobTrial:
    """A state of a job, and what was said of it."""

    state: str
    seed: int
    told: str
    """What was done to the job."""
    ranks: int
    rank: int
    cause: str
    """The largest loss."""
    losses: tuple[str, ...]
    is_right: bool
    accused: bool
    """A rank to which nothing was done was named."""
    load: float


_Trial = TypeVar("_Trial", bound=JobTrial)
_State = TypeVar("_State", bound=Named)


def asked(bench: str, smallest: str, options: Sequence[str]) -> argparse.Namespace:
    """What the command line wants; `smallest`: the states of the smallest form."""
    parser = argparse.ArgumentParser(f"scripts/bench {bench}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=extent.of(20, 1), help="of each state")
    parser.add_argument("--only", default=extent.of("", smallest), help="words of the names, separated by commas")
    parser.add_argument("--out", default="", help="JSON lines; trials that are there are not repeated")
    return parser.parse_args(options)


@dataclass
class Series(Generic[_Trial, _State]):
    """The trials of the states that were asked for."""

    kind: type[_Trial]
    states: Sequence[_State]
    wanted: argparse.Namespace
    done: list[_Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        words = [word for word in self.wanted.only.split(",") if word]
        self.states = [one for one in self.states if not words or any(word in one.name for word in words)]
        self._file = Path(self.wanted.out) if self.wanted.out else None
        if self._file and self._file.exists():
            self.done = [self.kind(**json.loads(line)) for line in self._file.read_text().splitlines()]

    @property
    def left(self) -> Sequence[tuple[_State, int]]:
        """States and seeds that the file does not have."""
        known = {(one.state, one.seed) for one in self.done}
        seeds = range(self.wanted.seed, self.wanted.seed + self.wanted.trials)
        return [(one, seed) for seed in seeds for one in self.states if (one.name, seed) not in known]

    def add(self, trial: _Trial) -> None:
        self.done.append(trial)
        if self._file:
            with self._file.open("a") as out:
                out.write(json.dumps(asdict(trial)) + "\n")

    @property
    def is_met(self) -> bool:
        """Whether 19 of 20 of each state are right, and no innocent was named."""
        return all(self._is_met([one for one in self.done if one.state == state.name]) for state in self.states)

    @staticmethod
    def _is_met(trials: Sequence[_Trial]) -> bool:
        right = sum(one.is_right for one in trials)
        return right >= _NEEDED * len(trials) > 0 and not any(one.accused for one in trials)

    def table(self) -> Iterator[str]:
        yield "| state | right | an innocent rank named | load |"
        yield "|---|---|---|---|"
        for name in dict.fromkeys(one.state for one in self.done):
            mine = [one for one in self.done if one.state == name]
            loads = [one.load for one in mine]
            right, accused = sum(one.is_right for one in mine), sum(one.accused for one in mine)
            yield f"| {name} | {right}/{len(mine)} | {accused} | {min(loads)} to {max(loads)} |"
