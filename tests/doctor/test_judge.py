"""Hosts and rules in, outcomes and findings out."""

import time
from collections import defaultdict
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from nccltool.core.errors import BadInput
from nccltool.core.findings import Subject
from nccltool.core.unknown import Unknown
from nccltool.core.verdicts import of_findings
from nccltool.core.versions import Version
from nccltool.doctor import judge, report, rules
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, across, for_text, known, rule
from nccltool.hosts.facts import Cloud, ConfFile, Container, Nvidia, Shm, Versions
from nccltool.hosts.nccl import variables
from tests.doctor.rules.base import UNREAD, host
from tests.doctor.rules.parts import limits

PAGE = "\n\nWhy: w\nExample: e\nInstead: i\nSource: s"


@rule("TST001", "error", covers=(), needs=("shm",))
def error(one: JudgedHost) -> Results:
    if known(one.facts.shm.size_bytes) < 10:
        yield report.RuleFinding(subject=Subject(kind="host", name="shm"), message="small", remedy="more")


@rule("TST002", "warning", covers=())
def warning(one: JudgedHost) -> Results:
    variable = one.variable("NCCL_A")
    if variable:
        yield report.about(variable, "it is set", "unset it", fix=report.unset(variable))


@rule("TST003", "warning", covers=(), needs=("shm",))
def part(one: JudgedHost) -> Results:
    yield from error.check([one])
    yield Unknown("the other part was not read")


@across("TST004", "error", covers=())
def differences(hosts: Sequence[JudgedHost]) -> Results:
    if len({one.get("NCCL_A") for one in hosts}) > 1:
        yield report.RuleFinding(
            subject=Subject(kind="variable", name="NCCL_A"), message="differs", remedy="the same"
        )


@rule("TST006", "error", covers=(), needs=("rank",))
def of_a_rank(one: JudgedHost) -> Results:
    if one.get("RANK") == "7":
        yield report.host("n1", "it is the seventh", "another rank")


SMALL, LARGE = Shm(size_bytes=1), Shm(size_bytes=100)


def judged(*hosts: JudgedHost, asked: Sequence[object] = (error, warning)) -> judge.Judgement:
    return judge.judge(hosts, asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "statuses", "verdict"),
    [
        (host(shm=LARGE), ["pass", "pass"], ("pass", 0)),
        (host(shm=SMALL), ["fail", "pass"], ("fail", 1)),
        (host({"NCCL_A": "1"}, shm=LARGE), ["pass", "warn"], ("warn", 0)),
        (host(), ["unknown", "pass"], ("pass", 0)),
        (UNREAD, ["unknown", "unknown"], ("unknown", 4)),
    ],
)
def test_outcomes_and_verdict(one: JudgedHost, statuses: list[str], verdict: tuple[str, int]) -> None:
    judgement = judged(one)
    assert [outcome.status for outcome in judgement.outcomes] == statuses
    found = of_findings(judgement.findings, can_tell=judgement.is_told)
    assert (found.status, found.exit_code) == verdict
    assert all(outcome.reason for outcome in judgement.outcomes if outcome.status == "unknown")


def test_what_was_found_stands_beside_what_was_not_read() -> None:
    (outcome,) = judged(host(shm=SMALL), asked=[part]).outcomes
    assert (outcome.status, outcome.reason) == ("warn", "the other part was not read")
    (outcome,) = judged(host(shm=LARGE), asked=[part]).outcomes
    assert (outcome.status, outcome.reason) == ("unknown", "the other part was not read")


def test_a_finding_shows_the_value_in_place() -> None:
    (finding,) = judged(host(files={"system": "\nNCCL_A=x\x1b[1m"}, shm=LARGE)).findings
    assert finding.evidence == ("/etc/nccl.conf:2: NCCL_A=x\\x1b[1m\n                         ^^^^^^^^",)
    assert (finding.code, finding.severity, finding.page) == ("TST002", "warning", "docs/rules/TST.md#tst002")


def test_the_same_on_many_hosts_is_said_once() -> None:
    hosts = [host(host=f"n{number:03}", shm=SMALL if number < 30 else LARGE) for number in range(100)]
    (finding,) = judged(*hosts).findings
    assert finding.evidence == ("on n[000-029]",)


def test_hosts_that_tell_nothing_are_counted() -> None:
    (outcome, _) = judged(host(shm=LARGE), host(host="n2")).outcomes
    assert (outcome.status, outcome.reason) == ("unknown", "not checked (on 1 of 2 hosts)")


