"""The meeting of remote nodes: who is asked what, who starts, and who is named why."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from nccltool import __version__
from nccltool.core.findings import Finding, Subject
from nccltool.launch import events, instructions
from nccltool.launch.instructions import Goal
from nccltool.launch.meeting import TRY_S, Meeting
from nccltool.launch.reach.arrivals import COME_MOST_S, COME_S
from tests.samples import job

PORT, DATA = 29500, 40000
NO_ANSWER = "no answer within 5 s"


def node(number: int, **changes: Any) -> events.Node:
    fields: dict[str, Any] = {
        "node": number,
        "host": f"n{number}",
        "host_id": f"boot-{number}",
        "nccltool": __version__,
        "gpus": 0,
        "addresses": (f"10.0.0.{number}", f"172.17.0.{number}"),
        "port": PORT,
        "data_port": DATA + number,
    }
    return events.Node(**{**fields, **changes})


def gathering(count: int = 3, keep_going: bool = False, slowness: float = 1.0, **changes: Any) -> Meeting:
    hosts = {number: f"n{number}" for number in range(count)}
    return Meeting(
        job(nproc_per_node=None, remote=True, **changes), hosts, keep_going, 0.0, slowness=lambda: slowness
    )


def met(count: int = 3, keep_going: bool = False, **changes: Any) -> tuple[Meeting, instructions.Try]:
    """All nodes came and were told whom to try."""
    there = gathering(count, keep_going, **changes)
    for number in range(count):
        there.hear(node(number))
    asked = there.step(1.0)
    assert isinstance(asked, instructions.Try)
    return there, asked


def answer(
    there: Meeting,
    asked: instructions.Try,
    fails: Iterable[tuple[int, int]] = (),
    silent: Iterable[int] = (),
    store_fails: Iterable[int] = (),
) -> None:
    """Each node reaches the second address of each of its goals, or no address."""
    for number, goals in asked.goals.items():
        for goal in goals if number not in silent else ():
            is_store = goal.port == PORT
            failed = number in store_fails if is_store else (number, goal.node) in fails
            there.hear(
                events.Reached(
                    node=number,
                    goal=goal.node,
                    port=goal.port,
                    addresses=() if failed else goal.addresses[1:],
                    failures=tuple(f"{address}: {NO_ANSWER}" for address in goal.addresses),
                )
            )


def lose_large(
    there: Meeting, asked: instructions.Try, bad: int, silent: bool, lost: events.LargeLost = ""
) -> None:
    """Large packets of a node are lost, to it and from it or one way; what it has to say may be lost too."""
    for number, goals in asked.goals.items():
        for goal in goals if not (silent and number == bad) else ():
            fails = bad in (number, goal.node)
            there.hear(
                events.Reached(
                    node=number,
                    goal=goal.node,
                    port=goal.port,
                    addresses=() if fails else goal.addresses,
                    failures=(LARGE,) if fails else (),
                    large_packets_lost=LARGE if fails else "",
                    large_lost=(lost or ("from-goal" if goal.node == bad else "to-goal")) if fails else "",
                )
            )


LARGE = "10.0.0.1: large packets are lost"


def named(there: Meeting) -> list[tuple[str, str, str]]:
    return [(found.code, found.subject.name, found.message) for found in there.findings]


def lost(name: str) -> Finding:
    return Finding(
        code="host-refused", severity="error", subject=Subject(kind="host", name=name), message=f"{name}: no"
    )


# ---- all is well


def test_nodes_try_node_0_and_their_neighbours_and_start() -> None:
    there, asked = met(4)
    store = Goal(node=0, port=PORT, addresses=("10.0.0.0", "172.17.0.0"))

    def data(number: int) -> Goal:
        return Goal(node=number, port=DATA + number, addresses=(f"10.0.0.{number}", f"172.17.0.{number}"))

    assert asked.goals == {
        0: (data(1), data(2)),
        1: (store, data(2), data(3)),
        2: (store, data(3), data(0)),
        3: (store, data(0), data(1)),
    }
    assert there.step(1.1) is None
    answer(there, asked)
    places = {number: (number, f"172.17.0.0:{PORT}" if number else f"127.0.0.1:{PORT}") for number in range(4)}
    go = instructions.Go(nodes=4, places=places, nproc_per_node=1, served_at=("172.17.0.0",))
    assert there.step(1.2) == go == there.going
    assert (there.step(1.3), there.findings, there.failed) == (None, (), False)


def test_every_node_of_a_large_run_is_called_and_calls_few() -> None:
    _, asked = met(64)
    called = [goal.node for goals in asked.goals.values() for goal in goals if goal.port != PORT]
    assert {called.count(number) for number in range(64)} == {6}
    assert max(len(goals) for goals in asked.goals.values()) == 7


@pytest.mark.parametrize(("gpus", "ranks"), [(8, 8), (1, 1), (0, 2), (None, 1)])
def test_one_host_alone_has_nobody_to_try(gpus: int | None, ranks: int) -> None:
    """Without a GPU it has two ranks: one would have nobody to talk to. Of an unknown number one is there."""
    there = gathering(1)
    there.hear(node(0, gpus=gpus))
    assert there.step(0.5) == instructions.Go(nodes=1, places={0: (0, f"127.0.0.1:{PORT}")}, nproc_per_node=ranks)


def test_an_address_that_all_reach_is_taken_before_others() -> None:
    there, asked = met(3)
    for number, reached in ((1, ("10.0.0.0", "172.17.0.0")), (2, ("172.17.0.0",))):
        answer(there, asked)
        there.hear(events.Reached(node=number, goal=0, port=PORT, addresses=reached, failures=()))
    there.hear(events.Reached(node=1, goal=0, port=PORT, addresses=("10.0.0.0", "172.17.0.0"), failures=()))
    go = there.step(2.0)
    assert isinstance(go, instructions.Go)
    assert {place[1] for number, place in go.places.items() if number} == {f"172.17.0.0:{PORT}"}


def test_the_address_that_the_user_names_is_the_one_that_is_tried() -> None:
    there, asked = met(2, endpoint="[fd00::1]:29500")
    assert asked.goals[1][0] == Goal(node=0, port=PORT, addresses=("fd00::1",))
    there.hear(events.Reached(node=1, goal=0, port=PORT, addresses=("fd00::1",), failures=()))
    answer(there, instructions.Try(goals={0: asked.goals[0], 1: asked.goals[1][1:]}))
    go = there.step(2.0)
    assert isinstance(go, instructions.Go)
    assert go.places[1] == (1, "[fd00::1]:29500")


@pytest.mark.parametrize(
    ("asked_for", "gpus", "ranks"), [(None, (0, 0), 1), (None, (4, 4), 4), (2, (4, 8), 2), (None, (None, None), 1)]
)
def test_ranks_on_each_node(asked_for: int | None, gpus: tuple[int | None, ...], ranks: int) -> None:
    there = Meeting(job(nproc_per_node=asked_for), {0: "n0", 1: "n1"}, False, begin=0.0)
    for number, count in enumerate(gpus):
        there.hear(node(number, gpus=count))
    asked = there.step(0.0)
    assert isinstance(asked, instructions.Try)
    answer(there, asked)
    go = there.step(0.1)
    assert isinstance(go, instructions.Go)
    assert go.nproc_per_node == ranks


@pytest.mark.parametrize(("counts", "ranks"), [((8, 7, 8), 7), ((8, 0, 8), 1), ((8, None, 8), 1), ((8, 8, 8), 8)])
def test_gloo_needs_no_gpus_and_takes_as_many_ranks_everywhere(counts: tuple[int | None, ...], ranks: int) -> None:
    there = gathering()
    there.job = replace(there.job, backend="gloo", nproc_per_node=None)
    for number, gpus in enumerate(counts):
        there.hear(node(number, gpus=gpus))
    asked = there.step(0.0)
    assert isinstance(asked, instructions.Try)
    answer(there, asked)
    go = there.step(0.1)
    assert isinstance(go, instructions.Go)
    assert go.nproc_per_node == ranks


@pytest.mark.parametrize(
    ("counts", "told"),
    [((8, 7, 8), "7 on n1; 8 on n0, n2"), ((8, None, 8), "an unknown number on n1; 8 on n0, n2")],
)
def test_hosts_with_different_numbers_of_gpus(counts: tuple[int | None, ...], told: str) -> None:
    there = gathering()
    for number, gpus in enumerate(counts):
        there.hear(node(number, gpus=gpus))
    asked = there.step(0.0)
    assert isinstance(asked, instructions.Try)
    answer(there, asked)
    assert (there.step(0.1), there.failed) == (None, True)
    assert named(there) == [("ranks-per-node", "n1", f"the nodes have different numbers of GPUs: {told}")]


# ---- who does not come


def test_one_that_is_refused_and_one_that_is_silent_are_both_named() -> None:
    there = gathering(4)
    there.hear(node(0))
    there.hear(node(1))
    there.lose(3, lost("n3"))
    assert (there.step(COME_S - 0.1), there.failed) == (None, False)
    assert (there.step(COME_S), there.failed) == (None, True)
    assert [(code, name) for code, name, _ in named(there)] == [("host-silent", "n2"), ("host-refused", "n3")]
    assert there.step(COME_S + 1) is None


def test_one_that_gets_on_is_waited_for() -> None:
    there = gathering(3, keep_going=True)
    there.hear(node(0))
    for second in range(2, 40, 2):
        there.arrivals.note_start((1,), float(second))
        assert (there.step(float(second)), there.failed) == (None, False)
    assert [(code, name) for code, name, _ in named(there)] == [("host-silent", "n2")]
    there.hear(node(1))
    assert isinstance(there.step(40.0), instructions.Try)


@pytest.mark.parametrize(
    ("last_sign", "at", "message"),
    [
        (
            20.0,
            20.0 + COME_S,
            "n1 began to start, and its Python got no further for 15 s, perhaps on a file system",
        ),
        (COME_MOST_S - 1, COME_MOST_S, "n1 was still importing Python modules after 120 s"),
    ],
)
def test_one_that_got_on_and_does_not_come(last_sign: float, at: float, message: str) -> None:
    there = gathering(2)
    there.hear(node(0))
    there.arrivals.note_start((1,), last_sign)
    assert (there.step(at - 0.1), there.failed) == (None, False)
    assert (there.step(at), there.failed) == (None, True)
    assert named(there) == [("host-silent", "n1", message)]


def test_on_a_busy_host_everything_may_take_longer() -> None:
    there = gathering(2, slowness=3.0)
    assert (there.step(0.0), there.failed) == (None, False)
    assert (there.step(3 * COME_S - 0.1), there.failed) == (None, False)
    for number in range(2):
        there.hear(node(number))
    begin = 3 * COME_S
    assert isinstance(there.step(begin), instructions.Try)
    assert (there.step(begin + 3 * TRY_S - 0.1), there.failed) == (None, False)
    assert (there.step(begin + 3 * TRY_S), there.failed) == (None, True)


@pytest.mark.parametrize(("others_s", "patience_s"), [(1.0, COME_S), (6.0, 30.0), (14.0, 4 * COME_S)])
def test_where_others_came_soon_a_busy_host_is_no_excuse(others_s: float, patience_s: float) -> None:
    there = gathering(2, slowness=4.0)
    there.hear(node(0))
    assert (there.step(others_s), there.failed) == (None, False)
    assert (there.step(patience_s - 0.1), there.failed) == (None, False)
    assert (there.step(patience_s), there.failed) == (None, True)


def test_many_hosts_have_more_time() -> None:
    there = gathering(1000)
    assert (there.step(99.9), there.failed) == (None, False)
    assert (there.step(100.0), there.failed) == (None, True)


def test_nobody_comes() -> None:
    there = gathering(2, keep_going=True)
    assert (there.step(COME_S), there.failed) == (None, True)
    assert [(code, name) for code, name, _ in named(there)] == [("host-silent", "n[0-1]")]


def test_hosts_with_the_same_trouble_are_one_finding() -> None:
    there = gathering(64)
    for number in range(63):
        there.lose(number, replace(lost(f"n{number}"), evidence=(f"ssh of n{number}", "more")))
    there.lose(63, replace(lost("n63"), message="n63: another reason"))
    there.step(0.0)
    one, other = there.findings
    assert (one.subject.name, one.message) == ("n[0-62]", "n[0-62]: no")
    assert one.evidence == ("ssh of n0", "ssh of n1", "ssh of n2", "ssh of n3")
    assert (other.subject.name, other.evidence) == ("n63", ())


def test_others_go_on_with_new_numbers() -> None:
    there = gathering(3, keep_going=True)
    there.lose(0, lost("n0"))
    for number in (1, 2):
        there.hear(node(number))
    asked = there.step(1.0)
    assert isinstance(asked, instructions.Try)
    assert set(asked.goals) == {1, 2}
    answer(there, asked)
    go = there.step(2.0)
    assert isinstance(go, instructions.Go)
    assert go == instructions.Go(
        nodes=2,
        places={1: (0, f"127.0.0.1:{PORT}"), 2: (1, f"172.17.0.1:{PORT}")},
        nproc_per_node=1,
        served_at=("172.17.0.1",),
    )
    assert named(there) == [("host-refused", "n0", "n0: no")]


def test_another_version_is_named() -> None:
    there = gathering(2)
    there.hear(node(0))
    there.hear(node(1, nccltool="0.0.1"))
    assert (there.step(1.0), there.failed) == (None, True)
    assert named(there) == [("version-mismatch", "n1", f"n1 has nccltool 0.0.1, but this host has {__version__}")]


def test_a_host_without_torch_is_named() -> None:
    there = gathering(3)
    there.hear(node(0))
    for number in (1, 2):
        there.hear(node(number, python="/usr/bin/python3", missing=("torch", "numpy")))
    assert (there.step(1.0), there.failed) == (None, True)
    assert named(there) == [
        ("host-misconfigured", "n[1-2]", "n[1-2] cannot start ranks: /usr/bin/python3 has no torch")
    ]
    assert there.findings[0].remedy == (
        "there: pip install 'nccltool[torch]', or name a Python there that has it: --remote-python"
    )


def test_the_others_go_on_without_the_host_that_lacks_torch() -> None:
    there = gathering(3, keep_going=True)
    for number in range(3):
        there.hear(node(number, missing=("numpy",) if number == 1 else ()))
    asked = there.step(1.0)
    assert isinstance(asked, instructions.Try)
    assert (sorted(asked.goals), [code for code, _, _ in named(there)]) == ([0, 2], ["host-misconfigured"])


@pytest.mark.parametrize(
    ("own_names", "culprit"), [(("n0", "n0"), "n1"), (("n1", "n1"), "n0"), (("x", "x"), "n1")]
)
def test_two_names_of_one_host(own_names: tuple[str, str], culprit: str) -> None:
    """The one whose name is not the host's own is wrong; the later one where that does not tell."""
    there = gathering(2)
    for number, name in enumerate(own_names):
        there.hear(node(number, host=f"{name}.example.org", host_id="boot"))
    assert (there.step(1.0), there.failed) == (None, True)
    assert [(code, name) for code, name, _ in named(there)] == [("host-twice", culprit)]


