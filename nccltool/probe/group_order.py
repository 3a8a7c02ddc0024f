"""Whether all ranks create the same process groups in the same order, and which rank does not. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from nccltool.core.text import named

NO_MORE = "no further group"
REMEDY = "call new_group for all groups in the same order on all ranks, also on ranks that are not members"
_NAMED = 8


def created(ranks: Sequence[int], backend: str) -> str:
    """A call of new_group, as it is compared."""
    return f"[{', '.join(map(str, ranks))}] ({backend})"


def problem(number: int, callers: Sequence[int], calls: Mapping[int, str], waited_s: float) -> str:
    """Who does not create group `number` as the others do; '' = all do.

    A rank is blamed only if more than half of the callers agree on another group.
    """
    absent = [rank for rank in callers if rank not in calls]
    common, agreeing = Counter(calls.values()).most_common(1)[0]
    parts = []
    if absent:
        parts.append(f"{_of_ranks(absent)} of {len(callers)} did not arrive within {waited_s:g} s")
    if agreeing < len(calls):
        most = common if 2 * agreeing > len(callers) else ""
        parts.extend(f"{_of_ranks(who)}: {what}" for what, who in _by_call(calls) if what != most)
        if most:
            parts.append(f"the others: {most}")
    elif absent:
        parts.append(f"the others: {common}")
    return f"group {number} in order of creation differs: {'; '.join(parts)}" if parts else ""


def _by_call(calls: Mapping[int, str]) -> Iterable[tuple[str, list[int]]]:
    for what in dict.fromkeys(calls[rank] for rank in sorted(calls)):
        yield what, sorted(rank for rank, own in calls.items() if own == what)


def _of_ranks(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {named(map(str, ranks), _NAMED)}"
