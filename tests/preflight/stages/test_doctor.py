"""What the doctor found, as outcomes: whom a finding names, and whether it is shown to be theirs."""

import msgspec
import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.doctor import judge
from nccltool.doctor.rules import every
from nccltool.hosts.facts import HostFacts, ProcessLimits
from nccltool.launch.host_survey import Survey
from nccltool.preflight.result import CheckOutcome
from nccltool.preflight.stages import doctor
from tests import captured_hosts as machines
from tests.preflight.samples import told
from tests.preflight.stages.test_contract import context


def diagnosed(*facts: HostFacts, select: str) -> list[CheckOutcome]:
    names = {one.host: f"n{number}" for number, one in enumerate(facts, 1)}
    rules = judge.chosen(every(), select.split(","))
    several = [judge.host_of(one, None, len(facts), 1, len(facts)) for one in facts]
    return list(doctor.judged(judge.judge(several, rules), (), names))


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
    outcomes = diagnosed(limited("h1", 2**20, TORCH_NCCL_BLOCKING_WAIT="on"), select="SYN017")
    assert told(outcomes) == {("doctor/SYN017", "n1"): ("fail", "everywhere")}


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
    outcomes = doctor.judged(judge.Judgement(outcomes=(), problems=()), (finding,), names)
    assert {one.host: one.shown for one in outcomes} == expected


@pytest.mark.parametrize(("backend", "expected"), [("auto", {"pass"}), ("gloo", {"pass"}), ("nccl", {"fail"})])
def test_ranks_that_run_over_gloo_are_none_of_nccls(backend: str, expected: set[str]) -> None:
    """Three emulated nodes on two GPUs."""
    there = context(3, 1, backend=backend)
    host = machines.healthy("dgx")
    nvidia = msgspec.structs.replace(host.nvidia, visible_gpus=2)
    facts = msgspec.structs.replace(host, nvidia=nvidia, env={})
    there._survey = Survey(hosts=there.hosts, snapshots=dict.fromkeys(there.hosts, facts))
    outcomes = doctor.run(there, doctor.DoctorPart(select=("LCH005",))).outcomes
    assert {one.status for one in outcomes} == expected
