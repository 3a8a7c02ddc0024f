"""Is the root cause right? Failures of public threads, retold as logs, by the round in which they were judged.

scripts/bench failures                the rounds of tests/data/failures
scripts/bench failures --files A B    other files of the same form
scripts/bench failures --wrong        and each case that was answered wrongly
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from tabulate import tabulate

from benchmarks import extent

_ROOT = Path(__file__).resolve().parents[2]
ROUNDS = _ROOT / "tests/data/failures"
TARGET_TOP_1, TARGET_LABELS, TARGET_OFFENDERS = 0.93, 0.90, 0.85
CASES = extent.of(sys.maxsize, 3)
_BANDS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9)
"""Where the bands of the reliability table begin."""


class Suspect(msgspec.Struct, frozen=True):
    """What to look at first, spelled as in the log."""

    kind: str
    """`equivalent`: another name that the second reader accepts."""
    name: str


class Failure(msgspec.Struct, frozen=True):
    """A failure, and what its thread proved."""

    id: str
    url: str | None
    """None: a healthy run that no thread is about."""
    read: str
    """The day."""
    root_cause: str
    offenders: tuple[Suspect, ...]
    second_label: str | None
    """What another reader called it, who did not know the label; None: nobody else has read it."""
    proof: str
    log: str


@dataclass(frozen=True)
class Answer:
    """What triage said about a failure."""

    failure: Failure
    labels: tuple[str, ...]
    """The most likely first."""
    confidence: float
    offender: Suspect | None

    @property
    def is_right(self) -> bool:
        return self.labels[0] == self.failure.root_cause

    @property
    def names_offender(self) -> bool:
        named = {one.name.lower() for one in self.failure.offenders}
        return self.offender is not None and not named.isdisjoint(spellings(self.offender))


_SPELLINGS = {
    "rank": ("rank {}", "rank{}", "[rank{}]", "rank={}"),
    "process": ("pid {}", "pid={}"),
    "gpu": ("gpu {}", "pci:{}", "0000{}.0", "cuda device {}"),
    "device": ("pci:{}",),
    "library": ("nccl=={}",),
}


def spellings(suspect: Suspect) -> set[str]:
    """Its name, and how logs spell a name of this kind; all in lower case."""
    name = suspect.name.lower()
    base = name.rpartition("/")[2] or name
    return {name, base, *(form.format(name) for form in _SPELLINGS.get(suspect.kind, ()))}


def main(options: Sequence[str] = ()) -> bool:
    """Print a line for each round, and how far a confidence can be believed; whether the targets are met."""
    asked = _asked(options)
    rounds = {file.stem: [answer(one) for one in failures(file)[:CASES]] for file in asked.files}
    every = [one for answers in rounds.values() for one in answers]
    rounds = {**rounds, "all": every} if len(rounds) > 1 else rounds
    print(tabulate([_row(name, answers) for name, answers in rounds.items()], headers=_HEADERS, tablefmt="github"))
    print(
        f"\n{tabulate(list(_reliability(every)), headers=('confidence', 'answers', 'right'), tablefmt='github')}"
    )
    print(f"\n{_agreement(every)}")
    for wrong in (one for one in every if asked.wrong and not one.is_right):
        print(f"{wrong.failure.id}: {wrong.failure.root_cause}, not {wrong.labels} at {wrong.confidence:.2f}")
    shares = _shares(every)
    return shares.top_1 >= TARGET_TOP_1 and shares.labels >= TARGET_LABELS and shares.offenders >= TARGET_OFFENDERS


def failures(file: Path) -> list[Failure]:
    """The cases of a round, in the order of the file."""
    return [msgspec.json.decode(line, type=Failure) for line in file.read_bytes().splitlines() if line.strip()]


def answer(failure: Failure) -> Answer:
    """What triage says about the log alone."""
    from nccltool.triage import run as triaging

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "job.log"
        log.write_text(failure.log, newline="")
        found = triaging.triage([str(log)], ())
    labels = tuple(one.root_cause for one in found.candidates) or (found.root_cause,)
    suspect = Suspect(found.offender.kind, found.offender.name) if found.offender else None
    return Answer(failure, labels, found.confidence, suspect)


@dataclass(frozen=True)
class _Shares:
    top_1: float
    labels: float
    """The mean over labels: each counts the same."""
    top_3: float
    offenders: float
    false_alarms: int
    healthy: int


def _shares(answers: Sequence[Answer]) -> _Shares:
    labels = Counter(one.failure.root_cause for one in answers)
    right = Counter(one.failure.root_cause for one in answers if one.is_right)
    accused = [one for one in answers if one.failure.offenders]
    healthy = [one for one in answers if one.failure.root_cause == "none"]
    return _Shares(
        top_1=_share(one.is_right for one in answers),
        labels=sum(right[label] / count for label, count in labels.items()) / max(1, len(labels)),
        top_3=_share(one.failure.root_cause in one.labels[:3] for one in answers),
        offenders=_share(one.names_offender for one in accused),
        false_alarms=sum(not one.is_right for one in healthy),
        healthy=len(healthy),
    )


def _share(hits: Iterable[bool]) -> float:
    counted = list(hits)
    return sum(counted) / max(1, len(counted))


_HEADERS = ("round", "cases", "top 1", "mean over labels", "top 3", "offender", "false alarms")


def _row(name: str, answers: Sequence[Answer]) -> tuple[str, ...]:
    found = _shares(answers)
    shares = (found.top_1, found.labels, found.top_3, found.offenders)
    return (name, str(len(answers)), *(f"{one:.3f}" for one in shares), f"{found.false_alarms} of {found.healthy}")


def _reliability(answers: Sequence[Answer]) -> Iterator[tuple[str, int, str]]:
    """Of answers given with a confidence, how many are right."""
    for least, most in zip(_BANDS, (*_BANDS[1:], 1.01), strict=True):
        inside = [one for one in answers if least <= one.confidence < most]
        if inside:
            yield f"{least:g} to {min(most, 1):g}", len(inside), f"{_share(one.is_right for one in inside):.2f}"


def _agreement(answers: Sequence[Answer]) -> str:
    read = [one.failure for one in answers]
    twice = [(one.root_cause, one.second_label) for one in read if one.second_label]
    same = sum(first == second for first, second in twice)
    return f"Two readers agree on {same} of {len(twice)} labels (Cohen's kappa {kappa(twice):.2f})."


def kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """How far two readers agree beyond what chance gives to readers who use the labels as often as they do."""
    firsts, seconds = (Counter(labels) for labels in zip(*pairs, strict=True)) if pairs else (Counter(), Counter())
    chance = sum(firsts[label] * seconds[label] for label in firsts) / max(1, len(pairs)) ** 2
    agreed = _share(first == second for first, second in pairs)
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def _asked(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench failures")
    parser.add_argument("--files", nargs="+", type=Path, default=sorted(ROUNDS.glob("*.jsonl")))
    parser.add_argument("--wrong", action="store_true", help="list each case that was answered wrongly")
    return parser.parse_args(options)
