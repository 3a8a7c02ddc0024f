"""Which GPU a rank takes, and in whose words it says that it cannot."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from nccltool.core.unknown import Unknown
from nccltool.launch.events import GpuProblem
from nccltool.launch.inside import RankPlace
from nccltool.worker.rank import own_gpu
from nccltool.worker.rank.own_gpu import OwnGpu
from tests.worker.rank.test_handshake import FIRST_OF_TWO

pytestmark = pytest.mark.torch

ONE_NODE = replace(FIRST_OF_TWO, local_world_size=8, world_size=8)
BOUND = replace(ONE_NODE, launcher="srun", local_rank=3)
H100 = "NVIDIA H100 80GB HBM3"


@dataclass
class FakeCuda:
    """As much of torch.cuda as a rank asks."""

    devices: int = 8
    init_error: str = ""
    dead: int | None = None
    warning: str = ""
    asked: list[str] = field(default_factory=list)

    def is_available(self) -> bool:
        self.asked.append("is_available")
        return self.devices > 0

    def init(self) -> None:
        self.asked.append("init")
        if self.warning:
            warnings.warn(self.warning, stacklevel=1)
        if self.init_error:
            raise RuntimeError(self.init_error)

    def device_count(self) -> int:
        return self.devices

    def get_device_properties(self, index: int) -> Any:
        if index == self.dead:
            raise RuntimeError("CUDA error: unspecified launch failure\nCompile with `TORCH_USE_CUDA_DSA`")
        return SimpleNamespace(uuid=f"GPU-{index}", name=H100)


def found(
    place: RankPlace = ONE_NODE,
    cuda: FakeCuda | None = None,
    counted: int | None = 8,
    built_for: str | None = "12.8",
    hip: str | None = None,
    are_nvidias: bool = True,
    env: Mapping[str, str] | None = None,
) -> OwnGpu:
    def count(env: Mapping[str, str]) -> int | Unknown:
        words = env.get("CUDA_VISIBLE_DEVICES", "all").split(",")
        if words == ["all"] or words == [""]:
            return 0 if words == [""] else Unknown("only the driver knows") if counted is None else counted
        return len(words) if counted is None else min(counted, len(words))

    version = SimpleNamespace(cuda=built_for, hip=hip)
    torch = SimpleNamespace(cuda=cuda or FakeCuda(), version=version, __version__="2.13.0")
    return own_gpu.look(place, env or {}, torch, count, lambda: are_nvidias)


def taken(index: int, gpu: str = "", gpus: int = 8, of_host: int = 8) -> OwnGpu:
    return OwnGpu(index=index, gpu=gpu or f"GPU-{index}", gpu_name=H100, gpus=gpus, gpus_of_host=of_host)


@pytest.mark.parametrize(
    ("place", "visible", "counted", "env", "expected"),
    [
        (replace(ONE_NODE, local_rank=5), 8, 8, {}, taken(5)),
        (replace(ONE_NODE, nodes_here=2, node_rank=1, local_world_size=4), 8, 8, {}, taken(4)),
        (replace(FIRST_OF_TWO, nodes_here=2, node_rank=1), 1, 1, {}, taken(0, gpus=1, of_host=1)),
        (BOUND, 1, 8, {"CUDA_VISIBLE_DEVICES": "3"}, taken(0, gpus=1)),
        (BOUND, 1, 8, {}, taken(0)),  # kept from it by cgroups
        (BOUND, 8, 8, {}, taken(3)),
        (replace(ONE_NODE, local_rank=3), 1, 8, {"CUDA_VISIBLE_DEVICES": "3"}, taken(0, gpus=1)),  # by a wrapper
        (BOUND, 1, 1, {"CUDA_VISIBLE_DEVICES": "MIG-7c2"}, taken(0, "MIG-7c2", gpus=1, of_host=1)),
        (replace(ONE_NODE, local_rank=1, local_world_size=2), 2, 0, {}, taken(1, gpus=0, of_host=0)),
        (replace(FIRST_OF_TWO, nodes_here=2, node_rank=1), 1, None, {}, taken(0, gpus=1, of_host=1)),  # WSL2
    ],
)
def test_the_gpu_of_a_rank(
    place: RankPlace, visible: int, counted: int | None, env: dict[str, str], expected: OwnGpu
) -> None:
    assert found(place, FakeCuda(devices=visible), counted, env=env) == expected


NO_DRIVER = "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"
NO_GPU = "No CUDA GPUs are available"
TOO_OLD = "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver"
UNKNOWN = "CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment"


@pytest.mark.parametrize(
    ("cuda", "problem"),
    [
        (FakeCuda(devices=0, init_error=NO_GPU), GpuProblem(cause="cuda", text=NO_GPU)),
        (
            FakeCuda(devices=0, init_error=NO_GPU, warning=f"{UNKNOWN}\n  (Triggered internally)"),
            GpuProblem(cause="cuda", text=f"{NO_GPU} ({UNKNOWN})"),
        ),
        (FakeCuda(init_error=TOO_OLD), GpuProblem(cause="driver", text=TOO_OLD)),
        (FakeCuda(init_error=NO_DRIVER), GpuProblem(cause="driver", text=NO_DRIVER)),
        (FakeCuda(dead=7), GpuProblem(cause="cuda", text="CUDA error: unspecified launch failure")),
        (
            FakeCuda(devices=7),
            GpuProblem(cause="cuda", text="torch sees 7 of the 8 GPUs counted, but this rank uses number 7"),
        ),
        (FakeCuda(init_error="x" * 5000), GpuProblem(cause="cuda", text="x" * 300)),
    ],
)
def test_why_it_cannot_use_it(cuda: FakeCuda, problem: GpuProblem) -> None:
    last = replace(ONE_NODE, local_rank=7)
    assert found(last, cuda) == OwnGpu(gpus=8, gpus_of_host=8, gpu_problem=problem)


def test_a_torch_for_cpus_is_not_asked() -> None:
    cuda = FakeCuda()
    text = "torch 2.13.0 is built for CPUs: torch.version.cuda and .hip are None"
    problem = GpuProblem(cause="torch", text=text)
    assert found(cuda=cuda, built_for=None) == OwnGpu(gpus=8, gpus_of_host=8, gpu_problem=problem)
    assert cuda.asked == []


@pytest.mark.parametrize(
    ("built_for", "hip", "are_nvidias", "text"),
    [
        ("12.8", None, False, "torch 2.13.0 is built for CUDA, but the GPUs are AMD's"),
        (None, "6.4", True, "torch 2.13.0 is built for ROCm, but the GPUs are NVIDIA's"),
    ],
)
def test_a_torch_for_gpus_of_another_maker(
    built_for: str | None, hip: str | None, are_nvidias: bool, text: str
) -> None:
    there = found(cuda=FakeCuda(init_error=NO_DRIVER), built_for=built_for, hip=hip, are_nvidias=are_nvidias)
    assert there.gpu_problem == GpuProblem(cause="torch", text=text)
    works = found(built_for=built_for, hip=hip, are_nvidias=are_nvidias)
    assert (works.gpu_problem, works.index) == (None, 0)


@pytest.mark.parametrize(("counted", "what"), [(8, "8 GPUs"), (1, "GPU"), (None, "GPUs")])
def test_gpus_that_are_hidden(counted: int | None, what: str) -> None:
    hidden = GpuProblem(cause="hidden", text=f"CUDA_VISIBLE_DEVICES='' hides the {what} of the host")
    there = found(cuda=FakeCuda(devices=0), counted=counted, env={"CUDA_VISIBLE_DEVICES": ""})
    assert there == OwnGpu(gpus=0, gpus_of_host=counted, gpu_problem=hidden)


def test_gpus_whose_number_is_not_known_and_that_cannot_be_used() -> None:
    text = "torch 2.13.0 is built for CPUs: torch.version.cuda and .hip are None"
    there = found(counted=None, built_for=None)
    assert there == OwnGpu(gpu_problem=GpuProblem(cause="torch", text=text))


@pytest.mark.parametrize("cuda", [FakeCuda(devices=0), FakeCuda(init_error=TOO_OLD)])
def test_what_nobody_counts_is_no_problem(cuda: FakeCuda) -> None:
    assert found(cuda=cuda, counted=0) == OwnGpu(gpus=0, gpus_of_host=0)
