"""What every collective must be, so that a new one is tested before its author writes a line."""

import importlib
import inspect
from typing import get_args

import pytest

from nccltool.core.errors import BadInput
from nccltool.probe import collectives
from nccltool.probe.collectives.base import Collective
from nccltool.probe.result import Placement

FUNCTIONS = ("layout", "bus_factor", "least_seconds", "bind", "expected")

every = pytest.mark.parametrize("name", collectives.NAMES)


@pytest.mark.parametrize("trait", ["order", "nccl_tests"])
def test_no_two_have_the_same(trait: str) -> None:
    values = [getattr(collectives.get(name).TRAITS, trait) for name in collectives.NAMES]
    assert len(set(values)) == len(values)


@every
def test_traits(name: str) -> None:
    traits = collectives.get(name).TRAITS
    assert traits.placements
    assert set(traits.placements) <= set(get_args(Placement))
    assert len(set(traits.placements)) == len(traits.placements)
    assert traits.min_world in (1, 2)
    assert traits.trips in (1, 2)


@every
def test_signatures(name: str) -> None:
    module = importlib.import_module(f"nccltool.probe.collectives.{name}")
    for function in FUNCTIONS:
        wanted = inspect.signature(getattr(Collective, function))
        parameters = [parameter for parameter in wanted.parameters.values() if parameter.name != "self"]
        assert inspect.signature(getattr(module, function)) == wanted.replace(parameters=parameters)


@every
def test_docstrings(name: str) -> None:
    module = importlib.import_module(f"nccltool.probe.collectives.{name}")
    assert (module.__doc__ or "").startswith(f"{name}: ")
    for function in FUNCTIONS:
        assert inspect.getdoc(getattr(module, function))


@pytest.mark.parametrize("name", ["allreduce", "base", "__init__", "", "os"])
def test_an_unknown_name(name: str) -> None:
    with pytest.raises(BadInput) as error:
        collectives.get(name)
    assert error.value.message == f"{name!r} is not an operation"
    assert error.value.remedy == f"choose from {', '.join(collectives.NAMES)}"
