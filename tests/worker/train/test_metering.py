"""Steps whose memory and energy are read: how many, which counters count once, and what is not known."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from nccltool.core.unknown import Unknown
from nccltool.hosts.sources import energy
from nccltool.train.result import EnergyUse
from nccltool.worker.train import arrivals, metering
from nccltool.worker.train.arrivals import Lateness
from nccltool.worker.train.strategies.base import Setup

pytestmark = pytest.mark.torch

_HOST, _OTHER = 11, 22


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[_HOST, 3_000_000], [_HOST, 3_000_000]], (1, 1.5, "")),  # two ranks of one host read one counter
        ([[_HOST, 3_000_000], [_OTHER, 5_000_000]], (2, 4.0, "")),
        ([[_HOST, 3_000_000], [_OTHER, -1]], (2, None, "rank 1 cannot read it")),
    ],
)
def test_counters_count_once(rows: list[list[int]], expected: tuple[Any, ...]) -> None:
    found = metering._of("host", [[*row, 0, -1, -1] for row in rows], 2, {})
    assert (found.counters, found.joules_per_step, found.reason) == expected


def test_without_counters_no_more_steps_than_are_timed(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "packages", lambda tree: Unknown("not here"))
    taken = list[int]()
    found = metering.metered(setup, lambda tokens: taken.append(len(tokens)), most=3)
    assert len(taken) == metering.WARM_UP + 3 == len(found.memory)
    assert found.memory[0][:3] == (-1, -1, -1)
    assert found.memory[0][3] > 2**24
    assert found.utilization == ()
    assert found.energy == (
        EnergyUse(of="host", counters=1, joules_per_step=None, joules_per_token=None, reason="not here"),
    )


@pytest.mark.parametrize(("most", "taken_in_all"), [(3, 4), (4, 4), (6, 6)])
def test_steps_in_which_ranks_meet_are_metered_too(
    most: int, taken_in_all: int, setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Lateness(ranks=(), core_time=(1, 2, 3, 4))

    def came_late(counted: object, step_ns: int, step: Callable[[], object], put: object) -> Lateness:
        for _ in range(4):
            step()
        return late

    monkeypatch.setattr(energy, "packages", lambda tree: Unknown("not here"))
    monkeypatch.setattr(arrivals, "came_late", came_late)
    taken = list[torch.Tensor]()
    found = metering.metered(setup, taken.append, most)
    assert len(taken) == len(found.memory) == metering.WARM_UP + taken_in_all
    assert found.lateness == late


def test_energy_is_that_of_the_steps_after_warm_up(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = list[torch.Tensor]()
    monkeypatch.setattr(energy, "packages", lambda tree: {"package": (1_000_000 * len(taken), 10**12)})
    monkeypatch.setattr(metering, "_MOST_STEPS", 5)
    found = metering.metered(setup, taken.append, most=1)
    assert len(taken) == metering.WARM_UP + 5
    assert found.energy[0].joules_per_step == 1.0
