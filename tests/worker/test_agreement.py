"""Whether communication raised an error, or the program that was about to communicate."""

import pytest
import torch.distributed as dist

from nccltool.worker.agreement import of_communication

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
        wrapped(ValueError("a label is out of range")),
    ],
    ids=str,
)
def test_of_the_program(error: Exception) -> None:
    assert not of_communication(error)
