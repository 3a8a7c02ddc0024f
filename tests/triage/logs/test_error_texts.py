"""What an error of a library says by itself."""

import pytest

from nccltool.triage.logs import error_texts

UCX = "[1767323045.12] [n17:42 :0]  x.c:9  UCX  ERROR "
EFA = "libfabric:42:1767323045::efa:ep_ctrl:efa_x():9<warn> "


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (f"{UCX}ibv_create_cq(cqe=4096) failed: Cannot allocate memory", "ib-memlock"),
        (f"{UCX}failed to allocate a list of lanes: Cannot allocate memory", "out-of-memory"),
        (f"{UCX}ibv_query_port(mlx5_1) failed: Invalid argument", "ib-config"),
        (f"{UCX}failed to register address 0x7f (cuda memory) on mlx5_0", "gdr-missing"),
        (f"{UCX}cuIpcOpenMemHandle() failed: invalid argument", "p2p-acs-iommu"),
        (f"{UCX}shm_open(name=/x) failed: Permission denied", "shm-size"),
        (f"{UCX}ep 0x7f: remote endpoint closed", "peer-exited"),
        (f"{UCX}connect(fd=3) failed: Connection timed out", "net-unreachable"),
        (f"{UCX}bind(fd=3) failed: Address already in use", "rdzv-store"),
        (f"{UCX}symbol not found in libucm.so: ucm_x", "version-mismatch"),
        (f"{UCX}invalid fence mode 7", ""),
        (f"{EFA}Could not allocate a packet pool", "out-of-memory"),
        (f"{EFA}Unable to create AH: Invalid argument", "ib-config"),
        (f"{EFA}unknown packet type: 12", ""),
        (f"{EFA}Out of memory for reliability flow key.", "out-of-memory"),
        (f"{EFA}Shared memory initialization failed.", "shm-size"),
        (f"{EFA}No active HFI port GID matches the filter", "ib-config"),
        (f"{EFA}cm op_version mismatch", "version-mismatch"),
        (f"{EFA}Failed to find hsa_iterate_agents", "version-mismatch"),
        (f"{EFA}unable to get interface addresses", "net-interface"),
        ("/build/src/modules/transport/ibgda/ibgda.cpp:77: non-zero status: 7 state failed", "ib-config"),
        ("/build/ibgda.cpp:77: allocation of dct.eps failed.", "out-of-memory"),
        ("/build/ibgda.cpp:78: NVSHMEM_IBGDA_NIC_HANDLER is not valid.", "env-invalid"),
        ("the trainer failed: cannot allocate memory", ""),
    ],
)
def test_an_error_of_a_library_tells_its_cause_where_it_says_what_failed(text: str, label: str) -> None:
    assert error_texts.meaning(text) == label
