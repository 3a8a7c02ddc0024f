"""What every collective must be, so that a new one is tested before its author writes a line."""

import importlib
import inspect
from typing import get_args

import pytest

from nccltool.core.errors import BadInput
from nccltool.probe import collectives
from nccltool.probe.collectives.base import Collective
from nccltool.probe.result import Placement

FUNCTIONS = ("layout", "bus_factor", "bind", "expected")

every = pytest.mark.parametrize("name", collectives.in_folder())


def test_names_are_the_files_of_the_folder() -> None:
    assert sorted(collectives.NAMES) == list(collectives.in_folder())


@every
def test_attributes(name: str) -> None:
    member = collectives.get(name)
    assert name == member.NAME
    assert isinstance(member.REDUCES, bool)
    assert member.PLACEMENTS
    assert set(member.PLACEMENTS) <= set(get_args(Placement))
    assert len(set(member.PLACEMENTS)) == len(member.PLACEMENTS)
    assert member.MIN_WORLD in (1, 2)
    assert member.TRIPS in (1, 2)


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
