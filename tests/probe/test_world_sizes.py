"""Which nodes and ranks a world size stands for, and what is refused."""

from dataclasses import replace

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch.launchers.base import LaunchPlan, worker_here
from nccltool.launch.options import StartOptions
from nccltool.probe import world_sizes
from nccltool.probe.world_sizes import WorldSize


def _plan(nodes: int | None, nproc: int | None, remote: bool = False) -> LaunchPlan:
    launch = replace(worker_here((0,), ""), remote=remote)
    return LaunchPlan(nodes=nodes, nproc=nproc, node_ranks=tuple(range(nodes or 1)), launch=launch)


@pytest.mark.parametrize(
    ("options", "plan", "made"),
    [
        (StartOptions(), _plan(1, 2), [WorldSize(1, 1), WorldSize(1, 4), WorldSize(1, 16)]),
        (StartOptions(nodes=4), _plan(4, 4), [WorldSize(1, 1), WorldSize(1, 4), WorldSize(4, 4)]),
        (StartOptions(hosts="a,b"), _plan(2, 8, remote=True), [WorldSize(1, 1), WorldSize(1, 4), WorldSize(2, 8)]),
    ],
    ids=["this host", "emulated nodes", "hosts"],
)
def test_a_node_is_filled_before_the_next(options: StartOptions, plan: LaunchPlan, made: list[WorldSize]) -> None:
    assert list(world_sizes.of((1, 4, 16), options, plan)) == made
    assert made[-1].ranks == 16
    assert made[-1].start(options) == replace(options, nodes=made[-1].nodes, nproc_per_node=str(made[-1].per_node))


@pytest.mark.parametrize(
    ("options", "plan", "said"),
    [
        (StartOptions(nodes=2), _plan(2, 4), "--scaling 16 exceeds 2 x 4 ranks"),
        (StartOptions(nodes=8), _plan(8, 3), "--scaling 4 does not fill nodes of 3 ranks"),
        (StartOptions(hosts="a,b"), _plan(2, None, remote=True), "needs the number of ranks per node"),
        (StartOptions(node_rank=0), _plan(2, 4), "part of one run"),
        (StartOptions(), replace(_plan(1, 4), node_ranks=()), "part of one run"),
    ],
)
def test_what_cannot_be_started(options: StartOptions, plan: LaunchPlan, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        world_sizes.of((1, 4, 16), options, plan)


def test_a_fault_strikes_worlds_that_have_its_rank() -> None:
    options = StartOptions(fault="kill:rank=2")
    assert [WorldSize(1, size).start(options).fault for size in (2, 3)] == ["", "kill:rank=2"]


def test_sizes_are_sorted() -> None:
    assert world_sizes.read("8, 1,2") == (1, 2, 8)


@pytest.mark.parametrize("text", ["", "0,1", "1,-2", "1,x", "1,,2", "1,1.5", "2,2", "4", "1,²", "1,9999999"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--scaling"):
        world_sizes.read(text)
