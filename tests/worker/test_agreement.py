"""Whether communication raised an error, or the program that was about to communicate; waits outside of it."""

import threading
import time
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist

from nccltool.worker.agreement import Agreement, CollectiveFailed, of_communication
from nccltool.worker.progress_page import CALLS, ProgressPage

pytestmark = [pytest.mark.torch, pytest.mark.quick]


def wrapped(cause: Exception) -> Exception:
    """As a pipeline wraps what its stages raise."""
    error = RuntimeError("stage 1 failed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(
            "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:538] Connection closed by peer [127.0.0.1]:4711"
        ),
        RuntimeError("[gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 4000ms for recv operation"),
        RuntimeError("[Rank 0]: Rank 1 failed to pass monitoredBarrier in 2000 ms"),
        RuntimeError("NCCL communicator was aborted on rank 1."),
        dist.DistBackendError("remote process exited"),
        wrapped(RuntimeError("Connection reset by peer")),
    ],
    ids=str,
)
def test_of_communication(error: Exception) -> None:
    assert of_communication(error)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA error: device-side assert triggered"),
        RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn"),
        RuntimeError("mat1 and mat2 shapes cannot be multiplied (4x3 and 4x3)"),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        torch.OutOfMemoryError("HIP out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError(
            "CUDA error: an illegal memory access was encountered\n"
            "Exception raised from query at ProcessGroupNCCL.cpp:712 (most recent call first):\nframe #0: run()"
        ),
        dist.DistBackendError("NCCL error: unhandled cuda error\nLast error:\nCuda failure 'out of memory'"),
        wrapped(RuntimeError("CUDA error: uncorrectable ECC error encountered")),
        wrapped(ValueError("a label is out of range")),
    ],
    ids=str,
)
def test_of_the_program(error: Exception) -> None:
    assert not of_communication(error)


# ---- a wait for ranks that have something to do


@pytest.fixture
def two() -> Iterator[list[tuple[Agreement, ProgressPage]]]:
    """Two ranks of a world of two that share this process, and its store."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    pages = [ProgressPage(), ProgressPage()]
    ranks = [Agreement(torch.device("cpu"), page) for page in pages]
    for rank in ranks:
        rank.size = 2
    yield list(zip(ranks, pages, strict=True))
    dist.destroy_process_group()


def test_a_rank_waits_for_another_outside_of_a_collective(two: list[tuple[Agreement, ProgressPage]]) -> None:
    (first, page), (second, _) = two
    waiting = threading.Thread(target=first.come_together, args=("checked/0", 30.0))
    waiting.start()
    while page.words[CALLS] == 0:
        time.sleep(0.001)
    assert page.words[CALLS] == 1  # it waits for somebody: nobody is to say that the others wait for it
    assert waiting.is_alive()
    second.come_together("checked/0", 30.0)
    waiting.join(10.0)
    assert not waiting.is_alive()
    assert page.words[CALLS] == 2


def test_a_loader_that_dies_during_a_call_is_no_failure_of_communication(
    two: list[tuple[Agreement, ProgressPage]],
) -> None:
    def interrupted() -> None:
        raise RuntimeError("DataLoader worker (pid 4883) is killed by signal: Killed. ")

    with pytest.raises(RuntimeError, match="DataLoader worker"):
        two[0][0].guarded(interrupted)()


def test_a_rank_that_never_comes_is_a_failure_of_communication(
    two: list[tuple[Agreement, ProgressPage]],
) -> None:
    with pytest.raises(CollectiveFailed) as raised:
        two[0][0].come_together("checked/1", 0.05)
    assert str(raised.value.__cause__) == "other ranks did not arrive within 0 s"