def test_a_host_without_settings_is_judged_beside_others() -> None:
    (outcome,) = judged(host({"RANK": "0"}), UNREAD, asked=[of_a_rank]).outcomes
    assert outcome.status == "unknown"
    assert "Permission denied" in outcome.reason


@pytest.mark.parametrize("needs", [("rank",), ("rank", "shm")])
def test_a_variable_of_one_rank_is_found_among_thousands(needs: tuple[str, ...]) -> None:
    """Where no host has a variable, its rules look at none; each rank has its own RANK."""

    @for_text("TST007", "error", "RANK", covers=(), needs=needs)
    def rank_is_set(_: JudgedHost, variable: Variable, text: str) -> Results:
        yield report.about(variable, f"it is {text}")

    hosts = [host({"RANK": "3"} if number == 77 else {}, host=f"n{number}", shm=LARGE) for number in range(100)]
    assert [problem.hosts for problem in judged(*hosts, asked=[rank_is_set]).problems] == [("n77",)]


def test_differences_need_two_hosts() -> None:
    assert judged(host({"NCCL_A": "1"}), asked=[differences]).outcomes[0].status == "skip"
    assert judged(host({"NCCL_A": "1"}), host(host="n2"), asked=[differences]).outcomes[0].status == "fail"
    assert judged(host(), asked=[differences]).is_told is False


@pytest.mark.parametrize(
    ("environment", "nodes", "ranks"),
    [
        ({"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}, 2, 8),
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, 1, 4),
        ({"SLURM_NNODES": "3", "SLURM_NTASKS_PER_NODE": "2"}, 3, 2),
        ({"WORLD_SIZE": "many"}, None, None),
        ({}, None, None),
    ],
)
def test_the_job_is_that_of_the_launcher(
    environment: dict[str, str], nodes: int | None, ranks: int | None
) -> None:
    seen = host(environment, nodes=None, local_ranks=None)
    assert (seen.nodes if isinstance(seen.nodes, int) else None) == nodes
    assert (seen.local_ranks if isinstance(seen.local_ranks, int) else None) == ranks


def test_versions_and_gpus_come_from_the_facts() -> None:
    seen = host(
        nccl=None,
        local_ranks=None,
        versions=Versions(nccl="2.27.3", torch="2.13.0+cu130"),
        nvidia=Nvidia(visible_gpus=8),
    )
    assert (seen.nccl, seen.torch, seen.local_ranks) == (Version(2, 27, 3), Version(2, 13), 8)
    assert seen.settings.version == Version(2, 27, 3)


EVERY = rules.every()


RCCL = Versions(rccl="2.27.7", torch_hip="6.4")
IFNAME = {"NCCL_SOCKET_IFNMAE": "eth0", "NCCL_SOKCET_IFNAME": "eth0"}
ONCE = "set NCCL_SOCKET_IFNAME once: {} may mean it, too"
GONE = ConfFile(role="NCCL_CONF_FILE", path="/gone", exists=False, text=Unknown("does not exist"))
FOLDER = replace(GONE, exists=True, text=Unknown("/gone is not a regular file"))
NAMED = {"NCCL_CONF_FILE": "/gone"}


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (host(IFNAME), {"warning": ["rename it to NCCL_SOCKET_IFNAME or unset it"] * 2}),
        (
            host({**IFNAME, "nccl_socket_ifname": "ib0"}),
            {
                "warning": [
                    ONCE.format("NCCL_SOKCET_IFNAME, nccl_socket_ifname"),
                    ONCE.format("NCCL_SOCKET_IFNMAE, nccl_socket_ifname"),
                    ONCE.format("NCCL_SOCKET_IFNMAE, NCCL_SOKCET_IFNAME"),
                ]
            },
        ),
        (
            host({"nccl_debug": "INFO", "NCCL_DEBUG": "WARN"}),
            {"warning": ["unset it: NCCL_DEBUG is set to another value"]},
        ),
        (host({"nccl_debug": "WARN", "NCCL_DEBUG": "WARN"}), {"warning": ["unset it: NCCL_DEBUG is set"]}),
        # a misspelled variable of RCCL is as bad as one of NCCL
        (
            host({"RCCL_MSCCL_ENALBE": "1", "NCCL_DEBGU": "1"}, versions=RCCL),
            {"warning": ["rename it to NCCL_DEBUG or unset it", "rename it to RCCL_MSCCL_ENABLE or unset it"]},
        ),
        (
            host({"RCCL_MSCCL_ENBALED": "1"}, versions=RCCL),
            {"info": ["rename it to RCCL_MSCCL_ENABLE or unset it"]},
        ),
        (host({"NCCL_IB_TIEMUOT": "22"}), {"warning": ["rename it to NCCL_IB_TIMEOUT or unset it"]}),
        (host(NAMED, conf_files=(GONE,)), {"warning": ["create or mount it, or unset NCCL_CONF_FILE"]}),
        (
            host(NAMED, conf_files=(FOLDER,)),
            {"warning": ["make it a file that the job's user can read; check with ls -l /gone"]},
        ),
        (
            host(limits=limits(nofile_hard=4096), container=Container(inside=False)),
            {
                "warning": [
                    "printf '%s - nofile 131072\\n' '*' root | sudo tee /etc/security/limits.d/nofile.conf, "
                    "then log in again; in the systemd unit of a service such as slurmd, LimitNOFILE=131072"
                ]
            },
        ),
        (
            host(limits=limits(nofile_hard=4096), container=Container(inside=True), nodes=512),
            {
                "warning": [
                    "docker run --ulimit nofile=263168; in Kubernetes, raise LimitNOFILE of the container runtime"
                ]
            },
        ),
    ],
)
def test_remedies(one: JudgedHost, told: dict[str, list[str]]) -> None:
    found = defaultdict[str, list[str]](list)
    for each in judge.judge([one], judge.chosen(EVERY, ["SYN00", "CNF001", "LIM001"])).findings:
        found[each.severity].append(each.remedy)
    assert found == told


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        (["SYN009"], [], ["SYN009"]),
        (["syn-00"], ["SYN001", "quoted"], ["SYN002", "SYN003", "SYN004", "SYN005", "SYN006", "SYN007", "SYN008"]),
        (["quoted-value"], [], ["SYN009"]),
    ],
)
def test_select_and_ignore(select: list[str], ignore: list[str], expected: list[str]) -> None:
    assert [one.code for one in judge.chosen(EVERY, select, ignore)] == expected


