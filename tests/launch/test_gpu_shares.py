"""How many ranks a node has, which GPU each takes, and whether NCCL may have several ranks on one."""

from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.core.versions import Version
from nccltool.launch import gpu_shares

PERMITTED = {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}


@pytest.mark.parametrize(
    ("gpus", "nodes", "nodes_here", "ranks"),
    [
        (8, 1, 1, 8),
        (8, 2, 2, 4),
        (8, 3, 3, 2),
        (8, 8, 8, 1),
        (8, 9, 9, 1),
        (1, 1, 1, 1),
        (1, 2, 2, 1),
        (8, 2, 1, 8),  # the other node is on another host
        (0, 1, 1, 2),
        (0, 2, 2, 1),
        (0, 2, 1, 1),
        (None, 1, 1, 1),
        (None, 2, 2, 1),
    ],
)
def test_ranks_of_a_node(gpus: int | None, nodes: int, nodes_here: int, ranks: int) -> None:
    assert gpu_shares.ranks_for(gpus, nodes, nodes_here) == ranks


@pytest.mark.parametrize(
    ("gpus", "nodes", "ranks", "taken"),
    [
        (8, 1, 8, [0, 1, 2, 3, 4, 5, 6, 7]),
        (8, 2, 4, [0, 1, 2, 3, 4, 5, 6, 7]),
        (8, 2, 2, [0, 1, 4, 5]),
        (8, 3, 2, [0, 1, 2, 3, 4, 5]),
        (8, 3, 1, [0, 2, 4]),
        (1, 2, 1, [0, 0]),
        (2, 3, 1, [0, 1, 0]),
        (4, 2, 3, [0, 1, 2, 3, 0, 1]),
    ],
)
def test_gpus_that_ranks_take(gpus: int, nodes: int, ranks: int, taken: list[int]) -> None:
    found = [
        gpu_shares.gpu_of(gpus, node, nodes, local_rank, ranks)
        for node in range(nodes)
        for local_rank in range(ranks)
    ]
    assert found == taken


@pytest.mark.parametrize(
    ("env", "version", "permitted"),
    [
        (PERMITTED, None, True),
        (PERMITTED, Version(2, 30, 3), True),
        (PERMITTED, Version(2, 29, 7), False),
        ({"NCCL_MULTI_RANK_GPU_ENABLE": "0"}, Version(2, 30, 7), False),
        ({"NCCL_MULTI_RANK_GPU_ENABLE": ""}, Version(2, 30, 7), False),
        ({}, Version(2, 30, 7), False),
    ],
)
def test_the_permission(env: dict[str, str], version: Version | None, permitted: bool) -> None:
    assert gpu_shares.is_permitted(env, version) is permitted


def test_the_permission_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "nccl.conf"
    file.write_text("NCCL_MULTI_RANK_GPU_ENABLE=1\n")
    assert gpu_shares.is_permitted({"NCCL_CONF_FILE": str(file)}, Version(2, 30, 7))
    assert not gpu_shares.is_permitted({"NCCL_CONF_FILE": str(file), "NCCL_MULTI_RANK_GPU_ENABLE": "0"})


@pytest.mark.parametrize(
    ("gpus", "ranks", "env", "enough"),
    [
        *(
            (8, 8, {}, True),
            (8, 9, {}, False),
            (1, 2, PERMITTED, True),
            (0, 1, {}, False),
            (0, 1, PERMITTED, False),
        ),
        *((None, 1, {}, True), (None, 2, {}, None)),
    ],
)
def test_whether_they_suffice(gpus: int | None, ranks: int, env: dict[str, str], enough: bool | None) -> None:
    assert gpu_shares.suffice(gpus, ranks, env) is enough


@pytest.mark.parametrize(("gpus", "ranks", "env"), [(8, 8, {}), (1, 2, PERMITTED), (0, 2, {}), (None, 2, {})])
def test_nothing_is_required_where_they_suffice_or_none_is_counted(
    gpus: int | None, ranks: int, env: dict[str, str]
) -> None:
    gpu_shares.require(gpus, ranks, env)


@pytest.mark.parametrize(("gpus", "have"), [(1, "1 GPU"), (8, "8 GPUs")])
def test_nccl_on_too_few_gpus_is_refused_with_what_to_do(gpus: int, have: str) -> None:
    with pytest.raises(BadInput) as refused:
        gpu_shares.require(gpus, 16, {})
    assert refused.value.message == (f"--backend nccl needs one GPU per rank, but a host has {have} for 16 ranks")
    assert refused.value.remedy == (
        f"start at most {gpus} (--nodes, --nproc-per-node) or measure on CPUs: --backend gloo; "
        "to share GPUs, set NCCL_MULTI_RANK_GPU_ENABLE=1 (NCCL 2.30.3 or later)"
    )
