"""Which hosts came, and what they have: tables of surveys, and the outcomes of each check and host."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nccltool import __version__
from nccltool.core.findings import Finding, Subject
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import HostFacts, Nvidia
from nccltool.launch.events import Node
from nccltool.launch.host_survey import Survey
from nccltool.preflight.result import CheckOutcome
from nccltool.preflight.stages import inventory
from nccltool.preflight.stages.inventory import InventoryPart
from tests.preflight.samples import told


def host(name: str, gpus: int | Unknown = 8) -> HostFacts:
    return HostFacts(host=name, nvidia=Nvidia(visible_gpus=gpus))


def survey(*facts: HostFacts, **changes: Any) -> Survey:
    names = {node: f"n{node + 1}" for node in range(len(facts))}
    return replace(Survey(hosts=names, snapshots=dict(enumerate(facts))), **changes)


@pytest.mark.parametrize(
    ("counts", "wanted", "nproc", "expected"),
    [
        ((8, 8, 8), None, None, {1: ("pass", ""), 2: ("pass", ""), 3: ("pass", "")}),
        ((8, 7, 8), None, None, {1: ("pass", ""), 2: ("fail", "alone"), 3: ("pass", "")}),
        ((8, 7), None, None, {1: ("fail", "suspected"), 2: ("fail", "suspected")}),
        ((7, 7), 8, None, {1: ("fail", "alone"), 2: ("fail", "alone")}),
        ((0, 0), None, 2, {1: ("pass", ""), 2: ("pass", "")}),
        ((4, 4), None, 8, {1: ("warn", "everywhere"), 2: ("warn", "everywhere")}),
        ((8, Unknown("no driver"), 8), None, None, {1: ("pass", ""), 2: ("unknown", ""), 3: ("pass", "")}),
    ],
)
def test_gpus(counts: Any, wanted: int | None, nproc: int | None, expected: dict[int, tuple[str, str]]) -> None:
    seen = survey(*(host(f"h{number}", count) for number, count in enumerate(counts)))
    found = told(inventory.judged(seen, InventoryPart(gpus=wanted), nproc))
    assert {key[1]: value for key, value in found.items() if key[0] == "inventory/gpus"} == {
        f"n{number}": value for number, value in expected.items()
    }


def of_gpus(outcomes: Iterable[CheckOutcome]) -> dict[str | None, tuple[str, str, str]]:
    return {one.host: (one.status, one.shown, one.reason) for one in outcomes if one.code == "inventory/gpus"}


GLOO = "2 ranks on 1 GPU: the ranks use Gloo on CPUs, so no GPU is tested"
PERMITTED = {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}


@pytest.mark.parametrize(
    ("gpus", "nproc", "backend", "env", "expected"),
    [
        (8, 4, "auto", {}, ("pass", "", "")),
        (1, 1, "auto", {}, ("warn", "everywhere", GLOO)),
        (1, 1, "nccl", {}, ("fail", "everywhere", "2 ranks on 1 GPU")),
        (1, 1, "nccl", PERMITTED, ("pass", "", "")),
        (1, 1, "auto", PERMITTED, ("pass", "", "")),
        (0, 1, "auto", {}, ("pass", "", "")),
        (1, 1, "gloo", {}, None),
        (Unknown("ask the driver"), 1, "gloo", {}, None),
    ],
)
def test_two_nodes_of_one_host(
    gpus: int | Unknown, nproc: int, backend: str, env: dict[str, str], expected: tuple[str, str, str] | None
) -> None:
    one = msgspec.structs.replace(host("h1", gpus), env=env)
    seen = replace(survey(one, one), hosts={0: "n1", 1: "n1"})
    found = of_gpus(inventory.judged(seen, InventoryPart(), nproc, backend))
    assert found == ({"n1": expected} if expected else {})


def test_over_gloo_hosts_need_not_have_equally_many_gpus_unless_the_suite_says_so() -> None:
    seen = survey(host("h1", 8), host("h2", 7))
    assert of_gpus(inventory.judged(seen, InventoryPart(), 7, "gloo")) == {}
    found = of_gpus(inventory.judged(seen, InventoryPart(gpus=8), 7, "gloo"))
    assert {name: status for name, (status, _, _) in found.items()} == {"n1": "pass", "n2": "fail"}


@pytest.mark.parametrize(("nproc", "status", "ranks"), [(8, "pass", 16.0), (None, "unknown", None)])
def test_ranks(nproc: int | None, status: str, ranks: float | None) -> None:
    (*_, one) = inventory.judged(survey(host("h1"), host("h2")), InventoryPart(), nproc)
    assert (one.code, one.status, one.measured, one.required) == ("inventory/ranks", status, ranks, False)


@pytest.mark.parametrize(
    ("lost", "code", "shown"),
    [((1,), "host-refused", "alone"), ((1,), "host-unknown", "suspected"), ((0, 1), "host-silent", "suspected")],
)
def test_hosts_that_do_not_come(lost: tuple[int, ...], code: str, shown: str) -> None:
    """Where no host comes, it is we who reach none; a name that nobody knows is on no list of a scheduler."""
    why = Finding(code=code, severity="error", subject=Subject(kind="host", name="n2"), message="n2 is not there")
    seen = survey(host("h1"), host("h2"), lost=dict.fromkeys(lost, why))
    found = [one for one in inventory.judged(seen, InventoryPart(), None) if one.code == "inventory/present"]
    assert {one.host: (one.status, one.shown) for one in found if one.host == "n2"} == {"n2": ("fail", shown)}
    assert {one.page for one in found if one.host == "n2"} == {f"docs/findings-hosts.md#{code}"}


def test_where_this_host_reaches_none_the_others_are_not_missing() -> None:
    """Whether they are there is not known; nobody is excluded."""
    why = Finding(
        code="host-unreachable",
        severity="error",
        subject=Subject(kind="host", name="n1"),
        message="n1 reaches none",
    )
    seen = survey(host("h1"), host("h2"), host("h3"), lost=dict.fromkeys((1, 2), why))
    seen.own_end = why
    found = [one for one in inventory.judged(seen, InventoryPart(), None) if one.code == "inventory/present"]
    assert [(one.host, one.status, one.shown) for one in found] == [
        (None, "fail", "suspected"),
        ("n1", "pass", ""),
        ("n2", "unknown", ""),
        ("n3", "unknown", ""),
    ]


def test_a_host_that_was_not_waited_for_is_unknown_and_not_missing() -> None:
    seen = survey(host("h1"), host("h2"), unseen={1: "interrupted before it answered"})
    found = [one for one in inventory.judged(seen, InventoryPart(), None) if one.host == "n2"]
    assert [(one.code, one.status, one.shown) for one in found if one.code == "inventory/present"] == [
        ("inventory/present", "unknown", "")
    ]
    assert not [one for one in found if one.status == "fail"]


@pytest.mark.parametrize(("release", "status", "shown"), [(__version__, "pass", ""), ("0.0.1", "fail", "alone")])
def test_another_release_of_nccltool(release: str, status: str, shown: str) -> None:
    nodes = {
        number: Node(node=number, host="h", host_id="", nccltool=there, gpus=0, addresses=(), port=1, data_port=2)
        for number, there in enumerate((__version__, release))
    }
    found = told(inventory.judged(survey(host("h1"), host("h2"), nodes=nodes), InventoryPart(), None))
    assert found["inventory/nccltool", "n1"] == ("pass", "")
    assert found["inventory/nccltool", "n2"] == (status, shown)
