"""Collectives: all ranks of a process group must make the same calls in the same order."""

from collections import Counter
from collections.abc import Iterator, Mapping

from nccltool.triage.flight_recorder.dumps import RecordedCall, RecorderDump
from nccltool.triage.flight_recorder.log_events import at, event, listed
from nccltool.triage.logs.base import LogEvent


def differing(group: str, members: Mapping[int, RecorderDump]) -> Iterator[LogEvent]:
    """The first place at which calls differ: what follows it differs for that reason."""
    since = max(min(one.groups[group]) for one in members.values())
    places = sorted({place for one in members.values() for place in one.groups[group] if place >= since})
    for place in places:
        calls = {rank: one.groups[group][place] for rank, one in members.items() if place in one.groups[group]}
        kinds = Counter(call.compared for call in calls.values()).most_common()
        if len(kinds) > 1:
            odd = min(rank for rank, call in calls.items() if call.compared == kinds[-1][0])
            other = min(rank for rank, call in calls.items() if call.compared == kinds[0][0])
            order = _swapped(members[odd].groups[group], members[other].groups[group], place)
            text = (
                f"Flight recorder: rank {odd} is in {calls[odd].told}, rank {other} in {calls[other].told}:"
                f" collective #{place} of process group {group}{order}{at(calls[odd].stack)}"
            )
            fields = {"first": str(odd), "second": str(other), "sequence": str(place)}
            yield event("torch.fingerprint", members[odd], text, fields)
            return


def _swapped(odd: Mapping[int, RecordedCall], other: Mapping[int, RecordedCall], place: int) -> str:
    """Whether each makes the call of the other next: then it is their order that differs."""
    now, later = (odd[place], other[place]), (other.get(place + 1), odd.get(place + 1))
    alike = all(next_ and call.compared == next_.compared for call, next_ in zip(now, later, strict=True))
    return ", in another order" if alike else ""


def behind(group: str, members: Mapping[int, RecorderDump]) -> Iterator[LogEvent]:
    """Ranks that have not begun a collective in which others wait."""
    last = {rank: max(one.groups[group]) for rank, one in members.items()}
    least = min(last.values())
    late = sorted(rank for rank, number in last.items() if number == least)
    waiting = {
        rank: call
        for rank, one in members.items()
        if (call := one.groups[group].get(least + 1)) is not None and not call.finished
    }
    if waiting:
        first = min(waiting)
        text = (
            f"Flight recorder: ranks [{listed(late)}] have not called collective #{least + 1} of process group"
            f" {group}, {waiting[first].told}, for which ranks [{listed(sorted(waiting))}] wait"
            f"{at(waiting[first].stack)}"
        )
        fields = {"ranks": listed(late), "done": str(least), "next": str(least + 1)}
        yield event("torch.behind", members[late[0]], text, fields)
