"""Which fabric a host has: told by its facts, and never guessed."""

import msgspec
import pytest

from nccltool.core.errors import BadInput
from nccltool.core.unknown import Unknown
from nccltool.doctor import fabric_choice
from nccltool.hosts.facts import Amd, Cloud, Gpu, HostFacts, Interface, Network, Nvidia, Rdma, RdmaDevice, RdmaPort
from tests.captured_hosts import healthy


def _adapter(name: str, driver: str, link_layer: str) -> RdmaDevice:
    port = RdmaPort(number=1, state="ACTIVE", link_layer=link_layer)
    return RdmaDevice(name=name, driver=driver, ports=(port,))


@pytest.mark.parametrize(
    ("host", "name", "why"),
    [
        ("ib", "infiniband", "8 active InfiniBand ports"),
        ("dgx", "infiniband", "active InfiniBand ports"),
        ("roce", "roce", "8 active RoCE ports"),
        ("mi300x", "mi300-roce", "AMD Instinct MI300X"),
        ("aws", "aws-efa", "8 EFA devices"),
        ("p5", "aws-efa", "32 EFA devices"),
        ("gcp", "gcp-gib", "NVIDIA H200"),
        ("a4", "gcp-gib", "NVIDIA B200"),
        ("a3-mega", "gcp-tcpxo", "9 gVNIC interfaces"),
        ("azure", "azure-nd-v5", "Azure, InfiniBand"),
        ("laptop", "laptop", "no RDMA device"),
    ],
)
def test_a_host_tells_its_fabric(host: str, name: str, why: str) -> None:
    chosen = fabric_choice.choose("auto", lambda: healthy(host))
    assert (chosen.name, why in chosen.why) == (name, True)


@pytest.mark.parametrize(
    ("host", "said"),
    [("container", "no DMI data"), ("wsl2", "no DMI data")],
)
def test_what_is_not_known_is_no_fabric(host: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        fabric_choice.choose("auto", lambda: healthy(host))


@pytest.mark.parametrize("provider", [Unknown("no DMI data in /sys/class/dmi/id"), "azure"])
def test_a_host_of_ci_without_a_fabric_needs_no_variable(provider: str | Unknown) -> None:
    chosen = fabric_choice.choose("auto", lambda: _bare(provider, "eth0"))
    assert (chosen.name, chosen.why.startswith("no GPU, no RDMA device, 1 network interface")) == ("laptop", True)


def test_two_interfaces_without_a_fabric_are_not_guessed() -> None:
    with pytest.raises(BadInput, match="auto cannot tell"):
        fabric_choice.choose("auto", lambda: _bare(Unknown("no DMI data in /sys/class/dmi/id"), "eth0", "eth1"))


def test_two_that_fit_are_named_and_none_is_taken() -> None:
    with pytest.raises(BadInput, match="it could be oci-a100-v2 or oci-gpu4"):
        fabric_choice.choose("auto", lambda: _host("oci", "NVIDIA A100-SXM4-40GB"))


def test_a_machine_that_fits_none_is_told_so() -> None:
    with pytest.raises(BadInput, match="its facts fit none"):
        fabric_choice.choose("auto", lambda: _host("oci", "NVIDIA A10"))


def test_nothing_known_is_no_fabric() -> None:
    with pytest.raises(BadInput, match="auto cannot tell"):
        fabric_choice.choose("auto", lambda: HostFacts(host="h"))


@pytest.mark.parametrize(
    ("provider", "gpu", "device", "name"),
    [
        ("aws", "NVIDIA GB200", _adapter("rdmap1s0", "efa", "Unspecified"), "aws-gb200"),
        ("aws", "NVIDIA B200", _adapter("rdmap1s0", "efa", "Unspecified"), "aws-efa"),
        (None, "NVIDIA GB200", _adapter("ibp0", "mlx5_core", "InfiniBand"), "coreweave-gb200"),
        (None, "NVIDIA B200", _adapter("ibp0", "mlx5_core", "InfiniBand"), "coreweave"),
        (None, "NVIDIA GB300", _adapter("ibp0", "mlx5_core", "Ethernet"), "coreweave-gb300-roce"),
        (None, "NVIDIA GB300", _adapter("mlx5_0", "mlx5_core", "Ethernet"), "roce"),
        (None, "NVIDIA B200", _adapter("ibp0", "mlx5_core", "Ethernet"), "roce"),
    ],
)
def test_a_rack_is_told_from_single_hosts(provider: str | None, gpu: str, device: RdmaDevice, name: str) -> None:
    facts = msgspec.structs.replace(_host(provider, gpu), rdma=Rdma(devices=(device,)))
    assert fabric_choice.choose("auto", lambda: facts).name == name


def _host(provider: str | None, gpu: str) -> HostFacts:
    """A cloud's machine with a GPU, and one interface."""
    return HostFacts(
        host="h",
        cloud=Cloud(provider=provider),
        nvidia=Nvidia(gpus=(Gpu(pci="0000:01:00.0", name=gpu),)),
        amd=Amd(gpus=()),
        rdma=Rdma(devices=()),
        network=Network(interfaces=(Interface(name="eth0", driver="mlx5_core", virtual=False),)),
    )


def _bare(provider: str | Unknown, *names: str) -> HostFacts:
    """A host without GPUs and RDMA devices."""
    real = tuple(Interface(name=name, index=index, virtual=False) for index, name in enumerate(names, 2))
    return HostFacts(
        host="h",
        cloud=Cloud(provider=provider),
        network=Network(interfaces=(Interface(name="lo", index=1, virtual=True), *real)),
        rdma=Rdma(devices=()),
        nvidia=Nvidia(gpus=()),
        amd=Amd(gpus=()),
    )
