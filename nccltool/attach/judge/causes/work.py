"""Rows 4, 5, 8, and 12: a rank that is busy or stuck in something else while others wait for it."""

from collections.abc import Iterator
from dataclasses import replace

from nccltool.attach.judge.case import Case
from nccltool.attach.judge.result import CauseName, Culprit
from nccltool.attach.judge.views import RankView
from nccltool.attach.judge.waits import roots
from nccltool.attach.phases.match import phase_of

_OWN = frozenset(("code", "sleeping", "computing", "backward", "lock", "network", "program", "gpu", "gil"))
_FLAT_BYTES_PER_S = 1.0
_MOST_NAMED = 8
"""Of one kind: more than that is not one rank that is different."""


def clues(case: Case) -> Iterator[Culprit]:
    """Only ranks that others wait for: else nobody is held up."""
    if not case.waiting or case.blocked is False:
        return
    ends = roots([wait for wait in case.waits if wait.group])
    chosen = [view for view in case.suspects if not ends or view.rank in ends or view.rank is None]
    if len(chosen) > max(_MOST_NAMED, len(case.views) // 2):
        return
    is_explained = any(view.condition for view in case.views) or bool(case.missing)
    for view in chosen:
        for one in _of(case, view):  # beside a rank that is dead or stopped, others handle the error
            yield replace(one, level="low") if is_explained else one
    if case.is_blind:
        yield from _behind(case, ends)


def _behind(case: Case, ends: frozenset[int]) -> Iterator[Culprit]:
    """Without stacks, recorders tell who has not made the call in which the others wait."""
    for view in [view for view in case.waiting if view.rank in ends]:
        waits = [wait for wait in case.waits if wait.group and view.rank in wait.for_ranks]
        told = f"rank {waits[0].rank} waits in it" + (f", and {len(waits) - 1} others" if len(waits) > 1 else "")
        yield case.of_rank("own-code", view, "has not made the call of the others", _not_called(case, view), told)


def _of(case: Case, view: RankView) -> Iterator[Culprit]:
    kind = view.phase.kind
    if kind in ("loader", "loading"):
        yield _loader(case, view)
    elif kind == "checkpoint":
        yield _checkpoint(case, view)
    elif kind == "compiling":
        yield _simple(case, view, "compiling", "compiles code")
    elif kind in ("importing", "cuda-start"):
        yield _simple(case, view, "starting", view.phase.text)
    elif kind in _OWN:
        yield _own_code(case, view)
    elif case.is_blind and view.is_busy:
        yield case.of_rank(
            "own-code", view, "is busy while the others sleep", _share(view), _last_in_ras(case, view)
        )


def _simple(case: Case, view: RankView, cause: CauseName, text: str) -> Culprit:
    return case.of_rank(cause, view, text, _at(view), _children(view), _last_in_ras(case, view))


def _at(view: RankView) -> str:
    return f"at {view.phase.where}" if view.phase.where else ""


def _children(view: RankView) -> str:
    names = sorted({child.name for child in view.last.children})
    return f"processes that it started: {', '.join(names)}" if names else ""


def _last_in_ras(case: Case, view: RankView) -> str:
    """Or in NCCL Inspector's files, which have operations that have finished."""
    if view.rank in case.ras.last:
        return "RAS: it has launched the fewest operations"
    seen = [one for host in case.look.hosts for one in host.inspectors]
    for own in [one for one in view.host.inspectors if one.pid == view.found.pid]:
        others = [one.number for one in seen if one.communicator == own.communicator and one is not own]
        if others and own.number < min(others):
            return f"NCCL Inspector: it has finished operation {own.number}, and all others {min(others)}"
    return ""


def _io(view: RankView) -> str:
    """What its system call is about, and that it waits in the kernel."""
    process = view.process
    if process is None:
        return ""
    state = "D state" if process.state == "D" else ""
    path = f"its system call is on {process.waits_on}" if process.waits_on else ""
    return ", ".join(part for part in (path, state, process.waits_in and f"waits in {process.waits_in}") if part)


def _loader(case: Case, view: RankView) -> Culprit:
    workers = []
    for process in view.loaders:
        phase = phase_of(view.stacks_of(process.pid), state=process.state, cpu_share=None)
        at = f" at {phase.where}" if phase.kind != "unknown" and phase.where else ""
        path = f", on {process.waits_on}" if process.waits_on else ""
        state = ", D state" if process.state == "D" else ""
        if at or path:
            workers.append(f"loader worker pid {process.pid} is{at}{path}{state}")
    in_main = view.phase.kind == "loading"
    gone = "" if view.loaders or in_main else "it has no loader worker any more"
    sure = bool(workers) or in_main
    text = "reads data in its main process" if in_main else "waits for its data loader"
    return case.of_rank(
        "data-loader",
        view,
        text,
        _at(view),
        _io(view) if in_main else "",
        *workers[:4],
        gone,
        _last_in_ras(case, view),
        level=None if sure else "medium",
    )


def _checkpoint(case: Case, view: RankView) -> Culprit:
    what = "a checkpoint" if view.phase.row is not None else "a file"  # /proc alone does not tell
    rates = [rate for counter in ("wchar", "write_bytes") if (rate := view.rate(counter)) is not None]
    if not rates:
        return case.of_rank("checkpoint-stuck", view, f"writes {what}", _at(view), _io(view), level="low")
    highest = max(rates)
    if highest > _FLAT_BYTES_PER_S:
        told = f"it writes {highest / 1e6:.2g} MB/s"
        return case.of_rank("checkpoint-slow", view, f"writes {what} slowly", told, _at(view))
    told = f"it wrote nothing in {view.span_s:.1f} s"
    return case.of_rank("checkpoint-stuck", view, f"is stuck in writing {what}", told, _at(view), _io(view))


def _own_code(case: Case, view: RankView) -> Culprit:
    moving = view.is_same is False
    text = (
        f"is busy elsewhere: it {view.phase.text}"
        if view.phase.text != "is in its own code"
        else "is busy elsewhere"
    )
    samples = (
        "" if view.is_same is None else "its line moves" if moving else "it is at the same line in all samples"
    )
    recorded = _not_called(case, view)
    return case.of_rank(
        "own-code", view, text, _at(view), samples, _share(view), _last_in_ras(case, view), recorded
    )


def _not_called(case: Case, view: RankView) -> str:
    waits = [wait for wait in case.waits if wait.group and view.rank in wait.for_ranks]
    if not waits:
        return ""
    one = min(waits, key=lambda wait: wait.number or 0)
    return f"flight recorder: it has not called {one.operation}, number {one.number} of group {one.group}"


def _share(view: RankView) -> str:
    return f"{view.cpu_share:.0%} of a core" if view.cpu_share is not None else ""
