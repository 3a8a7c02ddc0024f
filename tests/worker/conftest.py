"""Fixtures for tests that start real ranks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.commands import PROBE, Command

Start = Callable[..., Command]


@pytest.fixture(autouse=True)
def _stores_are_closed() -> Iterator[None]:
    """Those that a test made in this process. A rank needs its own to its end, and ends without Python's."""
    yield
    if module := sys.modules.get("nccltool.worker.bus.store"):  # it imports torch
        for store in module._alive:
            store._connection.close()
        module._alive.clear()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts commands (`nccltool probe` unless told otherwise) that are gone when the test is."""
    with ExitStack() as stack:
        yield _starter(stack, tmp_path)


@pytest.fixture(scope="module")
def start_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """The same for a command whose result several tests look at."""
    with ExitStack() as stack:
        yield _starter(stack, tmp_path_factory.mktemp("once"))


def _starter(stack: ExitStack, folder: Path) -> Start:
    count = 0

    def begin(*words: str, argv: tuple[str, ...] = PROBE, **env: str) -> Command:
        nonlocal count
        count += 1
        return stack.enter_context(Command([*argv, *words], folder / str(count), env))

    return begin
