"""Suites and platforms: which platform hosts are."""

from typing import Any

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Cloud, Gpu, HostFacts, Nvidia
from nccltool.preflight import suite_reader
from nccltool.preflight.suite import Match, Platform, fitting

H200 = "NVIDIA H200"


def host(gpu: str = H200, gpus: int = 8, provider: Any = None, product: Any = "") -> HostFacts:
    each = tuple(Gpu(pci=f"0000:0{number}:00.0", name=gpu) for number in range(gpus))
    return HostFacts(
        host="n1",
        nvidia=Nvidia(visible_gpus=gpus, gpus=each),
        cloud=Cloud(provider=provider, product_name=product),
    )


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([host()], "h200-sxm-8"),
        ([host(provider="azure")], "azure-nd-h200-v5"),
        ([host(provider="azure"), host()], "h200-sxm-8"),
        ([host(gpus=4)], None),
        ([host("NVIDIA L4")], None),
        ([host("NVIDIA H100 80GB HBM3", provider="aws", product="p5.48xlarge")], "aws-p5"),
        ([host("NVIDIA H100 80GB HBM3", provider="aws", product=Unknown("no DMI"))], "h100-sxm-8"),
        ([host("NVIDIA H100 80GB HBM3", product="DGXH100")], "dgx-h100"),
        ([host("NVIDIA H100 PCIe")], None),
        ([host("NVIDIA GB200", gpus=4)], "gb200-nvl72"),
        ([host("NVIDIA B200", provider="gcp")], "gcp-a4"),
        ([host(gpus=0)], None),
        ([], None),
    ],
)
def test_fitting(hosts: list[HostFacts], expected: str | None) -> None:
    found = fitting(suite_reader.platforms(), hosts)
    assert (found.name if found else None) == expected


def test_what_is_not_known_fits_nothing() -> None:
    blind = HostFacts(host="n1")
    for match in (Match(gpu="H200"), Match(gpus=0), Match(provider="aws"), Match(product="p5")):
        platform = Platform(name="x", title="x", path="x", match=match, expect={})
        assert fitting([platform], [blind]) is None