@pytest.mark.parametrize(("host", "expected"), [("n9", ["host-twice"]), ("N0.example.org", [])])
def test_a_name_that_leads_to_loopback_here(host: str, expected: list[str]) -> None:
    """It is right for the host's own name."""
    there = gathering(1)
    there.hear(node(0, host=host))
    there.at_home[0] = "127.0.1.1"
    there.step(1.0)
    assert [code for code, _, _ in named(there)] == expected


def test_node_0_cannot_listen() -> None:
    there = gathering(2)
    there.hear(node(0, port=0, problem="cannot listen on port 29500: Address already in use"))
    there.hear(node(1))
    assert (there.step(1.0), there.failed) == (None, True)
    assert named(there) == [("port-in-use", "n0", "n0 cannot listen on port 29500: Address already in use")]


# ---- who reaches whom


@pytest.mark.parametrize(
    ("count", "fails", "culprit", "message"),
    [
        (3, (2,), "n2", f"n2 cannot reach node 0 (n0) at port {PORT}"),
        (2, (1,), "n1", f"n1 cannot reach node 0 (n0) at port {PORT}"),
        (3, (1, 2), "n0", f"n0 is node 0, and none of the 2 other nodes can reach it at port {PORT}"),
    ],
)
def test_the_rendezvous_cannot_be_reached(count: int, fails: tuple[int, ...], culprit: str, message: str) -> None:
    there, asked = met(count)
    answer(there, asked, store_fails=fails)
    assert (there.step(2.0), there.failed) == (None, True)
    assert named(there) == [("rdzv-unreachable", culprit, message)]
    assert there.findings[0].evidence == (f"10.0.0.0: {NO_ANSWER}", f"172.17.0.0: {NO_ANSWER}")


