"""Collectives among the ranks of each node, all nodes at once, each by itself."""

from nccltool.preflight import judge
from nccltool.preflight.stages.base import Climbed, Ladder, skipped

NEEDS = ("inventory", "doctor")
_AT_ONCE = 32
"""Each is a command here, and an ssh."""
_ONE_RANK = "one rank on each node: nobody to talk to inside of it"


def about_s(ladder: Ladder) -> float:
    """How long it takes."""
    part = ladder.suite.within
    if part is None or _why_not(ladder):
        return 0.0
    return ladder.probe_s(part) * -(-len(_nodes(ladder)) // _at_once(ladder))


def would(ladder: Ladder) -> tuple[str, ...]:
    """What it would do."""
    part = ladder.suite.within
    assert part is not None
    if why := _why_not(ladder):
        return (why,)
    first, *more = _nodes(ladder)
    line = ladder.call("within", ladder.probe(part), [first], ladder.nproc).line
    return (line, *([f"and so on {len(more)} more, {_at_once(ladder)} at once"] if more else []))


def climb(ladder: Ladder) -> Climbed:
    """Measure, and judge."""
    part = ladder.suite.within
    assert part is not None
    if why := _why_not(ladder):
        return skipped("within", why)
    command, nodes = ladder.probe(part), _nodes(ladder)
    calls = [
        (ladder.call(f"within-{_plain(ladder.hosts[node])}", command, [node], ladder.nproc), [node])
        for node in nodes
    ]
    ran = ladder.start("within", calls, _at_once(ladder))
    judged = [
        outcome
        for one in ran
        for outcome in (
            *judge.of_probe(one, part.expect, ladder.names, differences_known=True, checked=part.checks > 0),
            *ladder.against_baseline(one),
        )
    ]
    done = [one for one in ran if one.run is not None]
    return Climbed(
        outcomes=tuple(judged),
        runs=tuple(one.folder for one in ran if one.folder),
        measurements=tuple(row for one in done if one.run for row in one.run.measurements)
        if len(done) == 1
        else (),
        info=done[0].run if done else None,
    )


def _nodes(ladder: Ladder) -> list[int]:
    """Of nodes that are processes of one host, one is enough."""
    first = {ladder.hosts[node]: node for node in reversed(ladder.nodes_left())}
    return sorted(first.values())


def _at_once(ladder: Ladder) -> int:
    return min(_AT_ONCE, len(_nodes(ladder))) or 1


def _why_not(ladder: Ladder) -> str:
    return _ONE_RANK if ladder.nproc == 1 else ""


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)
