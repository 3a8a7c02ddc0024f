"""A container of Kubeflow without torchrun: the operator's variables make it a node."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch import inside, order
from nccltool.launch.options import StartOptions

TRAINJOB = {
    "PET_NNODES": "2",
    "PET_NODE_RANK": "1",
    "PET_NPROC_PER_NODE": "8",
    "PET_MASTER_ADDR": "probe-node-0-0.probe",
    "PET_MASTER_PORT": "29400",
}
PYTORCHJOB = TRAINJOB | {"MASTER_ADDR": "probe-master-0", "MASTER_PORT": "23456", "RANK": "1", "WORLD_SIZE": "16"}
PLACE = StartOptions(nodes=2, node_rank=1, rdzv_endpoint="probe-node-0-0.probe:29400", nproc_per_node="8")
NOTHING = StartOptions()


@pytest.mark.parametrize(
    ("env", "place"),
    [
        (TRAINJOB, PLACE),
        (PYTORCHJOB, PLACE),
        (TRAINJOB | {"PET_NPROC_PER_NODE": "auto"}, replace(PLACE, nproc_per_node="auto")),
        (TRAINJOB | {"PET_NPROC_PER_NODE": "gpu"}, replace(PLACE, nproc_per_node="auto")),
        (TRAINJOB | {"PET_MASTER_ADDR": "fd00::1"}, replace(PLACE, rdzv_endpoint="[fd00::1]:29400")),
        (
            {"PET_NODE_RANK": "0", "PET_MASTER_ADDR": "a"},
            StartOptions(nodes=1, node_rank=0, rdzv_endpoint="a:29500", nproc_per_node="auto"),
        ),
        (PYTORCHJOB | {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "8"}, None),
        ({"PET_NNODES": "2"}, None),
        ({}, None),
    ],
)
def test_the_node_that_the_variables_name(env: dict[str, str], place: StartOptions | None) -> None:
    assert inside.node(env) == place


def test_a_node_is_not_one_rank() -> None:
    assert inside.detect(PYTORCHJOB) is None


def test_a_rank_that_torchrun_started_there_is_a_rank() -> None:
    place = inside.detect(PYTORCHJOB | {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "8", "RANK": "9"})
    assert place is not None
    assert (place.launcher, place.rank, place.world_size) == ("torchrun", 9, 16)


def test_an_older_operator_without_these_variables() -> None:
    place = inside.detect(
        {"MASTER_ADDR": "probe-master-0", "MASTER_PORT": "23456", "RANK": "1", "WORLD_SIZE": "2"}
    )
    assert place is not None
    assert (place.rank, place.world_size, place.store_host) == (1, 2, "probe-master-0")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"PET_NNODES": "1:4"}, "the launcher's variable PET_NNODES='1:4' is not a number"),
        ({"PET_NODE_RANK": "one"}, "the launcher's variable PET_NODE_RANK='one' is not a number"),
        ({"PET_NPROC_PER_NODE": "cpu"}, "PET_NPROC_PER_NODE='cpu' is not a number of ranks"),
    ],
)
def test_variables_that_cannot_be_used(changes: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput) as error:
        inside.node(TRAINJOB | changes)
    assert error.value.message == message


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({}, {}),
        ({"nodes": 2}, {}),
        ({"nproc_per_node": "4"}, {"nproc_per_node": "4"}),
        ({"rdzv_endpoint": "b:1"}, {"rdzv_endpoint": "b:1"}),
    ],
)
def test_options_win_over_variables(options: dict[str, Any], changes: dict[str, Any]) -> None:
    assert order.joined(replace(NOTHING, **options), TRAINJOB) == replace(PLACE, **changes)


@pytest.mark.parametrize("words", [{"node_rank": 0}, {"launcher": "local"}, {"hosts": "a,b"}])
def test_who_says_where_the_nodes_are_is_not_asked(words: dict[str, Any]) -> None:
    options = replace(NOTHING, **words)
    assert order.joined(options, TRAINJOB) == options


def test_another_number_of_nodes() -> None:
    with pytest.raises(BadInput) as error:
        order.joined(replace(NOTHING, nodes=3), TRAINJOB)
    assert error.value.message == "--nodes 3, but this job has PET_NNODES=2"