def test_an_address_that_the_user_named_wrongly_is_told() -> None:
    there, asked = met(2, endpoint=f"nope:{PORT}")
    answer(there, asked, store_fails=(1,))
    assert (there.step(2.0), there.failed) == (None, True)
    message = f"n1 cannot reach node 0 (n0) at nope:{PORT} (--rdzv-endpoint)"
    assert named(there) == [("rdzv-unreachable", "n1", message)]


@pytest.mark.parametrize(
    ("fails", "culprit", "message"),
    [
        ([(1, 3), (2, 3)], "n3", "n3 cannot be reached by n1, n2"),
        ([(3, 0), (3, 1)], "n3", "n3 cannot reach n0, n1"),
        ([(1, 3), (2, 3), (3, 0), (3, 1)], "n3", "n3 cannot be reached by n1, n2 and cannot reach n0, n1"),
        ([(0, 1)], "n1", "n1 cannot be reached by n0"),
    ],
)
def test_ports_between_ranks(fails: list[tuple[int, int]], culprit: str, message: str) -> None:
    there, asked = met(4)
    answer(there, asked, fails)
    assert (there.step(2.0), there.failed) == (None, True)
    (found,) = there.findings
    assert (found.code, found.subject.name) == ("peer-unreachable", culprit)
    assert found.message == f"{message}: connections between ranks, which use any port, will fail"


