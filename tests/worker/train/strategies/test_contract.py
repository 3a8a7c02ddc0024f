"""What every smoke training must be."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

from nccltool.train import strategies
from nccltool.worker.progress_page import PHASES
from nccltool.worker.train import strategies as train_strategies
from nccltool.worker.train.strategies.base import Strategy

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

FOLDER = Path(train_strategies.__file__).parent
every = pytest.mark.parametrize("name", strategies.NAMES)


def test_names_are_the_files_of_the_folder() -> None:
    assert {*strategies.NAMES, "__init__", "base"} == {file.stem for file in FOLDER.glob("*.py")}


@every
def test_it_is_a_strategy(name: str) -> None:
    training = import_module(f"nccltool.worker.train.strategies.{name}").Training
    assert issubclass(training, Strategy)


@every
def test_it_says_what_ranks_wait_for_in_phases_that_are_noted(name: str) -> None:
    collectives = import_module(f"nccltool.worker.train.strategies.{name}").Training.COLLECTIVES
    assert collectives
    assert set(collectives) <= set(PHASES)


@every
def test_it_stands_alone(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    siblings = {module for module in imported if module.startswith("nccltool.worker.train.strategies")}
    assert siblings == {"nccltool.worker.train.strategies.base"}
    assert not [module for module in imported if "fault" in module]
