"""Which variables keep a library on one rail."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.localize.pairs import rails


@pytest.mark.parametrize(
    ("rail", "backend", "is_adapter", "expected"),
    [
        ("eth1", "gloo", False, {"GLOO_SOCKET_IFNAME": "eth1"}),
        ("mlx5_0", "nccl", True, {"NCCL_IB_HCA": "=mlx5_0"}),
        ("eth1", "nccl", False, {"NCCL_SOCKET_IFNAME": "=eth1", "NCCL_NET": "Socket"}),
    ],
)
def test_variables(rail: str, backend: str, is_adapter: bool, expected: dict[str, str]) -> None:
    assert rails.variables(rail, backend, is_adapter) == expected


def test_names() -> None:
    assert rails.parsed("eth0, eth1") == ("eth0", "eth1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--rails : a name is empty"),
        ("eth0,", "--rails eth0,: a name is empty"),
        ("eth0,eth0", "--rails eth0,eth0: eth0 is there twice"),
        ("=eth0", "--rails =eth0: '=eth0' is not the name of an interface"),
        ("eth 0", "--rails eth 0: 'eth 0' is not the name of an interface"),
    ],
)
def test_what_is_no_rail(text: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        rails.parsed(text)
    assert error.value.message == message
