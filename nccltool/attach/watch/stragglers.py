"""Which rank the others wait for again and again: one observation for each look, over many looks. Pure."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from nccltool.attach.judge.result import LEVELS, Culprit, Level
from nccltool.attach.judge.table import BY_CAUSE
from nccltool.attach.judge.views import RankView, views
from nccltool.attach.seen.job import JobLook

_GLOO = "pt_gloo_runloop"
_KEPT = 200
_OFTEN = 0.9
"""Share of the looks in which the same rank came last, of those in which one did."""
_LEAST, _CERTAIN = 5, 20
"""Looks for medium and for high confidence: the decision table asks for 20 operations."""


@dataclass(slots=True)
class StragglerWatch:
    """Who waited in which look."""

    _looks: "deque[tuple[frozenset[int], frozenset[int]]]" = field(default_factory=lambda: deque(maxlen=_KEPT))
    """(ranks that waited for others, ranks that did not)."""

    def add(self, look: JobLook) -> None:
        """A look at a job that moves: ranks that were not seen say nothing."""
        seen = [view for view in views(look) if view.rank is not None and _is_told(view)]
        waited = frozenset(view.rank for view in seen if view.rank is not None and _waits(view))
        others = frozenset(view.rank for view in seen if view.rank is not None) - waited
        if len(seen) > 1:
            self._looks.append((waited, others))

    def clear(self) -> None:
        """Another attempt of the job has other ranks."""
        self._looks.clear()

    @property
    def looks(self) -> int:
        return len(self._looks)

    def found(self) -> Iterator[Culprit]:
        last = Counter(next(iter(others)) for waited, others in self._looks if len(others) == 1 and waited)
        shares = self._shares()
        if not last or not shares:
            return
        rank, count = last.most_common(1)[0]
        of = sum(last.values())
        if count < _LEAST or count < _OFTEN * of or min(shares, key=lambda one: shares[one]) != rank:
            return
        usual = sorted(shares.values())[len(shares) // 2]
        told = (
            f"the others waited for it in {count} of {of} looks in which one rank was last",
            f"it waited for others in {shares[rank]:.0%} of {self.looks} looks; usual is {usual:.0%}",
        )
        row = BY_CAUSE["straggler"]
        level: Level = "high" if count >= _CERTAIN else "medium"
        yield Culprit(
            cause="straggler",
            level=min(level, row.level, key=LEVELS.index),
            row=row.number,
            message=f"rank {rank} is last again and again",
            rank=rank,
            evidence=told,
            rivals=row.rivals,
            next_steps=row.next_steps,
        )

    def _shares(self) -> dict[int, float]:
        """Of the looks at a rank, those in which it waited for others."""
        waits: Counter[int] = Counter(rank for waited, _ in self._looks for rank in waited)
        seen: Counter[int] = Counter(rank for waited, others in self._looks for rank in (*waited, *others))
        return {rank: waits[rank] / count for rank, count in seen.items()}


def _waits(view: RankView) -> bool:
    """At this moment: in one sample, a backward pass over Gloo that does not run waits for gradients."""
    process = view.process
    is_gloo = process is not None and process.state == "S" and _GLOO in process.threads
    return view.phase.waits_for_ranks or (view.phase.kind == "backward" and is_gloo)


def _is_told(view: RankView) -> bool:
    return not view.condition and view.phase.kind != "unknown"
