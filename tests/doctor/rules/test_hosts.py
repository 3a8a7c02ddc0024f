"""The doctor on captured hosts of each kind: nothing is wrong with a healthy one and what its maker sets."""

import pytest
from msgspec.structs import replace

from nccltool.core.versions import Version
from nccltool.doctor import judge, rules
from nccltool.doctor.rules.base import JudgedHost
from tests.captured_hosts import KINDS, captured

PROFILES: dict[str, dict[str, str]] = {
    "aws": {"NCCL_SOCKET_IFNAME": "^docker,lo,veth", "NCCL_DEBUG": "WARN"},
    "gcp": {
        "NCCL_NET": "gIB",
        "NCCL_CROSS_NIC": "0",
        "NCCL_NET_GDR_LEVEL": "PIX",
        "NCCL_P2P_NET_CHUNKSIZE": "131072",
        "NCCL_NVLS_CHUNKSIZE": "524288",
        "NCCL_IB_ADAPTIVE_ROUTING": "1",
        "NCCL_IB_QPS_PER_CONNECTION": "4",
        "NCCL_IB_TC": "52",
        "NCCL_IB_FIFO_TC": "84",
        "NCCL_SOCKET_IFNAME": "enp0s19,enp192s20",
    },
}
"""Published by the clouds for their own machines: aws-ofi-nccl's cheat sheet, cluster-toolkit a3-ultragpu-8g."""


def looked(kind: str, environment: dict[str, str]) -> JudgedHost:
    facts = replace(captured(kind), env=environment, env_source="process")
    return judge.host_of(facts, Version(2, 28, 9), nodes=2)


def severe(host: JudgedHost) -> list[str]:
    findings = judge.judge([host], rules.every()).findings
    return [f"{one.code} {one.message} {one.evidence}" for one in findings if one.severity != "info"]


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"container"}))
def test_a_healthy_host_is_healthy(kind: str) -> None:
    assert severe(looked(kind, KINDS[kind].env)) == []


@pytest.mark.parametrize("kind", PROFILES)
def test_the_profile_of_a_cloud_is_no_error_there(kind: str) -> None:
    host = looked(kind, PROFILES[kind])
    findings = judge.judge([host], rules.every()).findings
    assert [f"{one.code} {one.message}" for one in findings if one.severity == "error"] == []


def test_a_container_without_sys_is_told_what_it_hides() -> None:
    host = looked("container", {})
    statuses = {outcome.status for outcome in judge.judge([host], rules.every()).outcomes}
    assert "unknown" in statuses
