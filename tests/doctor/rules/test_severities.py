"""An error is sure: not about logs only, and not only in the releases of NCCL that happen to be newer."""

from dataclasses import replace

import pytest

from nccltool.core.findings import Severity
from nccltool.core.versions import Version
from nccltool.doctor import judge
from nccltool.doctor.rules.base import NO_NCCL, OLDEST, JudgedHost
from nccltool.hosts.facts import Rdma
from nccltool.hosts.nccl import settings
from tests.doctor.rules.base import Case, host
from tests.doctor.rules.machines import NONE, net, nic, plugin
from tests.doctor.rules.parts import L40S, gpu, nvidia
from tests.doctor.rules.test_cases import BY_RULE, RULES, of_each_rule

RELEASES = (OLDEST, Version(2, 18, 3), Version(2, 23, 4), Version(2, 27, 7), Version(2, 30, 7))


def _with(host: JudgedHost, version: Version | None) -> JudgedHost:
    unread = host.settings.unread
    effective = host.settings if unread else settings.of(host.facts, version)
    return replace(host, nccl=version or NO_NCCL, settings=effective)


def _errors(case: Case, version: Version | None) -> set[str]:
    """What the errors of a case are about, with this release on all hosts."""
    judgement = judge.judge([_with(host, version) for host in case.hosts], [RULES[case.code]])
    return {one.found.subject.name for one in judgement.problems if one.severity == "error"}


def test_logs_are_never_an_error() -> None:
    cases = [case for code, some in BY_RULE.items() if code.startswith("DBG") for case in some]
    assert cases
    assert [str(case) for case in cases if any(_errors(case, version) for version in (None, *RELEASES))] == []


@of_each_rule
def test_an_error_without_a_version_is_one_in_every_release(cases: tuple[Case, ...]) -> None:
    for case in cases:
        if sure := _errors(case, None):
            for version in RELEASES:
                assert sure <= _errors(case, version), f"{case} with NCCL {version}"


_TWO_MODELS = nvidia(gpus=(gpu(0), gpu(1, L40S)))
_OFF = {"NCCL_IB_DISABLE": "1"}
_OVER_TCP = {"UCX_TLS": "tcp"}
_ETH0 = nic("eth0", "10.0.0.5/24")


@pytest.mark.parametrize(
    ("code", "of", "severity"),
    [
        ("CUD006", host(nvidia=_TWO_MODELS), "info"),
        ("CUD006", host({"CUDA_VISIBLE_DEVICES": "1,0"}, nvidia=_TWO_MODELS), "info"),
        ("CUD006", host({"CUDA_VISIBLE_DEVICES": "GPU-1"}, nvidia=_TWO_MODELS), "info"),
        ("CUD006", host({"CUDA_VISIBLE_DEVICES": "1"}, nvidia=_TWO_MODELS), "warning"),
        ("IB002", host(_OFF, plugins=(plugin(),), rdma=NONE), "info"),
        ("IB002", host(_OFF, plugins=(plugin(),), rdma=Rdma()), "warning"),
        ("LCH031", host({"JAX_PROCESS_ID": "-1"}), "warning"),
        ("LCH031", host({"PADDLE_TRAINER_ID": "-1"}), "error"),
        ("PLG038", host(_OVER_TCP, network=net(_ETH0, nic("docker0", "172.17.0.1/16"))), "info"),
        ("PLG038", host(_OVER_TCP, network=net(_ETH0, nic("flannel.1", "10.244.0.0/32"))), "warning"),
    ],
)
def test_how_sure_a_finding_is_depends_on_the_host(code: str, of: JudgedHost, severity: Severity) -> None:
    assert [one.severity for one in judge.judge([of], [RULES[code]]).problems] == [severity]