def test_two_firewalls_are_two_culprits() -> None:
    there, asked = met(8)
    walls = {(n, goal.node) for n, goals in asked.goals.items() for goal in goals if goal.node in (2, 5)}
    answer(there, asked, walls)
    there.step(2.0)
    assert [name for _, name, _ in named(there)] == ["n2", "n5"]


def test_node_0_is_lost_and_the_others_try_again() -> None:
    """What they reached before was a host that does not take part any more."""
    there, asked = met(4, keep_going=True)
    answer(there, asked, store_fails=(1, 2, 3))
    again = there.step(2.0)
    assert isinstance(again, instructions.Try)
    assert set(again.goals) == {1, 2, 3}
    answer(there, again)
    go = there.step(3.0)
    assert isinstance(go, instructions.Go)
    assert go.places[2] == (1, f"172.17.0.1:{PORT}")


@pytest.mark.parametrize("keep_going", [True, False])
def test_node_0_ends_while_the_others_try(keep_going: bool) -> None:
    there, asked = met(3, keep_going)
    answer(there, asked)
    there.lose(0, lost("n0"))
    again = there.step(2.0)
    assert isinstance(again, instructions.Try) == keep_going
    assert there.failed != keep_going


def test_all_end_while_they_try() -> None:
    there, _ = met(2, keep_going=True)
    for number in (0, 1):
        there.lose(number, lost(f"n{number}"))
    assert (there.step(2.0), there.failed) == (None, True)


