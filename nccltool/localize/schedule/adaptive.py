"""The next round: first everyone with someone new, then what the judge wants to know."""

from collections.abc import Sequence

from nccltool.localize.encounter import Encounter
from nccltool.localize.judge.verdict import judge
from nccltool.localize.result import Localization
from nccltool.localize.schedule import circle, rounds
from nccltool.localize.topology import Topology

FIRST_ROUNDS = 6
"""With fewer, a node that is slow half of the time can look healthy."""
MOST_FIRST_ROUNDS = 8
"""All pairs, where that many rounds hold them: then links are seen too."""
ROUNDS_AFTER_ALL = 6
"""How many control rounds may follow all pairs."""


def next_round(
    nodes: Sequence[str],
    encounters: Sequence[Encounter],
    *,
    topology: Topology,
    seed: int,
    most_rounds: int,
    is_all_pairs: bool = False,
    group_size: int = 2,
    expected_busbw_bytes_per_s: float | None = None,
    found: Localization | None = None,
) -> tuple[tuple[str, ...], ...]:
    """The members that meet at the same time; empty: enough is known, or nobody is left to meet.

    `found` is the verdict over these encounters, where the caller has it.
    """
    names = rounds.shuffled(nodes, seed)
    done = len({each.round for each in encounters})
    every = circle.rounds_of(len(names))
    if is_all_pairs and group_size <= 2:
        if done < every:
            return circle.pairs(names, done)
        most_rounds = every + ROUNDS_AFTER_ALL
    if done >= most_rounds or len(names) < 2:
        return ()
    if done < (max(every, 2) if every <= MOST_FIRST_ROUNDS else FIRST_ROUNDS):
        return _first(names, encounters, done, topology, seed, group_size)
    found = found or judge(
        encounters, nodes=names, topology=topology, expected_busbw_bytes_per_s=expected_busbw_bytes_per_s
    )
    asked = _asked(found)
    if asked:
        return asked + _others(names, asked, encounters, found, topology, done, seed)
    return _once_more(names, encounters, found, topology, done, seed, group_size)


def controls(nodes: Sequence[str], encounters: Sequence[Encounter], topology: Topology) -> rounds.Round:
    """Only what the judge wants to know, or the slow ones that nothing explains once more."""
    found = judge(encounters, nodes=nodes, topology=topology)
    return _asked(found) or _slow(found, {*nodes})


def _once_more(
    names: Sequence[str],
    encounters: Sequence[Encounter],
    found: Localization,
    topology: Topology,
    done: int,
    seed: int,
    group_size: int,
) -> rounds.Round:
    """What was slow and is not explained is repeated as long as there are rounds: it may be noise.

    Of few nodes all pairs are few measurements: nobody is accused before they were repeated.
    """
    slow = _slow(found, {*names})
    busy = {name for members in slow for name in members}
    is_open = found.scope == "fabric-wide" or (found.scope == "unknown" and found.noise is not None)
    is_early = bool(found.suspects) and done < FIRST_ROUNDS
    if not slow and not is_open and not is_early:
        return ()
    free = [name for name in names if name not in busy]
    return (*slow, *(_first(free, encounters, done, topology, seed, group_size) if len(free) > 1 else ()))


def _slow(found: Localization, there: set[str]) -> rounds.Round:
    """Those that nothing explains, and that can meet at the same time."""
    busy: set[str] = set()
    slow = []
    for members in found.undetermined:
        if there.issuperset(members) and not busy & {*members}:
            busy |= {*members}
            slow.append(members)
    return tuple(slow)


def _first(
    names: Sequence[str],
    encounters: Sequence[Encounter],
    done: int,
    topology: Topology,
    seed: int,
    group_size: int,
) -> rounds.Round:
    if group_size > 2:
        return rounds.of_groups(names, group_size, done, seed)
    return rounds.of_pairs(names, done, topology, _met(encounters), seed)


def _asked(found: Localization) -> rounds.Round:
    """The tests that can run at the same time."""
    busy: set[str] = set()
    chosen = []
    for test in found.next_tests:
        if not busy & {*test.members}:
            busy |= {*test.members}
            chosen.append(test.members)
    return tuple(chosen)


def _others(
    names: Sequence[str],
    asked: rounds.Round,
    encounters: Sequence[Encounter],
    found: Localization,
    topology: Topology,
    done: int,
    seed: int,
) -> rounds.Round:
    """It costs no time to let the rest meet too, under the same load; suspects wait, for a test that tells."""
    busy = {name for members in asked for name in members}
    doubtful = {name for test in found.next_tests for name in test.members[:1]}
    accused = {name for each in found.suspects for name in each.subject}
    free = [name for name in names if name not in busy | doubtful | accused]
    return rounds.of_pairs(free, done, topology, _met(encounters), seed)


def _met(encounters: Sequence[Encounter]) -> set[frozenset[str]]:
    return {frozenset(each.members) for each in encounters}
