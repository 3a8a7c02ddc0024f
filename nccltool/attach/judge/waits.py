"""The wait graph: who waits in which operation, and which members have not come."""

from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.attach.judge.result import Wait
from nccltool.attach.judge.views import RankView
from nccltool.attach.seen.sources import RecorderSeen


@dataclass(frozen=True, kw_only=True, slots=True)
class CallPlace:
    """What a waiting rank waits in, as far as it can be compared between ranks."""

    kind: str
    operation: str
    where: str


def place_of(view: RankView) -> CallPlace:
    return CallPlace(kind=view.phase.kind, operation=view.phase.operation, where=view.phase.where)


def waits(views: Sequence[RankView], recorders: Sequence[RecorderSeen], world: frozenset[int]) -> tuple[Wait, ...]:
    """From recorders where they are fresh; from stacks otherwise, with the whole job as the group."""
    told = _of_recorders(recorders)
    known = {wait.rank for wait in told}
    here = {view.rank: view for view in views if view.rank is not None}
    together: dict[tuple[str, str], set[int]] = {}
    for rank, view in here.items():
        if view.waits and not view.condition:
            together.setdefault(_key(view), set()).add(rank)
    absent = {key: tuple(sorted(world - ranks)) for key, ranks in together.items()}
    others = []
    for rank, view in sorted(here.items()):
        if rank in known or not view.waits or view.condition:
            continue
        operation = view.phase.operation or view.phase.text
        others.append(Wait(rank=rank, group="", operation=operation, for_ranks=absent[_key(view)]))
    return tuple(sorted((*told, *others), key=lambda one: one.rank))


def _key(view: RankView) -> tuple[str, str]:
    """Senders and receivers wait for each other: one place."""
    kind = view.phase.kind
    return (kind, "" if kind == "point-to-point" else view.phase.operation)


def _of_recorders(recorders: Sequence[RecorderSeen]) -> tuple[Wait, ...]:
    """A rank waits in the first operation of a group that it has not finished for members without its number."""
    latest: dict[str, dict[int, int]] = {}
    members: dict[str, set[int]] = {}
    open_calls: list[tuple[int, str, int, str]] = []
    for one in recorders:
        if one.stale or one.dump is None:
            continue
        groups = {group.group: group for group in one.groups}
        for name, calls in one.dump.groups.items():
            if not calls:
                continue
            latest.setdefault(name, {})[one.rank] = max(calls)
            members.setdefault(name, set()).update((one.rank, *(groups[name].members if name in groups else ())))
            number = _first_open(one, name)
            if number is not None:
                open_calls.append((one.rank, name, number, calls[number].op))
    found: dict[int, Wait] = {}
    for rank, name, number, operation in open_calls:
        seen = latest[name]  # of a member without a recorder, nothing is known
        absent = tuple(sorted(member for member in members[name] if member in seen and seen[member] < number))
        if absent:
            wait = Wait(rank=rank, group=name, operation=operation, for_ranks=absent, number=number)
            found.setdefault(rank, wait)
    return tuple(found.values())


def _first_open(one: RecorderSeen, name: str) -> int | None:
    """The first call without an end. Gloo's recorder never notes one: its status does."""
    assert one.dump is not None
    calls = one.dump.groups[name]
    status = next((group for group in one.groups if group.group == name), None)
    if status is not None and status.last_completed is not None:
        later = [number for number in calls if number > status.last_completed]
        return min(later, default=None)
    unfinished = [number for number, call in calls.items() if not call.finished]
    finished = [number for number, call in calls.items() if call.finished]
    return min(unfinished, default=None) if finished else None


def roots(waiting: Sequence[Wait]) -> frozenset[int]:
    """Whom the waits lead to: ranks that others wait for, and that wait for nobody themselves."""
    waiters = {one.rank for one in waiting}
    return frozenset(rank for one in waiting for rank in one.for_ranks if rank not in waiters)


def cycle(waiting: Sequence[Wait]) -> tuple[int, ...]:
    """Ranks that wait for each other in a circle of at least two groups; () = none."""
    by_rank = {one.rank: one for one in waiting}
    for start in sorted(by_rank):
        path: list[int] = []
        rank = start
        while rank in by_rank and rank not in path:
            path.append(rank)
            following = [other for other in by_rank[rank].for_ranks if other in by_rank]
            if not following:
                break
            rank = following[0]
        else:
            circle = path[path.index(rank) :] if rank in path else []
            if len({by_rank[one].group for one in circle}) > 1:
                return tuple(circle)
    return ()
