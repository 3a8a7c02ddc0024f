"""All that is known of a job, prepared for the causes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nccltool.attach.judge.groups import phase_groups
from nccltool.attach.judge.missing import MissingRank, missing_ranks
from nccltool.attach.judge.progress import NO_PROGRESS, JobProgress, progress_of
from nccltool.attach.judge.ras_evidence import RasEvidence, of_answers
from nccltool.attach.judge.result import LEVELS, CauseName, Culprit, Level, PhaseGroup, Wait
from nccltool.attach.judge.table import BY_CAUSE
from nccltool.attach.judge.views import RankView, ends_of, idle_s, views
from nccltool.attach.judge.waits import waits
from nccltool.attach.seen.job import JobLook
from nccltool.attach.seen.sources import RecorderSeen

_ENOUGH = 0.9
"""Share of the ranks that must have been read: the decision table lowers the confidence below it."""
_NCCL_THREADS = "pt_nccl"
_IN_PROC: frozenset[CauseName] = frozenset(("dead", "out-of-memory", "stopped", "frozen", "traced"))
"""What /proc and cgroups show without any stack."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A job and what follows from its samples."""

    look: JobLook
    views: tuple[RankView, ...]
    groups: tuple[PhaseGroup, ...]
    waits: tuple[Wait, ...]
    waiting: tuple[RankView, ...]
    """Ranks that run and wait for others, for the store, or, with NCCL, for the GPU."""
    suspects: tuple[RankView, ...]
    """Ranks that run and wait for nobody in the job."""
    blocked: bool | None
    """Whether all waiting ranks are still; None = nobody waits, or one sample."""
    since_s: float | None
    """For how long, at least."""
    absent: tuple[MissingRank, ...]
    """Ranks that should be on hosts that were looked at."""
    not_looked_at: int
    recorders: tuple[RecorderSeen, ...]
    ras: RasEvidence
    is_nccl: bool
    is_blind: bool
    """No stack of any rank was read: /proc, cgroups, and connections are all there is."""
    progress: JobProgress = NO_PROGRESS
    unseen: tuple[int, ...] = ()
    """Ranks of the job that no host that was looked at should have, or of which that is not known."""

    @property
    def missing(self) -> tuple[int, ...]:
        """Their numbers."""
        return tuple(one.rank for one in self.absent)

    @property
    def running(self) -> tuple[RankView, ...]:
        return tuple(view for view in self.views if view.condition != "dead")

    @property
    def lowered(self) -> tuple[str, ...]:
        """Why the confidence is one level lower."""
        return tuple(self._lowered())

    def _lowered(self) -> Iterator[str]:
        read = [view for view in self.views if view.phase.kind != "unknown" or view.condition]
        expected = max(len(self.views) + self.not_looked_at, 1)
        if len(read) < _ENOUGH * expected:
            none = "no stack could be read: lines and operations are unknown"
            yield none if self.is_blind else f"only {len(read)} of {expected} ranks could be read"
        if all(len(view.samples) < 2 for view in self.views):
            yield "there is only one sample"

    @property
    def _is_in_proc(self) -> bool:
        """Whether /proc was read of nearly all ranks, twice."""
        read = [view for view in self.views if len(view.samples) > 1]
        return len(read) >= _ENOUGH * (len(self.views) + self.not_looked_at)

    def culprit(
        self,
        cause: CauseName,
        message: str,
        *evidence: str,
        level: Level | None = None,
        rank: int | None = None,
        host: str = "",
        rivals: tuple[str, ...] = (),
    ) -> Culprit:
        """With the level of its row, or `level` where the evidence is weaker, less what lowers all."""
        row = BY_CAUSE[cause]
        place = min(LEVELS.index(row.level), LEVELS.index(level or row.level))
        is_lowered = bool(self.lowered) and not (cause in _IN_PROC and self._is_in_proc)
        place = max(0, place - is_lowered)
        return Culprit(
            cause=cause,
            level=LEVELS[place],
            row=row.number,
            message=message,
            rank=rank,
            host=host,
            evidence=tuple(one for one in evidence if one),
            rivals=(*rivals, *row.rivals, *(row.rivals_of_first if rank == 0 else ())),
            next_steps=row.next_steps,
        )

    def of_rank(
        self, cause: CauseName, view: RankView, text: str, *evidence: str, level: Level | None = None
    ) -> Culprit:
        """About one rank: `text` follows its name."""
        return self.culprit(
            cause,
            f"{view.name} {text}",
            *evidence,
            level=level,
            rank=view.rank,
            host=view.found.host,
        )


def case_of(look: JobLook) -> Case:
    seen = views(look)
    is_nccl = any(name.startswith(_NCCL_THREADS) for view in seen for name in _threads(view))
    is_blind = all(view.is_unseen or view.condition for view in seen)
    running = [view for view in seen if not view.condition and (is_blind or view.phase.kind != "unknown")]
    waiting = tuple(view for view in running if _waits(view, is_nccl, is_blind))
    recorders = tuple(one for host in look.hosts for one in host.recorders if not one.stale)
    world = frozenset(range(look.world_size or 0)) or frozenset(
        view.rank for view in seen if view.rank is not None
    )
    absent = missing_ranks(look)
    missing = frozenset(one.rank for one in absent)
    return Case(
        look=look,
        views=seen,
        groups=phase_groups(seen),
        waits=waits(seen, recorders, world),
        waiting=waiting,
        suspects=tuple(view for view in running if view not in waiting),
        blocked=_blocked(waiting),
        since_s=_since(waiting, seen),
        absent=absent,
        not_looked_at=max(0, len(world) - len({view.rank for view in seen}) - len(missing)),
        recorders=recorders,
        ras=of_answers(look),
        is_nccl=is_nccl,
        is_blind=is_blind,
        unseen=tuple(sorted(world - {view.rank for view in seen} - missing)),
        progress=progress_of(look, seen),
    )


def _waits(view: RankView, is_nccl: bool, is_blind: bool) -> bool:
    if is_blind:  # a thread that sleeps in no call on a file
        return view.is_static is True and view.phase.kind == "unknown"
    return view.waits or (is_nccl and view.phase.kind == "gpu")


def _threads(view: RankView) -> tuple[str, ...]:
    return view.process.threads if view.process else ()


def _blocked(waiting: Sequence[RankView]) -> bool | None:
    still = [view.is_static for view in waiting]
    if False in still:
        return False
    return True if True in still else None


def _since(waiting: Sequence[RankView], everyone: Sequence[RankView]) -> float | None:
    spans = [view.span_s for view in waiting if view.is_static]
    if not spans:
        return None
    ends = ends_of(everyone)
    idle = [one for view in waiting if (one := idle_s(view, ends)) is not None]
    return max(min(spans), min(idle, default=0.0))
