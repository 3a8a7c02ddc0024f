"""What every collective must be, so that a new one is tested before its author writes a line."""

import importlib
from typing import get_args

import pytest

from nccltool.core.errors import BadInput
from nccltool.probe import collectives
from nccltool.probe.result import Placement

every = pytest.mark.parametrize("name", collectives.NAMES)


@pytest.mark.parametrize("trait", ["order", "nccl_tests"])
def test_no_two_have_the_same(trait: str) -> None:
    values = [getattr(collectives.get(name), trait) for name in collectives.NAMES]
    assert len(set(values)) == len(values)


@every
def test_traits(name: str) -> None:
    traits = collectives.get(name)
    assert traits.placements
    assert set(traits.placements) <= set(get_args(Placement))
    assert len(set(traits.placements)) == len(traits.placements)
    assert traits.min_world in (1, 2)
    assert traits.trips in (1, 2)


@every
def test_docstrings(name: str) -> None:
    module = importlib.import_module(f"nccltool.probe.collectives.{name}")
    assert (module.__doc__ or "").startswith(f"{name}: ")


@pytest.mark.parametrize("name", ["allreduce", "base", "__init__", "", "os"])
def test_an_unknown_name(name: str) -> None:
    with pytest.raises(BadInput) as error:
        collectives.get(name)
    assert error.value.message == f"{name!r} is not an operation"
    assert error.value.remedy == f"choose from {', '.join(collectives.NAMES)}"
