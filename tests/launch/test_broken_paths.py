"""Who is named for calls between hosts that fail in mid-run, from what callers and called tell."""

from collections.abc import Iterable, Sequence

import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.launch import broken_paths, events, finding_kinds
from nccltool.launch.broken_paths import Paths
from nccltool.launch.events import Reached
from nccltool.launch.instructions import Goal

Call = tuple[int, int]
"""From one node to another."""
SILENCE = "10.0.0.{}: no answer in 5 s"


def found(
    count: int,
    failing: dict[Call, Reached],
    half_open: dict[int, Sequence[int]] | None = None,
    unheard: Iterable[int] = (),
) -> Paths:
    """Of hosts n1, n2, ... that each call each; nodes are numbered from 1 here."""
    nodes = range(1, count + 1)
    goals = {
        node: tuple(Goal(node=other, port=9, addresses=(f"10.0.0.{other}",)) for other in nodes if other != node)
        for node in nodes
    }
    worked = {
        (node, goal.node): Reached(node=node, goal=goal.node, port=9, addresses=goal.addresses, failures=())
        for node, of_node in goals.items()
        for goal in of_node
    }
    answers = {call: answer for call, answer in (worked | failing).items() if call[0] not in unheard}
    seen = {node: tuple(f"10.0.0.{caller}" for caller in callers) for node, callers in (half_open or {}).items()}
    return broken_paths.judged({node: f"n{node}" for node in nodes}, goals, answers, seen)


def silent(*calls: Call) -> dict[Call, Reached]:
    """Calls to which nothing came back."""
    return {
        (a, b): Reached(node=a, goal=b, port=9, addresses=(), failures=(SILENCE.format(b),), unanswered=True)
        for a, b in calls
    }


def refused(*calls: Call) -> dict[Call, Reached]:
    return {
        (a, b): Reached(node=a, goal=b, port=9, addresses=(), failures=(f"10.0.0.{b}: Connection refused",))
        for a, b in calls
    }


def large(lost: events.LargeLost, *calls: Call) -> dict[Call, Reached]:
    return {
        (a, b): Reached(node=a, goal=b, port=9, addresses=(), failures=(f"10.0.0.{b}: large",), large_lost=lost)
        for a, b in calls
    }


def both_ways(node: int, *others: int) -> tuple[Call, ...]:
    return tuple(call for other in others for call in ((node, other), (other, node)))


CONFIRMED = "confirmed: n3 fails with 2 of 2 hosts that it was tried with, and these do not fail with each other"


