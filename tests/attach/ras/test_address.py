"""NCCL_RAS_ADDR."""

import pytest

from nccltool.attach.ras.address import RasAddress, of_job


@pytest.mark.parametrize(
    ("value", "address", "places"),
    [
        (None, RasAddress(), ("127.0.0.1", "::1")),
        ("", RasAddress(), ("127.0.0.1", "::1")),
        ("localhost:4000", RasAddress(port=4000), ("127.0.0.1", "::1")),
        ("10.0.0.1:28028", RasAddress(host="10.0.0.1"), ("10.0.0.1",)),
        ("[::1]:28029", RasAddress(host="::1", port=28029), ("::1",)),
        ("[fe80::1%eth0]:28029", RasAddress(host="fe80::1%eth0", port=28029), ("fe80::1%eth0",)),
    ],
)
def test_addresses(value: str | None, address: RasAddress, places: tuple[str, ...]) -> None:
    assert of_job(value) == address
    assert address.places == places
    assert value in (None, "") or f"{address}" == value


@pytest.mark.parametrize(
    "value", ["localhost", ":28028", "a b:1", "::1:28028", "host:0", "host:65536", "[::1]", "x" * 400]
)
def test_what_is_no_address(value: str) -> None:
    with pytest.raises(ValueError, match="NCCL_RAS_ADDR is '"):
        of_job(value)