def test_one_that_never_says_what_it_reached() -> None:
    there, asked = met(3)
    answer(there, asked, silent=[1])
    assert (there.step(1.0 + TRY_S - 0.1), there.failed) == (None, False)
    assert (there.step(1.0 + TRY_S), there.failed) == (None, True)
    assert [(code, name) for code, name, _ in named(there)] == [("host-silent", "n1")]


# ---- large packets


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("bad", [0, 1, 2])
def test_who_loses_large_packets_is_named_as_that(bad: int, silent: bool) -> None:
    """Also where that keeps it from saying anything: its login does not hang."""
    there, asked = met(3)
    lose_large(there, asked, bad, silent)
    there.step(100.0)
    (found,) = there.findings
    others = ", ".join(f"n{number}" for number in range(3) if number != bad)
    assert (found.code, found.subject.kind, found.subject.name) == ("large-packets-lost", "host", f"n{bad}")
    assert found.message == f"large packets between n{bad} and {others} are lost on the way from n{bad}"
    assert there.failed


def test_of_two_hosts_the_pair_loses_large_packets() -> None:
    there, asked = met(2)
    lose_large(there, asked, 1, False, "from-goal")
    there.step(100.0)
    (found,) = there.findings
    assert (found.code, found.subject.kind) == ("large-packets-lost", "link")
    assert {*found.subject.name.split(" - ")} == {"n0", "n1"}


