"""Who differs from most is named, with both values; who is alike is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from nccltool.core.findings import Finding, Subject
from nccltool.core.unknown import Unknown
from nccltool.hosts import differences
from nccltool.hosts.aspects import aspects
from nccltool.hosts.differences import KINDS, compare
from nccltool.hosts.facts import HostFacts, KernelClock
from tests import captured_hosts
from tests.hosts.fleets import fleet, only

DOCS = Path(__file__).parents[2] / "docs/differences.md"


def test_hosts_that_are_alike() -> None:
    assert compare(fleet()) == ()
    assert len(list(aspects(fleet()[0]))) > 50


def test_a_variable_of_one_host() -> None:
    hosts_of_it = [replace(host, env={"NCCL_IB_HCA": "mlx5"}) for host in fleet()]
    hosts_of_it[3:5] = [replace(host, env={"NCCL_IB_HCA": "mlx5_0"}) for host in hosts_of_it[3:5]]
    assert compare(hosts_of_it) == (
        Finding(
            code="env-differs",
            severity="warning",
            subject=Subject(kind="variable", name="NCCL_IB_HCA"),
            message="NCCL_IB_HCA is mlx5_0 on n[004-005], and mlx5 on the other 6",
            evidence=("mlx5: n[001-003,006-008] (6)", "mlx5_0: n[004-005] (2)"),
            remedy="set the same value on all hosts, in the launcher",
            page="docs/differences.md#env-differs",
        ),
    )


def test_a_variable_that_is_missing_somewhere() -> None:
    found = only(compare(fleet(env={"NCCL_DEBUG": "INFO"})))
    assert found.message == "NCCL_DEBUG is INFO on n008, and not set on the other 7"


def test_no_majority() -> None:
    pair = fleet(2, env={"NCCL_ALGO": "Ring"})
    assert only(compare(pair)).message == "NCCL_ALGO differs between hosts: 2 values, and no majority"


def test_many_values() -> None:
    each = [replace(host, env={"NCCL_BUFFSIZE": str(n // 3)}) for n, host in enumerate(fleet(20))]
    found = only(compare(each))
    assert len(found.evidence) == 5
    assert found.evidence[-1] == "3 more values: n[013-020]"


def test_a_long_value_is_cut() -> None:
    found = only(compare(fleet(env={"NCCL_TOPO_FILE": "x" * 1000})))
    assert len(found.message) < 200


def test_two_hosts_of_one_name() -> None:
    found = only(compare([*fleet(), replace(fleet()[0], boot_id="another")]))
    assert (found.code, found.severity) == ("name-duplicate", "error")
    assert found.message == "more than one host is named n001"


def test_ranks_of_one_host_are_one_host() -> None:
    ranks = [host for host in fleet(4) for _ in range(8)]
    assert compare(ranks) == ()


def test_clocks_that_were_read_together() -> None:
    late = fleet(clock=KernelClock(time_s=1.79e9 + 90, synchronised=True))
    found = only(compare(late, together=True))
    assert (found.code, found.subject.name, found.evidence) == ("clock-differs", "n008", ("n008: +90 s",))
    assert compare(late) == ()


def test_what_was_not_read_is_not_judged() -> None:
    why = Unknown("no permission")
    assert compare(fleet(limits=replace(captured_hosts.healthy("ib").limits, nofile_soft=why))) == ()


def test_what_was_not_read_is_said_beside_a_difference() -> None:
    base = captured_hosts.healthy("ib").limits
    three = fleet(5, limits=replace(base, nofile_soft=1024))
    three[0] = replace(three[0], limits=replace(base, nofile_soft=Unknown("no permission")))
    assert only(compare(three)).evidence == (
        "1048576: n[002-004] (3)",
        "1024: n005 (1)",
        "unknown on n001: no permission",
    )


@pytest.mark.parametrize("count", [0, 1])
def test_one_host_has_nothing_to_differ_from(count: int) -> None:
    assert compare(fleet()[:count]) == ()


def test_snapshots_are_let_go() -> None:
    """A generator is enough: ten thousand snapshots never lie in memory together."""
    alive = 0

    def each() -> Iterator[HostFacts]:
        nonlocal alive
        for host in fleet(3):
            alive += 1
            yield host

    assert compare(each()) == ()
    assert alive == 3


def test_every_code_has_its_section() -> None:
    headings = [line[5:-1] for line in DOCS.read_text().splitlines() if line.startswith("### `")]
    assert headings == list(KINDS)
    assert differences.PAGE == "docs/differences.md"
