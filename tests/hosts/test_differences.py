"""Who differs from most is named, with both values; who is alike is not."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from nccltool.core.findings import Finding, Subject
from nccltool.core.unknown import Unknown
from nccltool.hosts import differences
from nccltool.hosts.aspects import MTU, Aspect, aspects
from nccltool.hosts.differences import KINDS, compare
from nccltool.hosts.facts import ConfFile, HostFacts, KernelClock, known
from tests import captured_hosts

CONF = "NCCL_DEBUG=INFO\n"
DOCS = Path(__file__).parents[2] / "docs/differences.md"


def fleet(count: int = 8, **odd: Any) -> list[HostFacts]:
    """Hosts alike but for the last, which has other fields."""
    base = captured_hosts.healthy("ib")
    alike = [replace(base, host=f"n{n:03}", boot_id=f"boot {n}") for n in range(1, count + 1)]
    return [*alike[:-1], replace(alike[-1], **odd)]


def only(found: tuple[Finding, ...]) -> Finding:
    (finding,) = found
    return finding


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
            remedy="set the same value on every host, in the launcher",
            page="docs/differences.md#env-differs",
        ),
    )


def test_a_variable_that_is_missing_somewhere() -> None:
    found = only(compare(fleet(env={"NCCL_DEBUG": "INFO"})))
    assert found.message == "NCCL_DEBUG is INFO on n008, and not set on the other 7"


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "SLURM_PROCID", "CUDA_VISIBLE_DEVICES", "PMI_RANK"])
def test_what_differs_by_its_nature(name: str) -> None:
    assert compare([replace(host, env={name: str(n)}) for n, host in enumerate(fleet())]) == ()


def test_no_majority() -> None:
    pair = fleet(2, env={"NCCL_ALGO": "Ring"})
    assert only(compare(pair)).message == "NCCL_ALGO differs between hosts: 2 values, and none is that of most"


def test_many_values() -> None:
    each = [replace(host, env={"NCCL_BUFFSIZE": str(n // 3)}) for n, host in enumerate(fleet(20))]
    found = only(compare(each))
    assert len(found.evidence) == 5
    assert found.evidence[-1] == "3 more values: n[013-020]"


def test_a_long_value_is_cut() -> None:
    found = only(compare(fleet(env={"NCCL_TOPO_FILE": "x" * 1000})))
    assert len(found.message) < 200


def _changes() -> Iterator[tuple[str, dict[str, Any], str, str, str]]:
    base = captured_hosts.healthy("ib")
    devices, interfaces, gpus = known(base.rdma.devices), known(base.network.interfaces), known(base.nvidia.gpus)
    (port,) = known(devices[0].ports)
    down = replace(devices[0], ports=(replace(port, state="DOWN"),))
    eno1 = next(one for one in interfaces if one.name == "eno1")
    jumbo = tuple(replace(one, mtu=9000) if one == eno1 else one for one in interfaces)
    conf = ConfFile(role="system", path="/etc/nccl.conf", exists=True, text=CONF)
    versions, nvidia, kernel = base.versions, base.nvidia, base.kernel
    limits = replace(base.limits, memlock_soft_bytes=65536)
    eight = "8 x NVIDIA H200"
    yield "version-differs", {"versions": replace(versions, nccl="2.21.5")}, "NCCL", "2.21.5", "2.27.3"
    yield "driver-differs", {"nvidia": replace(nvidia, driver="535.1")}, "NVIDIA driver", "535.1", "570.124.06"
    rdma = replace(base.rdma, devices=(down, *devices[1:]))
    yield "rdma-differs", {"rdma": rdma}, "state of mlx5_0:1", "DOWN", "ACTIVE"
    yield "interface-differs", {"network": replace(base.network, interfaces=jumbo)}, "MTU of eno1", "9000", "1500"
    yield "gpu-differs", {"nvidia": replace(nvidia, gpus=gpus[:7])}, "GPUs", "7 x NVIDIA H200", eight
    yield "limit-differs", {"limits": limits}, "locked memory, bytes", "65536", "unlimited"
    iommu = replace(kernel, cmdline="ro intel_iommu=on quiet")
    yield "kernel-differs", {"kernel": iommu}, "IOMMU on the command line", "intel_iommu=on", "iommu=pt"
    yield "system-differs", {"kernel": replace(kernel, release="5.4")}, "kernel", "5.4", "6.8.0-60-generic"
    yield "clock-differs", {"clock": KernelClock(synchronised=False)}, "clock", "not synchronised", "synchronised"
    digest = f"sha256 {sha256(CONF.encode()).hexdigest()[:12]}"
    yield "conf-differs", {"conf_files": (base.conf_files[0], conf)}, "/etc/nccl.conf", digest, "missing"


@pytest.mark.parametrize(("code", "change", "what", "odd", "norm"), tuple(_changes()))
def test_each_kind_of_difference(code: str, change: dict[str, Any], what: str, odd: str, norm: str) -> None:
    found = {one.message: one for one in compare(fleet(**change))}
    ours = found[f"{what} is {odd} on n008, and {norm} on the other 7"]
    assert (ours.code, ours.severity) == (code, KINDS[code][0])
    assert ours.evidence == (f"{norm}: n[001-007] (7)", f"{odd}: n008 (1)")


def test_an_aspect_of_a_device_can_be_left_out() -> None:
    base = captured_hosts.healthy("ib").network
    jumbo = replace(base, interfaces=tuple(replace(one, mtu=9000) for one in known(base.interfaces)))
    (found, *_) = compare(fleet(network=jumbo))
    assert found.message.startswith(
        str(Aspect("interface-differs", MTU, found.subject.name.removeprefix("MTU of ")))
    )
    assert compare(fleet(network=jumbo), left_out=lambda aspect: aspect.what == MTU) == ()


def test_firmware_of_one_board() -> None:
    base = captured_hosts.healthy("ib")
    devices = tuple(replace(one, fw_ver="28.39.1002") for one in known(base.rdma.devices))
    found = only(compare(fleet(rdma=replace(base.rdma, devices=devices))))
    assert (found.code, found.subject) == ("driver-differs", Subject(kind="host", name="n008"))
    assert found.message == "firmware of MT_0000000838 is 28.39.1002 on n008, and 28.43.2026 on the other 7"


def test_two_hosts_of_one_name() -> None:
    found = only(compare([*fleet(), replace(fleet()[0], boot_id="another")]))
    assert (found.code, found.severity) == ("name-duplicate", "error")
    assert found.message == "n001 is the name of more than one host"


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
        "not known: n001: no permission",
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
