"""Two, three or four hosts for a test, and commands on them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.lab import Host, Lab, missing
from tests.support.commands import PROBE, Command

PORT = 29500
Start = Callable[..., Command]


@pytest.fixture(scope="session")
def possible() -> None:
    """Skips where namespaces cannot be made."""
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture
def lab(possible: None) -> Iterator[Lab]:
    """Two hosts."""
    with Lab(2) as two:
        yield two


@pytest.fixture
def lab_of_four(possible: None) -> Iterator[Lab]:
    """Four hosts."""
    with Lab(4) as four:
        yield four


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a command on a host; what it left is ended with the test."""
    with ExitStack() as stack:

        def begin(host: Host, argv: Sequence[str], **env: str) -> Command:
            return stack.enter_context(host.start(argv, tmp_path, env))

        yield begin


def join(node_rank: int, nodes: int, *words: str) -> tuple[str, ...]:
    """The command of one host of a run that joins at n1."""
    place = ("--nodes", str(nodes), "--node-rank", str(node_rank), "--rdzv-endpoint", f"n1:{PORT}")
    return (*PROBE, *place, *words)
