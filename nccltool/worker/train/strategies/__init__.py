"""Smoke training runs: one way to train in parallel a file, found by its name when a rank needs it."""

from collections.abc import Sequence
from importlib import import_module

import torch

from nccltool.worker.train.strategies.base import Setup, Strategy


def build(setup: Setup) -> Strategy:
    """The strategy of this name, its model made and spread over the ranks. Raises CannotTrain."""
    strategy: Strategy = import_module(f"{__name__}.{setup.name}").Training(setup)
    return strategy


def load(names: Sequence[str]) -> None:
    """Import what these strategies need, before ranks are forked: once for all, and while nobody waits."""
    for name in names:
        import_module(f"{__name__}.{name}")
    torch.optim.SGD([torch.zeros(1)])  # the first optimizer of a process imports a compiler
