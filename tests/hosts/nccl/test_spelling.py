"""What was meant by a misspelled name; and no real name is called misspelled."""

import msgspec
import pytest

from nccltool.hosts.nccl import spelling, variables
from nccltool.hosts.nccl.spelling import is_known, is_near_prefix, meant
from tests.hosts.nccl import misspelled


def names(written: str) -> list[str]:
    return [guess.name for guess in meant(written)]


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("NCCL_SOCKET_IFNMAE", "NCCL_SOCKET_IFNAME"),
        ("NCCL_IFNAME_SOCKET", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SOCKET_INTERFACE", "NCCL_SOCKET_IFNAME"),
        ("NCCL_IB_QPS", "NCCL_IB_QPS_PER_CONNECTION"),
        ("NCCL_GID_INDEX", "NCCL_IB_GID_INDEX"),
        ("NCCL_HCA", "NCCL_IB_HCA"),
        ("NCCL_IB_HCAS", "NCCL_IB_HCA"),
        ("NCCL_IBHCA", "NCCL_IB_HCA"),
        ("NCCL_TRAFFIC_CLASS", "NCCL_IB_TC"),
        ("NCCL_ASYNC_ERROR_HANDLNG", "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"),
        ("TORCH_DISTRIBUTED_DEBUGG", "TORCH_DISTRIBUTED_DEBUG"),
        ("NCLL_DEBUG", "NCCL_DEBUG"),
        ("NCLC_DEBUG", "NCCL_DEBUG"),
        ("CCL_NET_GDR_LEVEL", "NCCL_NET_GDR_LEVEL"),
        ("nccl_debgu", "NCCL_DEBUG"),
        ("RCLL_MSCCL_ENABLE", "RCCL_MSCCL_ENABLE"),
        ("NCCL_OFI_PROTOCOL", "OFI_NCCL_PROTOCOL"),
        ("FI_EFA_USE_DEVICE_RDM", "FI_EFA_USE_DEVICE_RDMA"),
        ("FL_PROVIDER", "FI_PROVIDER"),
        ("UCX_NET_DEVICE", "UCX_NET_DEVICES"),
        ("OMPI_MAC_btl", "OMPI_MCA_btl"),
        ("MASTER_ADRR", "MASTER_ADDR"),
    ],
)
def test_the_name_that_was_meant(written: str, first: str) -> None:
    assert names(written)[0] == first


@pytest.mark.parametrize(
    "written",
    [
        *(
            "NCCL_FLUX_CAPACITOR_LEVEL",
            "NCCL_SITE_PLUGIN_THING",
            "NCCL_TREE_HOUSE",
            "X" * 10_000,
            "",
            "NCCL_",
            "_",
        ),
        *("HCCL_SOCKET_IFNAME", "MCCL_DEBUG", "UCC_TLS", "GLOG_v", "CCL_LOG_LEVEL"),  # other libraries
        *("NCCL_DIR", "NCCL_TEST_ARGS", "CUDA_BIN", "LOCAL_RANKS", "NODE_IP", "HF_HOME", "IP_ADDR", "WORLD_RANK"),
    ],
)
def test_nothing_is_meant_by_names_of_others(written: str) -> None:
    assert names(written) == []


def test_no_real_name_is_misspelled() -> None:
    assert [name for name in (*variables.every(), *spelling.neighbors()) if meant(name)] == []


def test_the_opposite_is_said() -> None:
    (read, off) = meant("NCCL_P2P_ENABLE")
    assert (read.name, read.is_opposite) == ("NCCL_P2P_READ_ENABLE", False)
    assert (off.name, off.is_opposite) == ("NCCL_P2P_DISABLE", True)


@pytest.mark.parametrize(
    ("name", "is_near"),
    [("NCLL_DEBUG", True), ("NCCL_DEBUG", False), ("HCCL_X", False), ("PATH", False), ("UXC_TLS", True)],
)
def test_near_prefix(name: str, is_near: bool) -> None:
    assert is_near_prefix(name) is is_near


def test_misspelled_names_that_the_finder_was_not_tuned_on() -> None:
    """docs/measured.md gives the figure."""
    _, blind = misspelled.halves(is_known)
    found = [one for one in blind if one.meant in names(one.written)]
    assert len(blind) == 150
    assert len(found) >= 140


def test_neighbors_say_where_their_names_are_from() -> None:
    libraries = msgspec.json.decode(spelling._FILE.read_bytes())
    assert all(library["source"] and library["names"] for library in libraries)
    every = [name for library in libraries for name in library["names"]]
    assert sorted(set(every) & variables.every().keys()) == []


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [("", "ab", 2), ("abcd", "abdc", 1), ("abc", "axc", 1), ("abc", "abc", 0), ("ab", "b", 1)],
)
def test_distance(one: str, other: str, slips: int) -> None:
    assert variables.distance(one, other) == slips
