"""Machines of many kinds that are as they should be: no rule finds an error there."""

import pytest

from nccltool.core.versions import Version
from nccltool.doctor import judge, rules
from tests.captured_hosts import KINDS, healthy

WHOLE = tuple(name for name in KINDS if name != "container")
"""That one is a container which lacks what NCCL needs."""


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("name", WHOLE)
def test_no_error_on_a_healthy_machine(name: str, nodes: int) -> None:
    host = judge.host_of(healthy(name), Version(2, 27, 3), nodes=nodes)
    problems = judge.judge([host], rules.every()).problems
    assert [(one.rule.code, one.found.message) for one in problems if one.severity == "error"] == []


def test_what_a_container_lacks_is_found() -> None:
    host = judge.host_of(healthy("container"), Version(2, 27, 3), nodes=1)
    problems = judge.judge([host], rules.every()).problems
    assert {one.rule.code for one in problems if one.severity != "info"} >= {"LIM001", "LIM009"}
