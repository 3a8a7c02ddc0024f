"""What is compared of hosts: each aspect in which one differs is named."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from msgspec.structs import replace

from nccltool.core.findings import Subject
from nccltool.hosts.aspects import MTU, Aspect
from nccltool.hosts.differences import KINDS, compare
from nccltool.hosts.facts import ConfFile, KernelClock, known
from tests import captured_hosts
from tests.hosts.fleets import fleet, only

CONF = "NCCL_DEBUG=INFO\n"


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "SLURM_PROCID", "CUDA_VISIBLE_DEVICES", "PMI_RANK"])
def test_what_differs_by_its_nature(name: str) -> None:
    assert compare([replace(host, env={name: str(n)}) for n, host in enumerate(fleet())]) == ()


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
    yield "kernel-differs", {"kernel": iommu}, "IOMMU kernel option", "intel_iommu=on", "iommu=pt"
    yield "system-differs", {"kernel": replace(kernel, release="5.4")}, "kernel", "5.4", "6.8.0-60-generic"
    yield "clock-differs", {"clock": KernelClock(synchronised=False)}, "clock", "not synchronized", "synchronized"
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