@pytest.mark.parametrize(("select", "ignore"), [(["XYZ"], []), ([], ["XYZ"]), (["SYN"], ["SYN"]), ([], [""])])
def test_words_that_fit_no_rule(select: list[str], ignore: list[str]) -> None:
    with pytest.raises(BadInput):
        judge.chosen(EVERY, select, ignore)


def test_an_empty_environment_has_no_error_and_no_warning() -> None:
    for one in (host(), host(nccl=None, nodes=None, local_ranks=None), host(cloud=Cloud(provider="aws"))):
        assert [finding for finding in judge.judge([one], EVERY).findings if finding.severity != "info"] == []


NAMES = sorted(variables.every())
values = st.one_of(
    st.text(max_size=40),
    st.from_regex(r"[\^=]{0,2}[a-z0-9_,:;.%~ ]{0,20}", fullmatch=True),
    st.sampled_from(["", "1", "-1", "true", "4M", "^", "=", "9" * 40, "\x00", "\ud800", "\x1b[2J", "a" * 300]),
)


@settings(max_examples=40)
@given(st.dictionaries(st.one_of(st.sampled_from(NAMES), st.text(min_size=1, max_size=12)), values, max_size=12))
def test_no_value_breaks_a_rule(environment: dict[str, str]) -> None:
    judge.judge([host(environment)], EVERY)


@given(st.text(max_size=400))
def test_no_file_breaks_a_rule(text: str) -> None:
    judgement = judge.judge([host(files={"system": text, "home": text})], EVERY)
    assert all(
        line.isprintable() for one in judgement.findings for text in one.evidence for line in text.split("\n")
    )


@pytest.mark.slow
def test_every_variable_with_a_megabyte() -> None:
    started = time.monotonic()
    for letter in ("x", "1", ",", "^", '"'):
        one = host(dict.fromkeys(NAMES, letter * (1 << 20)))
        judgement = judge.judge([one], EVERY)
        texts = [text for one in judgement.findings for text in (one.message, one.remedy, *one.evidence)]
        assert max(len(text) for text in texts) < 5000
    assert time.monotonic() - started < 120  # a hang, not a speed
