"""An error is sure: not about logs only, and not only in the releases of NCCL that happen to be newer."""

from dataclasses import replace

from nccltool.core.versions import Version
from nccltool.doctor import judge
from nccltool.doctor.rules.base import NO_NCCL, OLDEST, JudgedHost
from nccltool.hosts.nccl import settings
from tests.doctor.rules.base import Case
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
