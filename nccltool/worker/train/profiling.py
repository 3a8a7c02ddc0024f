"""A profiler trace of a few steps of this rank."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from nccltool.core.findings import Finding, Subject
from nccltool.train.finding_kinds import PROFILE_NOT_WRITTEN

STEPS = 3
"""More would make files that viewers cannot open."""


def trace(device: torch.device, file: Path, steps: Sequence[Callable[[], None]]) -> None:
    """Run the steps and write what they did, in the format of Chrome's viewer. Raises OSError."""
    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()  # the profiler does not say it when it cannot write
    with profile(activities=activities) as profiler:
        for number, step in enumerate(steps, start=1):
            with record_function(f"nccltool step {number}"):
                step()
    profiler.export_chrome_trace(str(file))


def name(strategy: str, rank: int) -> str:
    """Of the file, as TensorBoard's plugin finds it; Perfetto and Chrome open it too."""
    return f"{strategy}-rank{rank}.pt.trace.json.gz"


def not_written(rank: int, file: Path, error: OSError) -> Finding:
    """Why there is no trace of this rank."""
    return PROFILE_NOT_WRITTEN.finding(
        subject=Subject(kind="file", name=str(file)),
        message=f"rank {rank} could not write its profiler trace {file}: {error.strerror or error}",
        remedy="make that folder on every host, or name one that all hosts share",
    )
