"""Fabrics: the doctor objects to none of their settings, and none is a default of NCCL."""

import pytest

from nccltool.doctor import fabrics, judge, rules
from nccltool.hosts.facts import HostFacts
from nccltool.hosts.nccl import variables

DEFAULTS = {"NCCL_IB_SL": "0", "NCCL_IB_SPLIT_DATA_ON_QPS": "0", "NCCL_IB_QPS_PER_CONNECTION": "1"}
"""Vendors publish them although they are NCCL's own: NCCL user guide."""


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("name", fabrics.NAMES)
def test_the_doctor_objects_to_no_setting(name: str, nodes: int) -> None:
    settings = fabrics.get(name).settings
    facts = HostFacts(host="h", env={one.name: one.value for one in settings})
    problems = judge.judge([judge.host_of(facts, nodes=nodes)], rules.every()).problems
    assert [(one.rule.code, one.found.message) for one in problems if one.severity != "info"] == []


@pytest.mark.parametrize("name", fabrics.NAMES)
def test_each_setting_is_needed_once_and_has_reason_and_source(name: str) -> None:
    fabric = fabrics.get(name)
    assert len({one.name for one in fabric.settings}) == len(fabric.settings)
    assert fabric.settings or fabric.advice
    for one in fabric.settings:
        assert (one.reason, one.source) > ("", "")
        assert DEFAULTS.get(one.name) != one.value
        assert one.name in variables.every() or one.name.startswith(("FI_", "HSA_"))
