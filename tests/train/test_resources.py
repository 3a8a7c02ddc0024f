"""Memory, energy, and use of GPUs: from events to the result, and the lines that people read."""

from dataclasses import replace

import pytest

from nccltool.train import resources
from nccltool.train.events import MEMORY_PER_EVENT, MemorySeen, TimedSteps
from nccltool.train.result import EnergyUse, MemoryNow, TrainingResult
from tests.report import materials

_NOT_READ = EnergyUse(
    of="host", counters=2, joules_per_step=None, joules_per_token=None, reason="/sys/class/powercap cannot be read"
)
_OF_GPUS = EnergyUse(of="GPU", counters=8, joules_per_step=120.0, joules_per_token=None, reason="")


def training(**changes: object) -> TrainingResult:
    return replace(materials.trained().trainings[0], **changes)  # type: ignore[arg-type]


def test_memory_of_many_steps_comes_in_order() -> None:
    seen = [(-1, -1, -1, size) for size in range(100)]
    events = list(MemorySeen.of("ddp", 6, seen))
    assert len(events) == -(-100 // MEMORY_PER_EVENT)
    rows = list(resources.memory(events))
    assert [row.step for row in rows] == list(range(1, 101))
    assert (rows[7].allocated_bytes, rows[7].resident_bytes) == (None, 7)


def test_energy_of_a_token() -> None:
    timed = TimedSteps(
        step=6,
        strategy="ddp",
        sequences=8,
        tokens=256,
        without_sync_ns=None,
        alone_ns=None,
        energy=(_OF_GPUS, _NOT_READ),
    )
    gpus, hosts = resources.energy(timed)
    assert (gpus.joules_per_token, hosts.joules_per_token) == (120 / 256, None)


_GREW = tuple(
    MemoryNow(step=step, allocated_bytes=2**30, reserved_bytes=2**31, device_bytes=None, resident_bytes=resident)
    for step, resident in ((1, 2**28), (2, 2**28 + 2**23))
)


@pytest.mark.parametrize(
    ("changes", "verbose", "lines"),
    [
        ({}, True, []),
        ({"energy": (_NOT_READ,), "memory": _GREW}, False, []),
        ({"gpu_utilization": (0.93, None, 0.97)}, False, ["GPU utilization in ddp: 93% to 97%"]),
        (
            {"energy": (replace(_OF_GPUS, joules_per_token=0.46875), _NOT_READ)},
            False,
            ["energy of 8 GPUs in ddp: 120 J per step, 0.469 J per token (NVML)"],
        ),
        (
            {"memory": _GREW},
            True,
            ["memory after 2 steps of ddp: allocated 1024 MiB, reserved 2048 MiB, resident 264 MiB (+8 MiB)"],
        ),
    ],
)
def test_what_people_read(changes: dict[str, object], verbose: bool, lines: list[str]) -> None:
    assert list(resources.lines([training(**changes)], verbose)) == lines


def test_a_reason_is_given_once() -> None:
    trainings = [training(strategy=name, energy=(_NOT_READ,)) for name in ("ddp", "fsdp")]
    assert list(resources.lines(trainings, verbose=True)) == [
        "energy of hosts: unknown: /sys/class/powercap cannot be read"
    ]
