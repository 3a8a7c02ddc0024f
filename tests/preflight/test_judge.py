"""What rungs brought, judged: tables of facts, calls and runs, and the outcomes of each check and host."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nccltool import __version__
from nccltool.compare.result import Against, RowKey
from nccltool.core.findings import Finding, Subject
from nccltool.core.unknown import Unknown
from nccltool.core.verdicts import Verdict
from nccltool.doctor import judge
from nccltool.doctor.rules import every
from nccltool.hosts.facts import HostFacts, Nvidia, ProcessLimits
from nccltool.launch.events import TAKEN_BUT, Node, Reached
from nccltool.launch.host_survey import Survey
from nccltool.launch.instructions import Goal
from nccltool.preflight import judge as preflight_judge
from nccltool.preflight.judge import Ran, again, blamed
from nccltool.preflight.result import Judged
from nccltool.preflight.suites import Expectation, InventoryPart, ReachPart, TrainPart
from nccltool.probe.result import Run
from nccltool.train.result import Training, TrainRun
from tests import captured_hosts as machines
from tests import samples

NAMES = {"alpha": "n1", "beta": "n2"}


def told(outcomes: Any) -> dict[tuple[str, str | None], tuple[str, str]]:
    """Code and host to status and how sure it is."""
    return {(one.code, one.host): (one.status, one.shown) for one in outcomes}


# ---- inventory


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
        ((4, 4), None, 8, {1: ("fail", "everywhere"), 2: ("fail", "everywhere")}),
        ((8, Unknown("no driver"), 8), None, None, {1: ("pass", ""), 2: ("unknown", ""), 3: ("pass", "")}),
    ],
)
def test_gpus(counts: Any, wanted: int | None, nproc: int | None, expected: dict[int, tuple[str, str]]) -> None:
    seen = survey(*(host(f"h{number}", count) for number, count in enumerate(counts)))
    found = told(preflight_judge.of_inventory(seen, InventoryPart(gpus=wanted), nproc))
    assert {key[1]: value for key, value in found.items() if key[0] == "inventory/gpus"} == {
        f"n{number}": value for number, value in expected.items()
    }


@pytest.mark.parametrize(("nproc", "status", "ranks"), [(8, "pass", 16.0), (None, "unknown", None)])
def test_ranks(nproc: int | None, status: str, ranks: float | None) -> None:
    (*_, one) = preflight_judge.of_inventory(survey(host("h1"), host("h2")), InventoryPart(), nproc)
    assert (one.code, one.status, one.measured, one.required) == ("inventory/ranks", status, ranks, False)


@pytest.mark.parametrize(
    ("lost", "code", "shown"),
    [((1,), "host-refused", "alone"), ((1,), "host-unknown", "suspected"), ((0, 1), "host-silent", "suspected")],
)
def test_hosts_that_do_not_come(lost: tuple[int, ...], code: str, shown: str) -> None:
    """Where no host comes, it is we who reach none; a name that nobody knows is on no list of a scheduler."""
    why = Finding(code=code, severity="error", subject=Subject(kind="host", name="n2"), message="n2 is not there")
    seen = survey(host("h1"), host("h2"), lost=dict.fromkeys(lost, why))
    found = [
        one for one in preflight_judge.of_inventory(seen, InventoryPart(), None) if one.code == "inventory/present"
    ]
    assert {one.host: (one.status, one.shown) for one in found if one.host == "n2"} == {"n2": ("fail", shown)}
    assert {one.page for one in found if one.host == "n2"} == {f"docs/findings.md#{code}"}


def test_a_host_that_was_not_waited_for_is_unknown_and_not_missing() -> None:
    seen = survey(host("h1"), host("h2"), unseen={1: "interrupted before it had answered"})
    found = [one for one in preflight_judge.of_inventory(seen, InventoryPart(), None) if one.host == "n2"]
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
    found = told(preflight_judge.of_inventory(survey(host("h1"), host("h2"), nodes=nodes), InventoryPart(), None))
    assert found["inventory/nccltool", "n1"] == ("pass", "")
    assert found["inventory/nccltool", "n2"] == (status, shown)


# ---- doctor


def diagnosed(*facts: HostFacts, select: str) -> list[Judged]:
    names = {one.host: f"n{number}" for number, one in enumerate(facts, 1)}
    rules = judge.chosen(every(), select.split(","))
    several = [judge.host_of(one, None, len(facts), 1, len(facts)) for one in facts]
    return list(preflight_judge.of_doctor(judge.judge(several, rules), (), names))


def limited(name: str, files: int, **env: str) -> HostFacts:
    return msgspec.structs.replace(
        machines.healthy("ib"), host=name, limits=ProcessLimits(nofile_soft=files, nofile_hard=files), env=env
    )


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ((1024, 2**20), {"n1": ("fail", "alone"), "n2": ("pass", "")}),
        ((1024, 1024), {"n1": ("fail", "everywhere"), "n2": ("fail", "everywhere")}),
        ((1024,), {"n1": ("fail", "alone")}),
        ((20000, 2**20), {"n1": ("warn", "alone"), "n2": ("pass", "")}),
        ((2**20, 2**20), {None: ("pass", "")}),
    ],
)
def test_a_rule_on_hosts(files: tuple[int, ...], expected: dict[str | None, tuple[str, str]]) -> None:
    outcomes = diagnosed(*(limited(f"h{n}", count) for n, count in enumerate(files)), select="LIM001")
    assert {one.host: (one.status, one.shown) for one in outcomes} == expected
    assert {one.page for one in outcomes if one.status != "pass"} <= {"docs/rules/LIM.md#lim001"}


def test_a_setting_of_the_job_is_not_a_fault_of_its_only_host() -> None:
    outcomes = diagnosed(limited("h1", 2**20, NCCL_DEBUG="LOUD"), select="DBG003")
    assert told(outcomes) == {("doctor/DBG003", "n1"): ("fail", "everywhere")}


@pytest.mark.parametrize(
    ("subject", "hosts", "expected"),
    [
        ("h3", 3, {"n3": "alone"}),
        ("h[1-2]", 5, {"n1": "alone", "n2": "alone"}),
        ("h[1-2]", 2, {None: "suspected"}),
        ("h[1-2]", 4, {None: "suspected"}),
        ("elsewhere", 3, {None: "suspected"}),
        ("@group", 3, {None: "suspected"}),
    ],
)
def test_hosts_that_differ(subject: str, hosts: int, expected: dict[str | None, str]) -> None:
    """Fewer than half are named; of two that differ, nobody knows which one is right."""
    finding = Finding(
        code="version-differs", severity="error", subject=Subject(kind="host", name=subject), message="differs"
    )
    names = {f"h{number}": f"n{number}" for number in range(1, hosts + 1)}
    outcomes = preflight_judge.of_doctor(judge.Judgement(outcomes=(), problems=()), (finding,), names)
    assert {one.host: one.shown for one in outcomes} == expected


# ---- reach


@pytest.mark.parametrize(
    ("pairs", "culprits", "rest"),
    [
        ((), (), ()),
        ((("a", "b"),), (), (("a", "b"),)),
        ((("a", "b"), ("b", "a")), (), (("a", "b"), ("b", "a"))),
        ((("a", "c"), ("b", "c"), ("d", "c")), ("c",), ()),
        ((("a", "c"), ("b", "c"), ("c", "a"), ("d", "e")), ("c",), (("d", "e"),)),
        ((("a", "b"), ("b", "c"), ("c", "a")), (), (("a", "b"), ("b", "c"), ("c", "a"))),
        # y fails with two partners that nothing else is said of, once x is taken out
        ((("a", "x"), ("b", "x"), ("c", "x"), ("a", "y"), ("b", "y")), ("x", "y"), ()),
        ((("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")), ("x", "y"), ()),
        ((("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")), (), (("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"))),
    ],
)
def test_who_is_blamed_for_pairs(pairs: Any, culprits: Any, rest: Any) -> None:
    assert blamed(pairs) == (culprits, rest)


def reached(failing: dict[tuple[int, int], str]) -> Survey:
    """Three hosts of which each calls each; some calls fail, for a reason."""
    nodes = {
        n: Node(
            node=n,
            host=f"h{n + 1}",
            host_id="",
            nccltool="",
            gpus=0,
            addresses=(f"10.0.0.{n}",),
            port=7,
            data_port=8,
        )
        for n in range(3)
    }
    calls = [(a, Goal(node=b, port=8, addresses=())) for a in range(3) for b in range(3) if a != b]
    answers = []
    for a, goal in calls:
        why = failing.get((a, goal.node), "")
        by_name = why.startswith("name:")
        address = f"10.0.0.{goal.node}"
        failures = (f"h{goal.node + 1}: unknown",) if by_name else (f"{address}: {why}",) if why else ()
        there = () if why and not by_name else (address,)
        if why != "silent":
            answers.append(Reached(node=a, goal=goal.node, port=8, addresses=there, failures=failures))
    return Survey(
        hosts={n: f"n{n + 1}" for n in range(3)}, nodes=nodes, calls=tuple(calls), reached=tuple(answers)
    )


FW, MTU = "no answer in 5 s", f"{TAKEN_BUT} in 5 s"


@pytest.mark.parametrize(
    ("failing", "names", "expected"),
    [
        ({}, "warn", {}),
        ({(0, 2): FW, (1, 2): FW}, "warn", {("reach/ports", "n3"): ("fail", "confirmed")}),
        (
            {(0, 2): FW},
            "warn",
            {("reach/ports", "n1"): ("fail", "suspected"), ("reach/ports", "n3"): ("fail", "suspected")},
        ),
        ({(0, 2): MTU, (1, 2): MTU}, "warn", {("reach/path-mtu", "n3"): ("fail", "confirmed")}),
        ({(0, 2): "silent", (2, 1): "silent"}, "warn", {("reach/ports", "n3"): ("fail", "confirmed")}),
        ({(0, 2): "name:", (1, 2): "name:"}, "warn", {("reach/names", "n3"): ("warn", "confirmed")}),
        ({(0, 2): "name:", (1, 2): "name:"}, "fail", {("reach/names", "n3"): ("fail", "confirmed")}),
        ({(0, 2): "name:", (1, 2): "name:"}, "ignore", {}),
    ],
)
def test_reach(failing: Any, names: Any, expected: Any) -> None:
    outcomes = list(preflight_judge.of_reach(reached(failing), ReachPart(names=names)))
    assert {key: value for key, value in told(outcomes).items() if value[0] != "pass"} == expected
    passed = {one.host for one in outcomes if one.code == "reach/ports" and one.status == "pass"}
    assert passed | {key[1] for key in expected if key[0] == "reach/ports"} == {"n1", "n2", "n3"}


def test_calls_that_were_not_waited_for_are_unknown() -> None:
    """Of three hosts the third has no answer yet: that it fails with both others is not known."""
    seen = reached({})
    answers = tuple(one for one in seen.reached if 2 not in (one.node, one.goal))
    outcomes = list(preflight_judge.of_reach(replace(seen, reached=answers, cut_short="interrupted"), ReachPart()))
    assert {one.status for one in outcomes if one.host == "n3"} == {"unknown"}
    assert not [one for one in outcomes if one.status == "fail"]


# ---- runs


def ran(run: Run | None, *hosts: str, **changes: Any) -> Ran:
    return replace(Ran(rung="across", hosts=hosts or ("n1", "n2"), run=run, repeat="nccltool probe"), **changes)


def run(*findings: Finding, **changes: Any) -> Run:
    healthy = Run(
        info=samples.info(emulated=False, hosts=("alpha", "beta")),
        verdict=Verdict(status="pass", exit_code=0),
        measurements=(samples.measurement(),),
        findings=findings,
    )
    return replace(healthy, **changes)


def found(code: str, kind: Any, name: str, severity: Any = "error", message: str = "said") -> Finding:
    return Finding(code=code, severity=severity, subject=Subject(kind=kind, name=name), message=message)


DATA_PASS = {("across/data", None): ("pass", "")}
DATA_SKIP = {("across/data", None): ("skip", "")}
DATA_UNKNOWN = {("across/data", None): ("unknown", "")}
ENDED_BY_N2 = {("across/completed", "n2"): ("fail", "suspected")} | DATA_SKIP
COMPLETED = {("across/completed", None): ("pass", "")}


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (run(), COMPLETED | DATA_PASS),
        (run(found("rank-died", "rank", "2")), ENDED_BY_N2),  # ranks 2 and 3 are on the second host
        (run(found("host-lost", "host", "beta")), ENDED_BY_N2),
        (run(found("node-missing", "host", "node 1")), ENDED_BY_N2),
        (run(found("hang", "run", "all ranks")), {("across/completed", None): ("fail", "suspected")} | DATA_SKIP),
        (run(found("wrong-data", "rank", "1")), COMPLETED | {("across/data", "n1"): ("fail", "suspected")}),
        (
            run(found("clock-skew", "host", "beta", "warning")),
            COMPLETED | DATA_PASS | {("across/clock-skew", "n2"): ("warn", "suspected")},
        ),
        (run(found("env-differs", "variable", "X", "warning")), COMPLETED | DATA_PASS),
        (run(found("dip", "run", "x", "info")), COMPLETED | DATA_PASS),
        (run(measurements=(samples.measurement(wrong=None),)), COMPLETED | DATA_UNKNOWN),
        (run(measurements=()), COMPLETED | DATA_UNKNOWN),
        (None, {("across/completed", None): ("unknown", "")}),
        (
            run(verdict=Verdict(status="incomplete", exit_code=130)),
            {("across/completed", None): ("unknown", "")} | DATA_PASS,
        ),
    ],
)
def test_a_probe(what: Run | None, expected: Any) -> None:
    assert (
        told(preflight_judge.of_probe(ran(what, why_not="killed"), (), NAMES, differences_known=True)) == expected
    )


@pytest.mark.parametrize(
    ("code", "failing", "hosts", "shown"),
    [
        ("rank-died", ("n1",), {"n1", "n2"}, "alone"),
        ("rank-died", ("n1", "n2"), {"n1", "n2"}, "everywhere"),
        ("rank-died", ("n1",), {"n1"}, "alone"),
        ("interface-unusable", ("n1",), {"n1"}, "everywhere"),
        ("interface-unusable", ("n1",), {"n1", "n2"}, "alone"),
    ],
)
def test_what_fails_on_all_hosts_alike_takes_none_out(code: str, failing: Any, hosts: Any, shown: str) -> None:
    said = found(code, "rank", "0")
    each = [
        Judged(code="within/completed", rung="within", host=name, status="fail", shown="alone", findings=(said,))
        for name in failing
    ]
    passed = Judged(code="within/data", rung="within", host="n1", status="pass")
    *failed, last = preflight_judge.shared((*each, passed), hosts)
    assert ({one.shown for one in failed}, last) == ({shown}, passed)


@pytest.mark.parametrize(("code", "shown"), [("rank-died", "alone"), ("deadline", "suspected")])
def test_a_host_is_not_to_blame_for_the_time_that_a_run_was_given(code: str, shown: str) -> None:
    alone = ran(run(found(code, "run", "x")), "n1", alone=True)
    outcomes = told(preflight_judge.of_probe(alone, (), NAMES, differences_known=True))
    assert outcomes["across/completed", "n1"] == ("fail", shown)


def test_data_that_a_suite_does_not_check_is_not_unknown() -> None:
    unchecked = ran(run(measurements=(samples.measurement(wrong=None),)))
    outcomes = told(preflight_judge.of_probe(unchecked, (), NAMES, differences_known=True, checked=False))
    assert outcomes == COMPLETED | DATA_SKIP


def test_what_fails_on_one_host_alone_is_its_own() -> None:
    alone = ran(run(found("wrong-data", "rank", "1")), "n2", rung="within", alone=True)
    outcomes = preflight_judge.of_probe(alone, (), NAMES, differences_known=True)
    assert told(outcomes) == {("within/completed", "n2"): ("pass", ""), ("within/data", "n2"): ("fail", "alone")}


def wanted(metric: str, **changes: Any) -> Expectation:
    plain = Expectation(
        metric=metric,
        of="",
        size=None,
        low=None,
        high=None,
        text="as expected",
        severity="fail",
        backend="",
        nodes=None,
        source="a page",
        date="",
        measured_on="",
        seen_by_us=None,
        where="",
    )
    return replace(plain, **changes)


SMALL = samples.measurement(bytes=1024, busbw_bytes_per_s=1e9)
LARGE = samples.measurement(bytes=2**20, busbw_bytes_per_s=300e9, limit_busbw_bytes_per_s=400e9)
LATE = samples.measurement(bytes=2**20, late_rank=3, late_s=0.05)
NOISY = samples.measurement(busbw_bytes_per_s=300e9, noisy=True)


@pytest.mark.parametrize(
    ("rows", "expectation", "expected"),
    [
        ((SMALL, LARGE), wanted("busbw", low=250e9), ("across/all_reduce-busbw", None, "pass", 300e9)),
        ((SMALL, LARGE), wanted("busbw", low=301e9), ("across/all_reduce-busbw", None, "fail", 300e9)),
        (
            (SMALL, LARGE),
            wanted("busbw", low=2e9, size=1024, of="all_reduce", severity="warn"),
            ("across/all_reduce-busbw-1KiB", None, "warn", 1e9),
        ),
        (
            (SMALL,),
            wanted("busbw", low=2e9, size=2**30, of="all_reduce"),
            ("across/all_reduce-busbw-1GiB", None, "skip", None),
        ),
        ((LARGE,), wanted("busbw", low=1e9, backend="nccl"), ("across/busbw", None, "skip", None)),
        ((LARGE,), wanted("busbw", low=1e9, nodes=4), ("across/busbw", None, "skip", None)),
        ((LARGE,), wanted("busbw", high=250e9), ("across/all_reduce-busbw", None, "fail", 300e9)),
        ((NOISY,), wanted("busbw", low=310e9), ("across/all_reduce-busbw", None, "unknown", 300e9)),
        ((NOISY,), wanted("busbw", low=500e9), ("across/all_reduce-busbw", None, "fail", 300e9)),
        ((LARGE,), wanted("share_of_limit", low=0.5), ("across/all_reduce-share_of_limit", None, "pass", 0.75)),
        ((SMALL,), wanted("share_of_limit", low=0.5), ("across/all_reduce-share_of_limit", None, "unknown", None)),
        ((LARGE,), wanted("late", high=0.02), ("across/late", None, "pass", 0.0)),
        ((LARGE, LATE), wanted("late", high=0.02), ("across/late", "n2", "fail", 0.05)),
        ((LARGE,), wanted("time", high=0.001), ("across/all_reduce-time", None, "fail", 0.002)),
        ((), wanted("late", high=0.02), ("across/late", None, "skip", None)),
    ],
)
def test_numbers(rows: Any, expectation: Expectation, expected: tuple[str, str | None, str, float | None]) -> None:
    outcomes = preflight_judge.of_probe(ran(run(measurements=rows)), (expectation,), NAMES, differences_known=True)
    (one,) = [outcome for outcome in outcomes if outcome.source == "a page"]
    assert (one.code, one.host, one.status) == expected[:3]
    assert one.measured == (None if expected[3] is None else pytest.approx(expected[3]))
    assert (one.expected, one.source) == ("as expected", "a page")
    assert (one.status in ("pass", "skip")) == (one.page == "")


def test_a_number_that_only_warns_does_not_make_the_verdict_unknown() -> None:
    expectation = wanted("share_of_limit", low=0.5, severity="warn")
    outcomes = preflight_judge.of_probe(ran(run()), (expectation,), NAMES, differences_known=True)
    assert [(one.status, one.required) for one in outcomes if one.source == "a page"] == [("unknown", False)]


# ---- the second test


FAILED = Judged(
    code="across/data",
    rung="across",
    host="n2",
    status="fail",
    reason="wrong",
    shown="suspected",
    hosts=("n1", "n2"),
)
PAIR = replace(FAILED, hosts=("n2", "n3"))
PASSED = Judged(code="across/data", rung="across", host=None, status="pass", hosts=("n1", "n3"))


@pytest.mark.parametrize(
    ("pair", "without", "shown", "said"),
    [
        (PAIR, PASSED, "confirmed", "so it was again with n3 alone, and not among n[1,3] without it"),
        (PAIR, replace(PASSED, host="n1", status="fail"), "suspected", "but among n[1,3] without it too"),
        (replace(PASSED, hosts=("n2", "n3")), PASSED, "suspected", "it was not so again with n3 alone"),
        (replace(PAIR, host="n3"), PASSED, "suspected", "it was not so again with n[2-3] alone"),
        (PAIR, replace(PASSED, status="skip"), "suspected", "the test of n[1,3] without it says nothing of it"),
        (PAIR, replace(PASSED, status="unknown"), "suspected", "the test of n[1,3] without it says nothing of it"),
        (PAIR, replace(PASSED, code="across/completed"), "confirmed", "not among n[1,3] without it"),
        (
            PAIR,
            replace(PASSED, code="across/completed", status="unknown"),
            "suspected",
            "the test of n[1,3] without it says nothing of it",
        ),
    ],
)
def test_a_second_test(pair: Judged, without: Judged, shown: str, said: str) -> None:
    (one,) = again((FAILED,), "n2", (pair,), (without,))
    assert one.shown == shown
    assert one.hosts == (() if without.status == "pass" else ("n1", "n2"))  # the others are cleared
    if pair.host != "n3":
        assert said in one.reason


# ---- trainings and baselines


def training(strategy: str) -> Training:
    """One that passed: nobody timed it."""
    return Training(
        strategy=strategy,
        status="pass",
        reason="",
        steps=(),
        oracle=None,
        step_time_s=None,
        throughput_samples_per_s=None,
        throughput_tokens_per_s=None,
        exposed_communication_ratio=None,
        exposed_communication_method="",
        scaling_efficiency=None,
        slowest_rank=None,
        peak_memory_bytes=(),
    )


def test_trainings() -> None:
    trained = TrainRun(
        info=samples.info(emulated=False),
        verdict=Verdict(status="fail", exit_code=1),
        findings=(found("train-wrong", "rank", "3", message="fsdp: the loss of rank 3 differs"),),
        trainings=(training("ddp"), replace(training("fsdp"), status="fail")),
    )
    part = TrainPart(strategies=("ddp", "fsdp"))
    outcomes = preflight_judge.of_train(replace(ran(trained), rung="train"), part, NAMES, differences_known=True)
    assert told(outcomes) == {
        ("train/completed", None): ("pass", ""),
        ("train/ddp", None): ("pass", ""),
        ("train/fsdp", "n2"): ("fail", "suspected"),
    }


def test_a_baseline() -> None:
    row = samples.measurement()
    key = RowKey(
        op=row.op, bytes=row.bytes, dtype="float32", reduce_op="sum", placement="in-place", cadence="stream"
    )
    slower = Against(
        key=key,
        status="fail",
        measured_busbw_bytes_per_s=90e9,
        expected_busbw_bytes_per_s=100e9,
        change=-0.1,
        low=-0.12,
        high=-0.08,
        reason="",
        source="baseline usual of 5 runs",
    )
    (one,) = preflight_judge.of_baseline(ran(run()), (slower,))
    assert (one.code, one.status, one.measured, one.expected) == (
        "across/all_reduce-baseline-1MiB",
        "fail",
        90e9,
        "100.0 GB/s",
    )
    assert one.reason == "-10.0% against baseline usual of 5 runs, between -12.0% and -8.0%"
