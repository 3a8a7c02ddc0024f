"""What a localization means: findings, verdicts, exit codes, hosts to avoid."""

import pytest

from nccltool.localize import accusations
from nccltool.localize.encounter import Encounter
from nccltool.localize.result import Localization, Suspect
from nccltool.localize.topology import Topology
from tests.support.pairs import FOUND_106, OF_106, info, localization, met, suspect

HEALTHY = tuple(met(a, b, 370.0, number) for number, (a, b) in enumerate([("a", "b"), ("b", "c"), ("a", "c")]))


def test_issue_106() -> None:
    run = accusations.localized(info("644"), OF_106, FOUND_106)
    assert (run.verdict.status, run.verdict.exit_code) == ("fail", 1)
    assert [finding.code for finding in run.findings] == ["node-slow", "pairs-undetermined"]
    assert [finding.suspect and finding.suspect.name for finding in run.findings] == ["644", None]
    assert run.findings[0].message == "node 644 reaches 56 % of the healthy speed (confidence 0.96)"
    assert run.findings[1].message == "1 slow pair is unexplained; no node is named: 284 - 678"
    assert accusations.excluded(FOUND_106) == ("644",)


@pytest.mark.parametrize(
    ("found", "encounters", "codes", "exit_code"),
    [
        (localization(scope="nothing-slow"), HEALTHY, [], 0),
        (localization(scope="unknown", reason="one pair"), HEALTHY[:1], ["pairs-too-few"], 4),
        (localization(scope="undetermined", undetermined=(("a", "b"),)), HEALTHY, ["pairs-undetermined"], 1),
        (localization(scope="fabric-wide"), HEALTHY, ["fabric-wide"], 1),
        (localization(suspect("node", "a")), HEALTHY, ["node-slow"], 1),
        (localization(suspect("node", "d", ratio=None)), (*HEALTHY, met("a", "d", None)), ["node-absent"], 1),
        (localization(suspect("rail", "a", "mlx5_3")), HEALTHY, ["rail-slow"], 1),
        (localization(suspect("link", "a", "b")), HEALTHY, ["link-slow"], 1),
        (localization(suspect("group", "a", "b", "c")), HEALTHY, ["group-slow"], 1),
        (localization(scope="nothing-slow"), (*HEALTHY, met("a", "b", None, 3)), ["pairs-not-measured"], 0),
        (
            localization(scope="nothing-slow"),
            (*HEALTHY, met("a", "d", None, reason="it hung")),
            ["pairs-not-measured", "nodes-not-measured"],
            4,
        ),
    ],
)
def test_each_scope_has_its_exit_code(
    found: Localization, encounters: tuple[Encounter, ...], codes: list[str], exit_code: int
) -> None:
    run = accusations.localized(info(), encounters, found)
    assert ([one.code for one in run.findings], run.verdict.exit_code) == (codes, exit_code)


@pytest.mark.parametrize(
    ("doubtful", "encounters", "message", "remedy"),
    [
        ((("a", "b"),), HEALTHY, "1 slow pair is unexplained; no node is named: a - b", "with others"),
        (
            (("a", "b", "c"), ("a", "b", "d")),
            (),
            "2 slow groups are unexplained; no node is named: a - b - c, a - b - d",
            "--rounds",
        ),
        (
            (("a", "b"),),
            (met("a", "b", None),),
            "1 pair without a result is unexplained; no node is named: a - b",
            "--rounds",
        ),
        (
            (("b", "a"),),
            (met("a", "b", None), met("a", "b", 30.0)),
            "1 slow pair is unexplained; no node is named: b - a",
            "--rounds",
        ),
    ],
)
def test_what_nothing_explains(
    doubtful: tuple[tuple[str, ...], ...], encounters: tuple[Encounter, ...], message: str, remedy: str
) -> None:
    found = accusations.findings_of(localization(scope="undetermined", undetermined=doubtful), encounters)[0]
    assert (found.code, found.message) == ("pairs-undetermined", message)
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("leaves", "severities"), [({}, []), ({"a": "s1"}, []), ({"x": "s1", "y": "s1"}, ["warning"])]
)
def test_a_topology_of_other_nodes_is_a_warning(leaves: dict[str, str], severities: list[str]) -> None:
    found = accusations.topology_used(Topology(leaf_of=leaves), ("a", "b"))
    assert [one.severity for one in found] == severities


