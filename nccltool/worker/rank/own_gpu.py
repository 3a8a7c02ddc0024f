"""The GPU of this rank: which one it is, whether torch can use it, and why not. CUDA is only asked here."""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch as installed_torch
import torch.distributed as dist

from nccltool.core import versions
from nccltool.hosts import gpu
from nccltool.hosts.facts import or_none
from nccltool.hosts.facts.leaves import Count
from nccltool.launch import gpu_shares
from nccltool.launch.events import GpuCause, GpuProblem
from nccltool.launch.inside import RankPlace

_MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_OF_THE_DRIVER = ("driver on your system is too old", "Found no NVIDIA driver on your system")
"""Torch's words for cudaErrorInsufficientDriver (c10/cuda/CUDAFunctions.cpp): too old for its CUDA, or without
libcuda, as in a container that has the devices alone."""
_LONGEST = 300
"""Of an error's first line; an event must fit 4 KiB."""

Counting = Callable[[Mapping[str, str]], Count]


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnGpu:
    """What a rank finds. Fields that RankFacts has too are told to the others."""

    index: int | None = None
    """As torch counts them; None = it can use none."""
    gpu: str | None = None
    gpu_name: str | None = None
    gpus: int | None = None
    gpus_of_host: int | None = None
    gpu_problem: GpuProblem | None = None
    permits_shared_gpus: bool = False


def look(
    place: RankPlace,
    env: Mapping[str, str] = os.environ,
    torch: ModuleType | Any = installed_torch,
    count: Counting = gpu.count,
    are_nvidias: Callable[[], bool] = gpu.are_nvidias,
) -> OwnGpu:
    """The GPU of this rank. The driver may take its time here, or hang."""
    of_host, shown = or_none(count({})), or_none(count(env))
    if shown == 0 and not torch.cuda.is_available():
        return OwnGpu(gpus=0, gpus_of_host=of_host, gpu_problem=None if of_host == 0 else _hidden(of_host, env))
    try:
        index, uuid, name = _asked(place, env, torch, shown)
    except _Unusable as reason:
        problem = None if shown == 0 else _of_other_maker(torch, are_nvidias()) or reason.problem
        return OwnGpu(gpus=shown, gpus_of_host=of_host, gpu_problem=problem)
    if shown is None:  # only torch can tell
        shown = torch.cuda.device_count()
    return OwnGpu(
        index=index,
        gpu=uuid,
        gpu_name=name,
        gpus=shown,
        gpus_of_host=shown if of_host is None else of_host,
        permits_shared_gpus=gpu_shares.is_permitted(env, versions.parse(nccl_version(torch) or "")),
    )


def take(index: int) -> installed_torch.device:
    """The device of this rank, in use from now on: what fails here would look like a failed collective later.
    Raises RuntimeError."""
    device = installed_torch.device("cuda", index)
    installed_torch.cuda.set_device(device)
    installed_torch.zeros(1, device=device)
    installed_torch.cuda.synchronize()
    return device


def nccl_version(torch: ModuleType | Any = installed_torch) -> str | None:
    """Of the NCCL that torch uses; None = it has none. It needs no GPU."""
    if not dist.is_nccl_available():
        return None
    return ".".join(str(part) for part in torch.cuda.nccl.version())


def problem_of(error: Exception, warned: str = "") -> GpuProblem:
    """What torch says of a GPU that it cannot use."""
    said = _first_line(error) or type(error).__name__
    more = f" ({warned})" if warned and warned not in said else ""
    cause: GpuCause = "driver" if any(words in f"{said}{more}" for words in _OF_THE_DRIVER) else "cuda"
    return GpuProblem(cause=cause, text=f"{said[:_LONGEST]}{more[:_LONGEST]}")


def _of_other_maker(torch: Any, are_nvidias: bool) -> GpuProblem | None:
    """A torch that fails where it could not do otherwise. Where GPUs of both are there, it may work."""
    for built_for, theirs, is_so in (
        ("CUDA", "AMD's", torch.version.cuda is not None and not are_nvidias),
        ("ROCm", "NVIDIA's", torch.version.hip is not None and are_nvidias),
    ):
        if is_so:
            text = f"torch {torch.__version__} is built for {built_for}, but the GPUs are {theirs}"
            return GpuProblem(cause="torch", text=text)
    return None


class _Unusable(Exception):
    def __init__(self, problem: GpuProblem) -> None:
        super().__init__(problem.text)
        self.problem = problem


def _asked(place: RankPlace, env: Mapping[str, str], torch: Any, shown: int | None) -> tuple[int, str, str]:
    """(number, UUID, name) of the GPU. Raises _Unusable."""
    if torch.version.cuda is None and torch.version.hip is None:
        text = f"torch {torch.__version__} is built for CPUs: torch.version.cuda and .hip are None"
        raise _Unusable(GpuProblem(cause="torch", text=text))
    with warnings.catch_warnings(record=True) as came:
        warnings.simplefilter("always")
        try:
            torch.cuda.init()
            seen = torch.cuda.device_count()
            # a launcher may keep GPUs from a rank whose files are there for all to see
            index = place.device(seen if place.may_be_bound or not shown else shown)
            if index >= seen:
                text = f"torch sees {seen} of the {shown} GPUs counted, but this rank uses number {index}"
                raise _Unusable(GpuProblem(cause="cuda", text=text))
            properties = torch.cuda.get_device_properties(index)
        except _Unusable:
            raise
        except Exception as error:  # torch raises RuntimeError, AssertionError and others; all are its answer
            raise _Unusable(problem_of(error, _told(came))) from error
    uuid = getattr(properties, "uuid", None)  # torch >= 2.5
    return index, _partition(env, index) or str(uuid or f"device {index}"), str(properties.name)


def _told(came: list[warnings.WarningMessage]) -> str:
    """Torch warns of the error that made it count no GPU."""
    texts = [_first_line(one.message) for one in came]
    return next((text for text in texts if "CUDA initialization" in text), "")


def _partition(env: Mapping[str, str], index: int) -> str:
    """The slice of a GPU that a variable names: CUDA may tell the UUID of the whole GPU for all of its slices."""
    words = env.get("CUDA_VISIBLE_DEVICES", "").split(",")
    word = words[index].strip() if index < len(words) else ""
    return word if word.startswith("MIG-") else ""


def _hidden(of_host: int | None, env: Mapping[str, str]) -> GpuProblem:
    masks = ", ".join(f"{name}={env[name][:40]!r}" for name in _MASKS if name in env)
    what = "GPU" if of_host == 1 else f"{of_host} GPUs" if of_host else "GPUs"
    return GpuProblem(cause="hidden", text=f"{masks} hides the {what} of the host")


def _first_line(said: object) -> str:
    lines = str(said).strip().splitlines()
    return lines[0].strip() if lines else ""
