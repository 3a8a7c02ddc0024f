"""What goes wrong on a device, and the words of torch and NCCL for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch

from tests.papergpu.driver import Driver, cuda_error
from tests.papergpu.machine import PaperFault

ILLEGAL = "CUDA error: an illegal memory access was encountered"
ECC = "CUDA error: uncorrectable ECC error encountered"
REMOTE_GONE = (
    "NCCL error: remote process exited or there was a network error, NCCL version {version}\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
    "Last error:\n"
    "socketProgress: Connection closed by remote peer"
)
_NCCL = (
    "NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:{line}, {what}, "
    "NCCL version {version}\n"
)
NO_MEMORY = _NCCL + (
    "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nFailed to CUDA calloc async 4 bytes"
)
DUPLICATE = _NCCL + (
    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
    "Last error:\nDuplicate GPU detected : rank {rank} and rank {other} both on CUDA device {device}"
)


@dataclass(frozen=True)
class Loss:
    """A context that can no longer be used."""

    raised: Callable[[], BaseException]
    """By each call of the program from now on."""
    said: str
    """By NCCL's watchdog."""


def version_of(driver: Driver) -> str:
    return ".".join(str(part) for part in driver.machine.nccl_version)


def _context(text: str) -> Callable[[PaperFault, Driver], Loss]:
    return lambda fault, driver: Loss(lambda: cuda_error(text), str(cuda_error(text)))


def _remote(fault: PaperFault, driver: Driver) -> Loss:
    text = REMOTE_GONE.format(version=version_of(driver))
    return Loss(lambda: torch.distributed.DistBackendError(text), text)


LOSSES: dict[str, Callable[[PaperFault, Driver], Loss]] = {
    "illegal-access": _context(ILLEGAL),
    "ecc": _context(ECC),
    "async-error": _remote,
}
"""Seen when the device is asked, some time after the call."""


def _no_room(driver: Driver) -> BaseException:
    return driver.no_room(driver.current, 20 << 20, 6 << 20, driver.machine.memory_bytes)


def _no_room_for_nccl(driver: Driver) -> BaseException:
    what = "unhandled cuda error (run with NCCL_DEBUG=INFO for details)"
    text = NO_MEMORY.format(line=3690, what=what, version=version_of(driver))
    return cast(BaseException, torch.distributed.DistBackendError(text))


RAISED: dict[str, Callable[[Driver], BaseException]] = {
    "out-of-memory": _no_room,
    "nccl-out-of-memory": _no_room_for_nccl,
}
"""By the call itself."""
KINDS = {*LOSSES, *RAISED, "hang", "slow"}