@pytest.mark.parametrize(
    ("nodes", "severity", "message"),
    [
        (
            ("r1n1", "r1n2", "r2n1", "login"),
            "info",
            "leaf switches are assumed from host names, as asked: r1: r1n[1-2]; r2: r2n1; login in none",
        ),
        (
            ("n1", "n2"),
            "warning",
            "--topology host-names: no name of a node has a rack and a node number, as r12n03 has",
        ),
    ],
)
def test_racks_in_names_are_told(nodes: tuple[str, ...], severity: str, message: str) -> None:
    (found,) = accusations.topology_used(Topology(is_by_name=True).of(nodes), nodes)
    assert (found.severity, found.message) == (severity, message)


@pytest.mark.parametrize(
    ("accused", "message", "remedy"),
    [
        (suspect("node", "n1/3"), "rank n1/3 reaches 50 % of the healthy speed", "check the GPU of n1/3"),
        (suspect("link", "n1/0", "n1/3"), "link n1/0 - n1/3 reaches", "check NVLink or PCIe between the two GPUs"),
        (suspect("node", "n1/3", ratio=None), "rank n1/3 gave no result", "look at the GPU and the processes"),
    ],
)
def test_inside_a_node_no_cable_is_blamed(accused: Suspect, message: str, remedy: str) -> None:
    run = accusations.localized(info("n1"), HEALTHY, localization(accused), kind="pairs", is_within=True)
    (found,) = [one for one in run.findings if one.is_error]
    assert (found.subject.kind, found.subject.name) == ("host", "n1")
    assert found.message.startswith(message)
    assert found.remedy.startswith(remedy)
    assert accusations.excluded(run.localization) == ("n1",)


def test_who_never_met_anybody_is_not_healthy() -> None:
    healthy = localization(scope="nothing-slow")
    run = accusations.localized(info(), HEALTHY, healthy, nodes=("a", "b", "c", "d"))
    assert (run.verdict.status, run.verdict.exit_code) == ("unknown", 4)
    assert [one.message for one in run.findings] == ["without a single result: d"]
    assert accusations.localized(info(), HEALTHY, healthy, nodes=("a", "b", "c")).verdict.exit_code == 0


def test_what_is_missing_in_the_input_is_a_warning() -> None:
    found = accusations.missing("m.txt: 2 of 6 pairs missing")
    run = accusations.localized(info(), HEALTHY, localization(scope="nothing-slow"), others=(found,))
    assert (found.code, run.verdict.status) == ("pairs-not-measured", "warn")


def test_an_interrupted_one() -> None:
    run = accusations.localized(info(), HEALTHY, localization(scope="nothing-slow"), interrupted=True)
    assert run.verdict.exit_code == 130


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (suspect("node", "n7"), "node n7"),
        (suspect("node", "n7", direction="receive"), "node n7, when it receives"),
        (suspect("rail", "n7", "3"), "rail 3 of n7"),
        (suspect("rail", "3"), "rail 3"),
        (suspect("link", "n1", "n2"), "link n1 - n2"),
        (suspect("link", "n1", "n2", direction="send"), "link n1 -> n2"),
        (suspect("group", "n1", "n2", "n3"), "group n[1-3]"),
    ],
)
def test_suspects_are_named(one: Suspect, text: str) -> None:
    assert accusations.suspect_text(one) == text


@pytest.mark.parametrize(
    ("suspects", "expected"),
    [
        ((suspect("node", "a"), suspect("node", "b", confidence=0.89)), ("a",)),
        ((suspect("rail", "c", "1"), suspect("rail", "2")), ("c",)),
        ((suspect("link", "a", "b"), suspect("group", "a", "b", "c")), ()),
    ],
)
def test_only_nodes_that_are_surely_at_fault_are_excluded(
    suspects: tuple[Suspect, ...], expected: tuple[str, ...]
) -> None:
    assert accusations.excluded(localization(*suspects, undetermined=(("x", "y"),))) == expected


def test_noise_is_no_reason_to_measure_more_pairs() -> None:
    noisy = accusations.localized(
        info(), HEALTHY, localization(scope="unknown", reason="noisy", smallest_visible_fault=0.7)
    )
    assert [finding.remedy for finding in noisy.findings] == [
        "measure while nothing else uses the hosts and the network, or longer (--pair-time)"
    ]
