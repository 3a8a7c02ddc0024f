"""Starting commands on paper machines."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.papergpu.machine import PaperMachine
from tests.papergpu.machines import env_of
from tests.support.commands import NCCLTOOL, Command, Ended

LIMIT_S = 240.0
OnPaper = Callable[..., Ended]


@pytest.fixture
def on_paper(tmp_path: Path) -> Iterator[OnPaper]:
    """Runs `nccltool WORDS` on a machine to its end, and sees that nothing is left."""
    numbers = itertools.count()
    with ExitStack() as stack:

        def run(
            machine: PaperMachine,
            *words: str,
            argv: Sequence[str] = NCCLTOOL,
            limit_s: float = LIMIT_S,
            **env: str,
        ) -> Ended:
            folder = tmp_path / str(next(numbers))
            own = env_of(machine.kind) if machine.kind else {}
            whole = {**machine.write(tmp_path / "paper"), **own, **env}
            command = stack.enter_context(Command([*argv, *words], folder, whole))
            ended = command.wait(limit_s)
            assert command.everything_gone()
            return ended

        yield run
