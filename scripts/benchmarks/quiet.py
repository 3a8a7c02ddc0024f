"""Less noise for a comparison inside two ranks."""

import os

import torch


def share_a_core() -> None:
    """Put this rank, and all others that call this, on one core.

    Between the virtual cores of a shared machine a wake-up costs 50 to 1,000 us, as it comes; on one core
    successive medians of a bare loop agree within 1 %. What is compared here, one loop with
    another, is the same there.
    """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