@pytest.mark.parametrize(
    ("paths", "named"),
    [
        pytest.param(found(3, {}), [], id="all work"),
        pytest.param(
            found(3, silent(*both_ways(3, 1, 2))),
            [("path-cut", "host", "n3", "packets between n3 and n1, n2 are lost in both directions", CONFIRMED)],
            id="one host is cut off",
        ),
        pytest.param(
            found(3, silent(*both_ways(3, 1, 2)), {3: (1, 2)}),
            [
                (
                    "path-cut",
                    "host",
                    "n3",
                    "packets that n3 sends to n1, n2 are lost; those that it is sent arrive",
                    CONFIRMED,
                )
            ],
            id="what one host sends is lost: it sees the calls of the others, and cannot answer them",
        ),
        pytest.param(
            found(3, silent(*both_ways(3, 1, 2)), {1: (3,), 2: (3,)}),
            [
                (
                    "path-cut",
                    "host",
                    "n3",
                    "packets that n1, n2 send to n3 are lost; those that it sends arrive",
                    CONFIRMED,
                )
            ],
            id="what one host is sent is lost",
        ),
        pytest.param(
            found(3, silent((1, 2), (2, 1)), {1: (2,)}),
            [
                (
                    "path-cut",
                    "link",
                    "n1 - n2",
                    "packets from n1 to n2 are lost; those from n2 to n1 arrive",
                    "n1 still reaches n3, n2 still reaches n3",
                )
            ],
            id="one direction between two of three hosts",
        ),
        pytest.param(
            found(2, silent((1, 2), (2, 1))),
            [
                (
                    "path-cut",
                    "link",
                    "n1 - n2",
                    "packets between n1 and n2 are lost in both directions",
                    "neither reached a third host: which of the two is at fault is not known",
                )
            ],
            id="of two hosts, none is named",
        ),
        pytest.param(
            found(4, silent(*both_ways(1, 2, 3, 4), *both_ways(2, 3, 4), *both_ways(3, 4))),
            [
                (
                    "path-cut",
                    "run",
                    "all hosts",
                    "packets between 6 of 6 pairs of hosts are lost; no host stands out",
                    f"n1 calls n2 at {SILENCE.format(2)}",
                )
            ],
            id="nobody reaches anybody",
        ),
        pytest.param(
            found(3, large("from-goal", (1, 3), (2, 3)) | large("to-goal", (3, 1), (3, 2))),
            [
                (
                    "large-packets-lost",
                    "host",
                    "n3",
                    "large packets that n3 sends to n1, n2 are lost; those that it is sent arrive",
                    CONFIRMED,
                )
            ],
            id="large packets of one host are lost",
        ),
        pytest.param(
            found(3, large("from-goal", *both_ways(3, 1, 2))),
            [
                (
                    "large-packets-lost",
                    "host",
                    "n3",
                    "large packets between n3 and n1, n2 are lost in both directions",
                    CONFIRMED,
                )
            ],
            id="large packets are lost both ways",
        ),
        pytest.param(
            found(3, large("to-goal", (1, 3)) | large("from-goal", (3, 1)) | silent((2, 3), (3, 2))),
            [
                (
                    "large-packets-lost",
                    "host",
                    "n3",
                    "large packets that n1, n2 send to n3 are lost; those that it sends arrive",
                    CONFIRMED,
                )
            ],
            id="large packets are lost, and a small one by chance: one host, and not two pairs",
        ),
        pytest.param(found(3, silent((1, 3))), [], id="one end lost a packet, and the other one did not"),
        pytest.param(
            found(3, refused((1, 3), (2, 3)), unheard=[3]), [], id="a process that is gone refuses: no path is cut"
        ),
        pytest.param(
            found(3, refused(*both_ways(3, 1, 2))),
            [("path-cut", "host", "n3", "packets between n3 and n1, n2 are lost in both directions", CONFIRMED)],
            id="a firewall that rejects",
        ),
        pytest.param(
            found(3, silent((1, 3), (2, 3)), unheard=[3]),
            [("path-cut", "host", "n3", "packets between n3 and n1, n2 are lost in both directions", CONFIRMED)],
            id="a host that nobody hears at all",
        ),
        pytest.param(found(3, {}, unheard=[1, 2, 3]), [], id="nobody told anything"),
    ],
)
def test_who_is_named(paths: Paths, named: list[tuple[str, ...]]) -> None:
    told = [(f.code, f.subject.kind, f.subject.name, f.message, f.evidence[0]) for f in paths.findings]
    assert told == named


HANG = finding_kinds.HANG.finding(subject=Subject(kind="run", name="all ranks"), message="no progress for 5 s")


@pytest.mark.parametrize(
    ("blamed", "paths", "said"),
    [
        (HANG, found(3, {}), ["all 3 pairs of hosts reach each other over TCP again, with 20 kB both ways"]),
        (HANG, found(2, {}), ["the 2 hosts reach each other over TCP again, with 20 kB both ways"]),
        (HANG, found(3, {}, unheard=[2]), []),
        (HANG, found(3, silent((1, 3))), []),
        (None, found(3, {}), None),
    ],
)
def test_paths_that_work_are_told(blamed: Finding | None, paths: Paths, said: list[str] | None) -> None:
    ended = broken_paths.explained(blamed, paths)
    assert [one.code for one in ended] == ([] if said is None else ["hang"])
    assert said is None or list(ended[0].evidence) == said


def test_a_broken_path_outranks_what_ranks_told() -> None:
    (ended,) = broken_paths.explained(HANG, found(2, silent((1, 2), (2, 1))))
    assert (ended.code, ended.evidence[-1]) == ("path-cut", "what the ranks told of it: no progress for 5 s")
