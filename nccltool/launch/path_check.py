"""A second round of calls between the hosts of a run that stands still or whose connections broke. No I/O.

Before the start they reached each other; whom they do not reach any more at the same addresses is what broke. The
node processes are asked over the launcher's own connections, which may work where those of the ranks do not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nccltool.launch import broken_paths, events, instructions
from nccltool.launch.broken_paths import Paths
from nccltool.launch.host_survey import ALL_TO_ALL
from nccltool.launch.instructions import Goal

ANSWERS_S = 9.0
"""In which all must have answered: a call takes 5 s, the look at a name 6 s, and their words come over ssh."""


@dataclass(slots=True)
class PathCheck:
    """Say `ask` to the nodes, feed it what is heard, and ask whether it `is_done`."""

    names: Mapping[int, str]
    """The hosts of the nodes that take part, as the user knows them."""
    goals: Mapping[int, tuple[Goal, ...]]
    begin: float
    _reached: dict[tuple[int, int], events.Reached] = field(default_factory=dict)
    _half_open: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def ask(self) -> instructions.TryAgain:
        return instructions.TryAgain(goals=dict(self.goals))

    def hear(self, event: events.Reached | events.HalfOpen) -> None:
        if isinstance(event, events.HalfOpen):
            self._half_open[event.node] = event.callers
        else:
            self._reached[event.node, event.goal] = event

    def is_done(self, now: float) -> bool:
        every = {(node, goal.node) for node, goals in self.goals.items() for goal in goals}
        all_said = every <= self._reached.keys() and self.goals.keys() <= self._half_open.keys()
        return all_said or now - self.begin > ANSWERS_S

    @property
    def found(self) -> Paths:
        return broken_paths.judged(self.names, self.goals, self._reached, self._half_open)


def of(
    nodes: Mapping[int, events.Node],
    names: Mapping[int, str],
    before: Mapping[tuple[int, int, int], events.Reached],
    now: float,
) -> PathCheck | None:
    """Of the nodes that take part, at the addresses at which they were reached before; None = there is no path
    between them that was seen to work."""
    by_goal: dict[int, list[events.Reached]] = {}
    of_pair: dict[tuple[int, int], tuple[str, ...]] = {}
    for answer in before.values():
        by_goal.setdefault(answer.goal, []).append(answer)
        of_pair[answer.node, answer.goal] = answer.addresses
    # an address that some reach and others do not leads through a network that not all hosts have
    by_all = {
        goal: tuple(a for a in answers[0].addresses if all(a in answer.addresses for answer in answers))
        for goal, answers in by_goal.items()
    }
    goals = {
        node: tuple(
            Goal(node=other, port=nodes[other].data_port, addresses=addresses)
            for other in others
            if (addresses := of_pair.get((node, other), by_all.get(other, ())))
            and nodes[other].host_id != nodes[node].host_id
        )
        for node, others in _neighbours(sorted(names))
    }
    return PathCheck(names, goals, now) if any(goals.values()) else None


def _neighbours(nodes: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Each with all others, or among many with those 1, 2, 4, ... places on and back: pairs call both ways."""
    count = len(nodes)
    steps = range(1, count) if count <= ALL_TO_ALL else [1 << power for power in range(count.bit_length() - 1)]
    for place, node in enumerate(nodes):
        ahead = (nodes[(place + step) % count] for step in steps)
        back = (nodes[place - step] for step in steps)
        yield node, list(dict.fromkeys((*ahead, *back)))
