"""Which GPUs have NVLink, and how far it reaches."""

from typing import Any

import msgspec
import pytest

from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.hosts import nvlink
from nccltool.hosts.facts import Nvidia, known
from nccltool.hosts.nccl import settings
from nccltool.hosts.nvlink import NvLinkDomain
from tests.captured_hosts import healthy


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("Tesla V100-SXM2-32GB", 150),
        ("Tesla V100-PCIE-32GB", None),
        ("NVIDIA A100-SXM4-80GB", 300),
        ("A100-SXM4-40GB", 300),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
        ("NVIDIA A100 80GB PCIe", None),
        ("NVIDIA A800-SXM4-80GB", None),
        ("NVIDIA H100 80GB HBM3", 450),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA H200", 450),
        ("NVIDIA H200 NVL", None),
        ("NVIDIA GH200 480GB", 450),
        ("NVIDIA GH200 144G HBM3e", 450),
        ("NVIDIA B200", 900),
        ("NVIDIA B300 SXM6 AC", 900),
        ("NVIDIA GB200", 900),
        ("NVIDIA GB10", None),
        ("NVIDIA L40S", None),
        ("AMD Instinct MI300X", 448),
        ("AMD Instinct MI300X OAM", 448),
        ("AMD Instinct MI300X VF", 448),
        ("AMD Instinct MI325X", 448),
        ("AMD Instinct MI350X", 537.6),
        ("AMD Instinct MI355X", 537.6),
        ("AMD Instinct MI300A", None),
        ("AMD Instinct MI250X", None),
        ("AMD Radeon PRO W7900", None),
        (None, None),
    ],
)
def test_nvlink(name: str | None, gigabytes: float | None) -> None:
    link = nvlink.nvlink(name)
    assert (link and link.bytes_per_s) == (None if gigabytes is None else gigabytes * 1e9)


@pytest.mark.parametrize(
    ("name", "others", "gigabytes"),
    [
        ("NVIDIA H200", 1, 450),
        ("AMD Instinct MI300X", 1, 64),
        ("AMD Instinct MI300X", 3, 192),
        ("AMD Instinct MI300X", 7, 448),
        ("AMD Instinct MI300X", 15, 448),
        ("AMD Instinct MI355X", 1, 76.8),
    ],
)
def test_without_a_switch_each_other_gpu_has_a_link_of_its_own(name: str, others: int, gigabytes: float) -> None:
    link = nvlink.nvlink(name)
    assert link
    assert link.rate_to(others) == pytest.approx(gigabytes * 1e9)


def test_every_rate_has_a_source() -> None:
    assert all(link.source.startswith("https://") for link in nvlink.NVLINKS)


CLUSTER = "3f0c5a16-77a1-4a0e-9d53-1f6f3b1d2c44"
ONE = NvLinkDomain(name=f"{CLUSTER}/0", text=f"NVLink cluster {CLUSTER}, clique 0")


def tray(**changes: Any) -> Nvidia:
    """The GPUs of a tray of a rack, with facts of each of them changed."""
    nvidia = healthy("gb200").nvidia
    gpus = tuple(msgspec.structs.replace(gpu, **changes) for gpu in known(nvidia.gpus))
    return msgspec.structs.replace(nvidia, gpus=gpus)


def domain(nvidia: Nvidia, nccl: Version | None = None, **env: str) -> NvLinkDomain:
    return nvlink.domain(nvidia, settings.build(env, (), nccl))


NO_CHANNEL = "no usable IMEX channel, which NVLink between hosts needs"
OFF = "NCCL does not use NVLink between hosts"


@pytest.mark.parametrize(
    ("nvidia", "env", "name", "text"),
    [
        (tray(), {}, ONE.name, ONE.text),
        (tray(), {"NCCL_MNNVL_ENABLE": "1"}, ONE.name, ONE.text),
        (tray(), {"NCCL_MNNVL_CLIQUE_ID": "-1"}, ONE.name, ONE.text),
        (tray(clique_id=7), {}, f"{CLUSTER}/7", f"NVLink cluster {CLUSTER}, clique 7"),
        (tray(), {"NCCL_MNNVL_ENABLE": "0"}, "", f"NCCL_MNNVL_ENABLE=0: {OFF}"),
        (tray(), {"NCCL_CUMEM_ENABLE": "0"}, "", f"NCCL_CUMEM_ENABLE=0: {OFF}"),
        (tray(), {"NCCL_P2P_DISABLE": "1"}, "", f"NCCL_P2P_DISABLE=1: {OFF}"),
        (tray(fabric_state="not started"), {}, "", "NVLink fabric not started: limited to the host"),
        (tray(fabric_state="not supported"), {}, "", "NVLink fabric not supported: limited to the host"),
        (healthy("dgx").nvidia, {}, "", "NVLink fabric not in a cluster: limited to the host"),
        (tray(fabric_state=Unknown("only NVML reports it")), {}, None, "only NVML reports it"),
        (tray(fabric_status="Unknown Error"), {}, None, "a GPU's NVLink fabric reports Unknown Error"),
        (
            tray(),
            {"NCCL_MNNVL_CLIQUE_ID": "3"},
            None,
            "NCCL_MNNVL_CLIQUE_ID is set and overrides the NVLink domain",
        ),
        (msgspec.structs.replace(tray(), imex_channels=()), {}, None, NO_CHANNEL),
        (msgspec.structs.replace(tray(), imex_channels=Unknown("hidden")), {}, None, "hidden"),
        (
            msgspec.structs.replace(tray(), nvml=Unknown("nvidia-ml-py is missing")),
            {},
            None,
            "nvidia-ml-py is missing",
        ),
        (Nvidia(gpus=(), imex_channels=(), nvml="12.570"), {}, None, "the driver reports no GPU"),
    ],
)
def test_how_far_it_reaches(nvidia: Nvidia, env: dict[str, str], name: str | None, text: str) -> None:
    assert domain(nvidia, None, **env) == NvLinkDomain(name=name, text=text)


def test_an_old_release_does_not_use_it_between_hosts() -> None:
    assert domain(tray(), Version(2, 20, 5)) == NvLinkDomain(name="", text=f"NCCL 2.20.5: {OFF}")
    assert domain(tray(), Version(2, 21, 5)) == ONE
