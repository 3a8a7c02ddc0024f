"""How loudly a line that no dialect knows complains, and about what."""

import pytest

from nccltool.triage.logs import complaints, prefixes


@pytest.mark.parametrize(
    ("text", "about", "grade"),
    [
        ("ERROR quux: the transceiver of port 7 is bad", "ib-link", "loud"),
        ("WARNING: no space in /dev/shm, cannot go on", "shm-size", "quiet"),
        ("n1:2:3 [0] NCCL WARN Quux : GID is invalid", "ib-config", "plain"),
        ("the order of operations of rank 3 differs", "collective-mismatch", "plain"),
        ("panic: frobnication", "app-error", "loud"),
        ("FATAL: frobnication failed", "", "loud"),
        ("FATAL: cannot continue", "", "loud"),
        ("Loss is nan, stopping training", "", "loud"),
        ('Exception in thread "main" java.lang.NullPointerException', "", "loud"),
        ("Process exited with code 1", "", "loud"),
        ("container ended with exit code 139", "", "loud"),
        ("rank 3: job failed", "", "loud"),
        ("ERROR /build/modules/quux/x.cpp:7: frobnication failed", "", "loud"),
        ("ERROR: 17 GiB are missing", "", "loud"),
        ("ERROR: the tensors must be on the same device", "", "loud"),
        ("ERROR: the layout cannot resolve itself", "", "loud"),
        ("ERROR: failed to resolve the name of the master", "rdzv-store", "loud"),
        ("ERROR: Cannot get host and port information from the table, error: 3!", "", "loud"),
        ("ERROR: the broker returned no file descriptor", "", "loud"),
        ("ERROR: the limit on file descriptors is exceeded", "fd-limit", "loud"),
        ("ERROR: failed to cancel the receive", "", "loud"),
        ("ERROR: failed to bind port 9", "rdzv-store", "loud"),
        ("ERROR: not enough memory for the cache", "out-of-memory", "loud"),
        ("ERROR: arena_memory_allocation_failed size=4096", "out-of-memory", "loud"),
        ("ERROR: GID index 7 is out of range", "ib-config", "loud"),
        ("ERROR: Remapping of local_tensor is not supported", "", "loud"),
    ],
)
def test_what_a_complaint_is_about(text: str, about: str, grade: str) -> None:
    (found,) = complaints.events(prefixes.line("a.log", 1, text))
    assert (found.get("about"), found.get("grade")) == (about, grade)


@pytest.mark.parametrize(
    "text",
    [
        "frobnication failed",
        "a retry of the loader failed, continuing",
        "Process exited with code 0",
        "loss is nan, skipping the batch",
        "NCCL INFO NVLS multicast support is not available on dev 0",
        "link error count: 0 errors",
        "quuxd: error: port directory /var/quux: not found (created)",
        "port 7 failed, retrying",
        "val_error: 0.12 of the plugin",
        "plugin_timeout: 30",
    ],
)
def test_what_is_no_complaint(text: str) -> None:
    assert not list(complaints.events(prefixes.line("a.log", 1, text)))


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("RuntimeError: quux requires CUDA 13.1+, but run-time CUDA version is 12.4", "version-mismatch"),
        ("ValueError: SPLIT requires NCCL 2.18+", "version-mismatch"),
        ("RuntimeError: Current torch version does not have quux", "version-mismatch"),
        ("quux.NVMLError_Mismatch: RM has detected an NVML/RM version mismatch.", "version-mismatch"),
        ("ValueError: the layer requires 3.5 times the memory", ""),
        ("OSError: [Errno 107] Transport endpoint is not connected: '/mnt/gcs/sets'", ""),
        ("OSError: no space left: /dev/shm/quux", "shm-size"),
        ("ConnectionError: HTTPSConnectionPool(host='hub'): Max retries exceeded", ""),
        ("ReadTimeoutError: connection timed out: https://hub/sets.tar", ""),
        ("TypeError: quux() got an unexpected argument 'rendezvous'", ""),
        ("RuntimeError: the rendezvous failed", "rdzv-store"),
    ],
)
def test_what_an_exception_is_about(text: str, about: str) -> None:
    assert complaints.of_exception(text) == about
