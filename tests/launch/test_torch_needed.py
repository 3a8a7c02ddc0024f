"""Where ranks cannot start for want of torch, and what is said."""

import sys
from collections.abc import Callable
from importlib.util import find_spec

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch import torch_needed
from nccltool.launch.launchers.base import NodeCommands, worker_here

HERE = worker_here((0,), "")
ELSEWHERE = NodeCommands(launcher="ssh", why="", commands=(), remote=True)
Hidden = Callable[..., None]


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> Hidden:
    """Packages that this Python has, as if it did not."""

    def hide(*names: str) -> None:
        monkeypatch.setattr(torch_needed, "find_spec", lambda name: None if name in names else find_spec(name))

    return hide


@pytest.mark.parametrize("names", [(), ("numpy",), ("torch", "numpy")])
def test_what_is_missing(hidden: Hidden, names: tuple[str, ...]) -> None:
    hidden(*names)
    assert torch_needed.missing() == names


@pytest.mark.parametrize(
    ("names", "message", "remedy"),
    [
        (
            ("torch", "numpy"),
            f"probe starts ranks, which need torch and numpy, but {sys.executable} has no torch",
            "pip install 'nccltool[torch]', or install nccltool into the environment that your jobs use",
        ),
        (
            ("numpy",),
            f"probe starts ranks, which need torch and numpy, but {sys.executable} has no numpy",
            "pip install numpy, or install nccltool into the environment that your jobs use",
        ),
    ],
)
def test_ranks_of_this_host(hidden: Hidden, names: tuple[str, ...], message: str, remedy: str) -> None:
    hidden(*names)
    with pytest.raises(BadInput) as raised:
        torch_needed.require(HERE, "probe")
    assert (raised.value.message, raised.value.remedy) == (message, remedy)


def test_a_command_with_another_way(hidden: Hidden) -> None:
    hidden("torch")
    with pytest.raises(BadInput) as raised:
        torch_needed.require(HERE, "preflight", "run the rest of it")
    assert raised.value.remedy == "pip install 'nccltool[torch]', or run the rest of it"


def test_ranks_of_other_hosts_need_nothing_here(hidden: Hidden) -> None:
    hidden("torch", "numpy")
    torch_needed.require(ELSEWHERE, "probe")


def test_nothing_is_said_where_both_are_there() -> None:
    torch_needed.require(HERE, "probe")
