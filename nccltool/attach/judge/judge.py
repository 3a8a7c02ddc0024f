"""From what was seen of a job to the verdict."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nccltool.attach.judge.case import Case, case_of
from nccltool.attach.judge.causes import calls, hardware, process, slow, work
from nccltool.attach.judge.result import AttachVerdict, Culprit, JobState, KillBy, RankNow, SlowPart
from nccltool.attach.judge.state import DEFINITE, is_starting, message_of, state_of
from nccltool.attach.judge.views import Ends, RankView, ends_of, idle_s
from nccltool.attach.phases.result import STARTS
from nccltool.attach.seen.job import JobLook

_CLUES = (process.clues, calls.clues, work.clues, hardware.clues, slow.clues)
_MOST_LOGS = 4
_TIMEOUT_S = {"gloo": 1800.0, "nccl": 600.0}
"""torch's default limit of a process group."""


def judge(look: JobLook) -> AttachVerdict:
    """Pure: the same look has the same verdict, now and from a saved folder."""
    case = case_of(look)
    found = sorted((one for clues in _CLUES for one in clues(case)), key=lambda one: -one.confidence)
    culprits = tuple(_each_once(found))
    state = state_of(case, culprits)
    if state in ("healthy", "ending"):
        culprits = ()
    elif state == "starting":  # whoever imports or computes may come
        culprits = tuple(one for one in culprits if one.cause in DEFINITE and one.level != "low")
    since = case.since_s if case.blocked else None
    ends = ends_of(case.views)
    kill_in_s, kill_by = _kill(case, since)
    return AttachVerdict(
        state=state,
        message=message_of(case, state, culprits),
        ranks=tuple(_now(view, ends) for view in case.views),
        groups=case.groups,
        waits=case.waits if case.blocked else (),
        culprits=culprits,
        missing=case.missing,
        not_looked_at=case.not_looked_at,
        since_s=since,
        kill_in_s=kill_in_s,
        kill_by=kill_by,
        ras_would_help=_ras_would_help(case, state, culprits),
        initializing=_initializing(case),
        notes=tuple(_notes(case, state, culprits)),
        lacking=tuple(_lacking(case)),
        progress=case.progress,
        operations_per_s=case.ras.operations_per_s,
        slow=_slow_part(case, culprits) if state == "slow" else None,
    )


def with_stragglers(answer: AttachVerdict, found: Sequence[Culprit]) -> AttachVerdict:
    """A job that moves is slow if one rank is last again and again; a single look cannot tell."""
    if not found or answer.state not in ("healthy", "unknown"):
        return answer
    now = next((one for one in answer.ranks if one.rank == found[0].rank), None)
    progress = answer.progress
    return replace(
        answer,
        state="slow",
        message=f"slow: {found[0].message}",
        culprits=tuple(found),
        slow=SlowPart(
            since_s=None,
            rank=found[0].rank,
            phase="" if now is None or now.phase.kind == "unknown" else now.phase.text,
            step_s=progress.step_s,
            usual_step_s=progress.usual_step_s,
        ),
    )


def _slow_part(case: Case, culprits: Sequence[Culprit]) -> SlowPart:
    """Whom the others wait for, and in what; else what most ranks do in most samples."""
    named = next((one.rank for one in culprits if one.level != "low" and one.rank is not None), None)
    of = [view for view in case.views if view.rank == named] if named is not None else case.views
    told = Counter(phase.text for view in of for phase in view.phases if phase.kind != "unknown").most_common(1)
    progress = case.progress
    waited = case.since_s if case.blocked else None
    return SlowPart(
        since_s=progress.slower_since_s if progress.is_slower else waited,
        rank=named,
        phase=told[0][0] if told else "",
        step_s=progress.step_s,
        usual_step_s=progress.usual_step_s,
    )


def _each_once(found: Sequence[Culprit]) -> Iterator[Culprit]:
    """One cause a rank: the most certain one."""
    seen: set[tuple[int | None, str]] = set()
    for one in found:
        key = (one.rank, one.host if one.rank is None else "")
        if one.rank is None or key not in seen:
            seen.add(key)
            yield one


def _now(view: RankView, ends: Ends) -> RankNow:
    idle = idle_s(view, ends)
    return RankNow(
        host=view.found.host,
        pid=view.found.pid,
        rank=view.rank,
        phase=view.phase,
        condition=view.condition,
        moves=None if view.is_static is None else not view.is_static,
        since_s=max(view.span_s, idle or 0.0) if view.is_static else None,
        cpu_share=view.cpu_share,
    )


def _ras_would_help(case: Case, state: JobState, culprits: Sequence[Culprit]) -> bool:
    is_named = any(one.level == "high" for one in culprits)
    is_asked = any(host.ras for host in case.look.hosts)
    return case.is_nccl and bool(case.blocked) and state in ("hung", "unknown") and not is_named and not is_asked


def _initializing(case: Case) -> bool | None:
    kinds = {view.phase.kind for view in case.running if not view.condition}
    if kinds & STARTS or is_starting(case):
        return True
    return None if "unknown" in kinds else False


def _kill(case: Case, since_s: float | None) -> tuple[float | None, KillBy | None]:
    """Ranks that start wait in the store, whose limits are others."""
    if since_s is None or is_starting(case):
        return None, None
    is_gloo = any(
        name == "pt_gloo_runloop" for view in case.views if view.process for name in view.process.threads
    )
    if case.is_nccl:
        return max(0.0, _TIMEOUT_S["nccl"] - since_s), "watchdog"
    return (max(0.0, _TIMEOUT_S["gloo"] - since_s), "timeout") if is_gloo else (None, None)


def _notes(case: Case, state: JobState, culprits: Sequence[Culprit]) -> Iterator[str]:
    yield from case.lowered
    for log in [one for host in case.look.hosts for one in host.logs][:_MOST_LOGS]:
        of = f" of rank {log.rank}" if log.rank is not None else ""
        yield f"log {log.file}{of}: {log.root_cause} ({log.confidence:.0%}): {log.text}"
    if case.not_looked_at:
        yield f"{case.not_looked_at} ranks were not looked at: the one that the others wait for may be among them"
    if case.is_nccl and state == "hung":
        yield "with NCCL, a stack shows where the CPU waits, not which operation hangs"
    if case.ras.answered and not case.ras.is_unequal and state == "hung":
        yield "RAS: equal counts say that all ranks have launched the operation, not that it ends"
    if state == "hung" and culprits and culprits[0].level != "high":
        yield "the evidence is not certain; check the other possible causes before anything is stopped"


def _lacking(case: Case) -> Iterator[str]:
    if any(view.phase.kind == "unknown" and not view.condition for view in case.views):
        yield "stacks of all ranks"
    if any(view.last.sockets is None for view in case.views):
        yield "the connections of the ranks: since when they have been idle is unknown"
    if case.is_nccl and not case.ras.answered:
        yield "an answer of NCCL's RAS"
    if not case.recorders:
        yield "flight recorders"
