"""Rows 6, 7, 13, 14, 15, and 16: the ranks wait for each other, in calls that do not match."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nccltool.attach.judge import lost_packets
from nccltool.attach.judge.case import Case
from nccltool.attach.judge.result import Culprit, Level
from nccltool.attach.judge.views import RankView
from nccltool.attach.judge.waits import CallPlace, cycle, place_of
from nccltool.attach.phases.result import PhaseKind
from nccltool.core.text import counted

_INSIDE_A_STEP: frozenset[PhaseKind] = frozenset(
    ("gradients", "parameters", "point-to-point", "collective", "async", "backward")
)
_AT_THE_END = frozenset(("barrier", "monitored_barrier", "destroy_process_group"))


def clues(case: Case) -> Iterator[Culprit]:
    """Nobody is accused by calls while somebody is busy with something else: that one may come."""
    recorded = tuple(_of_recorders(case))
    yield from recorded
    yield from _left_early(case)
    yield from _store(case)
    if recorded or case.blocked is not True:
        return
    if case.ras.crossed:
        yield _crossed(case)
    elif not case.suspects and not _held(case):
        yield from _by_places(case)


def _held(case: Case) -> bool:
    return bool(case.missing) or any(view.condition for view in case.views) or case.not_looked_at > 0


def _of_recorders(case: Case) -> Iterator[Culprit]:
    """The first number of a group at which the calls of its ranks differ."""
    for group in sorted({name for one in case.recorders if one.dump for name in one.dump.groups}):
        calls = {
            one.rank: one.dump.groups[group] for one in case.recorders if one.dump and group in one.dump.groups
        }
        for number in sorted({number for one in calls.values() for number in one}):
            at = {rank: one[number] for rank, one in calls.items() if number in one}
            if len({call.op for call in at.values()}) > 1:
                told = [
                    f"rank {rank}: {call.told}{f' at {call.at}' if call.at else ''}" for rank, call in at.items()
                ]
                odd = _minority({rank: call.op for rank, call in at.items()})
                text = f"ranks called different operations as number {number} of group {group}"
                yield case.culprit("order-mismatch", _named(text, odd), *told[:8], rank=_only(odd))
                return
            if len({call.compared for call in at.values()}) > 1:
                told = [
                    f"rank {rank}: {call.told}{f' at {call.at}' if call.at else ''}" for rank, call in at.items()
                ]
                odd = _minority({rank: call.compared for rank, call in at.items()})
                text = f"ranks called number {number} of group {group} with different sizes"
                yield case.culprit("size-mismatch", _named(text, odd), *told[:8], rank=_only(odd))
                return
    circle = cycle(case.waits)
    if circle and case.blocked is True:
        told = [
            f"rank {wait.rank} waits in {wait.operation} of group {wait.group} for {_list(wait.for_ranks)}"
            for wait in case.waits
            if wait.rank in circle
        ]
        yield case.culprit("group-deadlock", f"{_list(circle)} wait for each other in different groups", *told)


def _minority(values: "dict[int, object]") -> tuple[int, ...]:
    """The ranks that differ from most; () = there is no majority."""
    counts = Counter(values.values()).most_common()
    if len(counts) < 2 or counts[0][1] == counts[1][1]:
        return ()
    return tuple(sorted(rank for rank, value in values.items() if value != counts[0][0]))


def _only(ranks: Sequence[int]) -> int | None:
    return ranks[0] if len(ranks) == 1 else None


def _named(text: str, odd: Sequence[int]) -> str:
    return f"{text}: {_list(odd)} differ{'s' if len(odd) == 1 else ''} from the others" if odd else text


def _list(ranks: Sequence[int]) -> str:
    told = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {told}"


def _crossed(case: Case) -> Culprit:
    told = [f"RAS: {_list(sorted(ranks))} ahead in {operation}" for operation, ranks in case.ras.crossed]
    smallest = min((ranks for _, ranks in case.ras.crossed), key=len)
    is_odd = len({len(ranks) for _, ranks in case.ras.crossed}) > 1 and len(smallest) == 1
    rank = next(iter(smallest)) if is_odd else None
    return case.culprit(
        "order-mismatch", "ranks called operations in a different order", *told, level="medium", rank=rank
    )


def _left_early(case: Case) -> Iterator[Culprit]:
    """Some ranks are at the end of the program, and the others in the middle of a step."""
    if case.blocked is not True or any(view.condition for view in case.views):
        return
    ended = [view for view in case.views if _is_at_the_end(view, case)]
    inside = [view for view in case.waiting if view.phase.kind in _INSIDE_A_STEP and view not in ended]
    if not ended or not inside or len(ended) + len(inside) < len(case.views) or len(ended) > len(case.views) / 2:
        return
    for view in ended[:8]:
        told = f"it {view.phase.text} at {view.phase.where}"
        loaders = "its loader workers have ended" if _has_no_loader(view, case) else ""
        known = sorted(one.rank for one in inside if one.rank is not None)
        others = f"{_list(known)} still in a step" if known else ""
        yield case.of_rank("left-early", view, "has left the loop before the others", told, loaders, others)


def _is_at_the_end(view: RankView, case: Case) -> bool:
    if view.phase.kind == "leaving":
        return True
    others = [one for one in case.views if one is not view]
    at_end = view.phase.kind == "collective" and view.phase.operation in _AT_THE_END
    elsewhere = all(one.phase.where != view.phase.where for one in others)
    in_steps = any(one.phase.kind in ("gradients", "parameters", "point-to-point") for one in others)
    return at_end and elsewhere and (in_steps or _has_no_loader(view, case))


def _has_no_loader(view: RankView, case: Case) -> bool:
    return not view.loaders and any(one.loaders for one in case.views)


def _store(case: Case) -> Iterator[Culprit]:
    """Rows 13 and 14."""
    stored = [view for view in case.waiting if view.waits_for_store_now]
    masters = sorted({view.found.master for view in stored if view.found.master})
    place = f" ({', '.join(masters)})" if masters else ""
    held = [one for host in case.look.hosts for one in host.agents if one.state in ("T", "t", "Z", "X")]
    lost = [lost_packets.told(view, one) for view in stored for one in lost_packets.to_store(view)]
    if stored and lost and case.blocked and not held and not _held(case):
        yield case.culprit("store", f"packets to the store{place} are lost", *lost[:4])
        return
    silent = f"the store{place} does not answer"
    told_held = [f"its agent, pid {one.pid}, is in state {one.state}" for one in held[:1]]
    if not stored or len(stored) < len(case.waiting):
        if stored and held and case.blocked and not case.suspects and not _held(case):
            # those in a collective wait for a rank that waits for the store
            yield case.culprit("store", silent, *told_held, host=held[0].host)
            return
        starting = [view for view in case.waiting if view.phase.kind in ("nccl-init", "nccl-connect")]
        if starting and case.blocked and not case.suspects and not _held(case):
            text = "NCCL does not connect the ranks"
            yield case.culprit("nccl-connect", text, f"{len(starting)} ranks {starting[0].phase.text}")
        return
    for one in case.absent:
        told = f"{counted(len(stored), 'rank')} waiting in the store or for ranks to join"
        level: Level | None = None if one.is_certain else "medium"
        text = f"rank {one.rank} is missing"
        yield case.culprit("missing-rank", text, told, one.told, level=level, rank=one.rank, host=one.host)
    yield from _not_come(case, stored)
    if held:
        yield case.culprit("store", silent, *told_held, host=held[0].host)
    elif not case.suspects and not _held(case) and case.blocked:
        told = f"all {len(stored)} ranks wait for it, and no rank is missing"
        yield case.culprit("store", silent, told, level="medium")


def _not_come(case: Case, stored: Sequence[RankView]) -> Iterator[Culprit]:
    """All that were seen wait for others to join: who was not seen has not joined, or some of those."""
    if not case.unseen or case.suspects or case.missing or not case.blocked:
        return
    if any(view.condition or view.rank is None for view in case.views):
        return
    told = f"{counted(len(stored), 'rank')} waiting in the store or for ranks to join"
    where = f"hosts that were looked at: {', '.join(sorted({view.found.host for view in case.views})[:8])}"
    rival = "a firewall between its host and that of the store"
    if len(case.unseen) == 1:
        text = f"rank {case.unseen[0]} has not come"
        yield case.culprit("missing-rank", text, told, where, level="high", rank=case.unseen[0], rivals=(rival,))
    else:
        text = f"some of {_list(case.unseen)} have not come"
        yield case.culprit("missing-rank", text, told, where, level="high", rivals=(rival,))


def _by_places(case: Case) -> Iterator[Culprit]:
    """Stacks alone: all ranks wait, and not in the same call."""
    places = {
        view.rank: place_of(view)
        for view in case.waiting
        if view.rank is not None and view.phase.kind not in ("store", "rendezvous")
    }
    together = [one for one in places.values() if one.kind != "point-to-point"]
    if len(together) != len(places) and len(together) != 1:
        return  # senders and receivers beside ranks of another group, as in a pipeline of several replicas
    if len(together) != len(places):  # a collective with one member: its others are elsewhere
        places = {rank: _without_operation(one) for rank, one in places.items()}
    if len(places) < len(case.waiting) or len({(one.kind, one.operation) for one in places.values()}) < 2:
        return
    if any(_is_at_the_end(view, case) for view in case.waiting):
        return
    odd = _minority({rank: (one.kind, one.operation) for rank, one in places.items()})
    told = [f"rank {rank} waits in {_told(one)}" for rank, one in sorted(places.items())]
    text = _named("ranks wait in different operations", odd)
    yield case.culprit("order-mismatch", text, *told[:8], rank=_only(odd), level="medium")


def _without_operation(place: CallPlace) -> CallPlace:
    """Senders and receivers wait for each other: they are in one place."""
    return replace(place, operation="send or recv") if place.kind == "point-to-point" else place


def _told(place: CallPlace) -> str:
    return f"{place.operation or place.kind} at {place.where}" if place.where else place.operation or place.kind
