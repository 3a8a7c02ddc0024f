"""What is published of machines: the table, and which machine is which."""

from typing import Any

import msgspec
import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts import published_networks
from nccltool.hosts.facts import Cloud, HostFacts
from tests.captured_hosts import healthy


@pytest.mark.parametrize(
    ("kind", "title", "gigabytes"),
    [
        ("p5", "p5.48xlarge, p5e.48xlarge", 400),
        ("gcp", "A3 Ultra", 400),
        ("a3-mega", "A3 Mega", 200),
        ("a4", "A4", 400),
        ("azure", "ND H100 v5", 400),
        ("dgx", None, None),
        ("gb200", None, None),
        ("mi300x", None, None),
        ("laptop", None, None),
        ("container", None, None),
    ],
)
def test_a_machine(kind: str, title: str | None, gigabytes: float | None) -> None:
    found = published_networks.of_host(healthy(kind))
    assert (found and found.title) == title
    assert (found and found.devices * found.bytes_per_s / 1e9) == gigabytes


def other(kind: str, **cloud: Any) -> HostFacts:
    host = healthy(kind)
    return msgspec.structs.replace(host, cloud=msgspec.structs.replace(host.cloud, **cloud))


@pytest.mark.parametrize(
    ("product", "devices", "gbps"),
    [
        ("p4d.24xlarge", 4, 100),
        ("p4de.24xlarge", 4, 100),
        ("p5e.48xlarge", 32, 100),
        ("p5en.48xlarge", 16, 200),
        ("p6-b200.48xlarge", 8, 400),
        ("p5.4xlarge", None, None),  # one GPU and one card
        ("p7.48xlarge", None, None),
    ],
)
def test_instances_are_told_apart_by_their_whole_name(
    product: str, devices: int | None, gbps: float | None
) -> None:
    found = published_networks.of_host(other("p5", product_name=product))
    assert (found and found.devices, found and found.gbps) == (devices, gbps)


@pytest.mark.parametrize(
    ("kind", "title"), [("dgx", "BM.GPU.H100.8"), ("mi300x", "BM.GPU.MI300X.8"), ("tcp", None)]
)
def test_shapes_of_oracle_are_told_apart_by_their_gpus(kind: str, title: str | None) -> None:
    found = published_networks.of_host(other(kind, provider="oci"))
    assert (found and found.title) == title


def test_b200_is_not_gb200() -> None:
    tray = other("gb200", provider="gcp")
    found = published_networks.of_host(tray)
    assert found is not None
    assert (found.title, found.devices) == ("A4X", 4)


@pytest.mark.parametrize(
    "cloud", [Cloud(), Cloud(provider=Unknown("/sys/class/dmi cannot be read")), Cloud(provider="gcp")]
)
def test_a_fact_that_is_not_known_fits_nothing(cloud: Cloud) -> None:
    assert published_networks.of_host(msgspec.structs.replace(healthy("p5"), cloud=cloud)) is None


def test_every_row_has_its_source() -> None:
    rows = published_networks.every()
    assert len(rows) == len({row.title for row in rows})
    assert all(row.source.startswith("https://") and row.date for row in rows)