def test_a_login_that_hangs_for_large_packets() -> None:
    there = gathering(3)
    for number in (0, 2):
        there.hear(node(number))
    there.step(100.0)
    assert [code for code, _, _ in named(there)] == ["host-silent"]
    there.blame_large_packets(1, 1560)
    ((code, name, message),) = named(there)
    assert (code, name) == ("large-packets-lost", "n1")
    assert "has not confirmed 1560 bytes since" in message


# ---- this host


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        pytest.param(("host-unreachable", "host-unreachable"), "host-unreachable", id="no other host responds"),
        pytest.param(("large-packets-lost", "large-packets-lost"), "large-packets-lost", id="large packets"),
        pytest.param(("host-unreachable", "large-packets-lost"), "host-unreachable", id="both"),
        pytest.param(("host-unreachable", "host-refused"), "", id="one refuses: it is there"),
        pytest.param(("host-silent", "host-silent"), "", id="logins that hang may do so for a file system"),
    ],
)
def test_this_host_reaches_nobody(kinds: tuple[str, str], code: str) -> None:
    there = gathering(3)
    there.here = "n0"
    there.hear(node(0))
    there.at_home[0] = ""
    for number, kind in enumerate(kinds, 1):
        there.lose(number, replace(lost(f"n{number}"), code=kind))
    found = [(one.code, one.subject.name) for one in there.findings]
    assert (found == [(code, "n0")]) == bool(code)
    assert bool(code) or "n0" not in {name for _, name in found}


def test_one_other_host_that_does_not_respond_may_be_at_fault_itself() -> None:
    there = gathering(3)
    there.here = "n0"
    there.at_home[0] = ""
    there.hear(node(2))
    there.lose(1, replace(lost("n1"), code="host-unreachable"))
    assert [one.subject.name for one in there.findings] == ["n1"]
