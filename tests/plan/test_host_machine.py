from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import HostFacts
from nccltool.hosts.facts.amd import Amd, AmdGpu
from nccltool.hosts.facts.devices import Gpu, Nvidia, NvLink, Pci, PciDevice
from nccltool.hosts.facts.net import Interface, Network, Rdma, RdmaDevice, RdmaPort
from nccltool.plan import host_machine, machines

KNOWN = [machines.of_word(name) for name in machines.names()]
LINKS = (NvLink(number=0, active=True),)


def host(gpus: list[Gpu], **others: Any) -> HostFacts:
    return HostFacts(host="n1", nvidia=Nvidia(gpus=tuple(gpus)), **others)


def gpus(name: str, count: int, links: tuple[NvLink, ...] = LINKS) -> list[Gpu]:
    return [Gpu(pci=f"0000:{one:02x}:00.0", name=name, memory_bytes=2**36, nvlinks=links) for one in range(count)]


def test_gpus_of_a_kind_that_is_known_have_its_speeds() -> None:
    port = RdmaPort(number=1, state="ACTIVE", rate_gbps=400.0)
    down = RdmaPort(number=1, state="DOWN", rate_gbps=400.0)
    rdma = Rdma(devices=(RdmaDevice(name="mlx5_0", ports=(port,)), RdmaDevice(name="mlx5_1", ports=(down,))))
    made = host_machine.of_facts(host(gpus("NVIDIA H100 80GB HBM3", 4), rdma=rdma), "f.json", KNOWN)
    like = machines.of_word("h100-sxm-8")
    assert (made.name, made.gpus, made.memory_bytes) == ("n1", 4, 2**36)
    assert (made.matmul_flop_per_s, made.inside_bytes_per_s) == (like.matmul_flop_per_s, like.inside_bytes_per_s)
    assert made.across_bytes_per_s == pytest.approx(0.9 * 50e9 / 4)
    assert "across: 90% of 400 Gbit/s of n1" in made.source


def test_gpus_without_links_have_their_slots() -> None:
    devices = tuple(
        PciDevice(address=f"0000:{one:02x}:00.0", max_link_gts=16.0, max_link_width=16) for one in range(2)
    )
    facts = host(gpus("NVIDIA A100-SXM4-80GB", 2, ()), pci=Pci(devices=devices))
    made = host_machine.of_facts(facts, "f.json", KNOWN)
    assert made.inside_bytes_per_s == made.inside_all_reduce_bytes_per_s == pytest.approx(31.5e9, rel=0.01)
    assert "no link of n1 has a known rate" in made.source


def test_ethernet_counts_without_rdma() -> None:
    one = Interface(name="eth0", running=True, loopback=False, speed_mbps=25_000)
    facts = host(gpus("NVIDIA H200", 1), network=Network(interfaces=(one,)))
    made = host_machine.of_facts(facts, "f.json", KNOWN)
    assert made.across_bytes_per_s == pytest.approx(0.9 * 25e9 / 8)


def test_gpus_of_amd() -> None:
    amd = Amd(gpus=(AmdGpu(pci="0000:05:00.0", name="AMD Instinct MI300X OAM", xgmi_peers=7),) * 8)
    facts = HostFacts(host="n1", nvidia=Nvidia(gpus=()), amd=amd)
    made = host_machine.of_facts(facts, "f.json", KNOWN)
    assert (made.gpus, made.matmul_flop_per_s) == (8, machines.of_word("mi300x-8").matmul_flop_per_s)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (host([]), "n1 has no GPUs"),
        (
            HostFacts(host="n1", nvidia=Nvidia(gpus=Unknown("NVML is missing"))),
            r"GPUs unknown \(NVML is missing\)",
        ),
        (host(gpus("NVIDIA T4", 1)), "no measured speeds of NVIDIA T4"),
        (host(gpus("NVIDIA H200", 1) + gpus("NVIDIA T4", 1)), "GPUs of several kinds: NVIDIA H200, NVIDIA T4"),
    ],
)
def test_what_is_not_known_is_refused_with_the_reason(facts: HostFacts, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        host_machine.of_facts(facts, "f.json", KNOWN)
