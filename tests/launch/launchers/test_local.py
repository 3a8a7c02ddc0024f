"""Nodes of this host: how many ranks each has on a host with so many GPUs, and whether they are on these."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch.launchers import local
from nccltool.launch.order import likely_backend
from tests.support.options import of_probe

PERMITTED = {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}
JOIN = ("--nodes", "2", "--node-rank", "1", "--rdzv-endpoint", "n1:29500")


@pytest.mark.parametrize(
    ("words", "gpus", "env", "ranks", "backend"),
    [
        ((), 8, {}, 8, "nccl"),
        (("--nodes", "2"), 8, {}, 4, "nccl"),
        (("--nodes", "3"), 8, {}, 2, "nccl"),
        (("--nodes", "2"), 1, {}, 1, "gloo"),
        (("--nodes", "2"), 1, PERMITTED, 1, "nccl"),
        (("--nodes", "2", "--backend", "gloo"), 1, {}, 1, "gloo"),
        (("--nodes", "2", "--backend", "gloo"), 8, {}, 4, "gloo"),
        (("--nodes", "2", "--nproc-per-node", "8"), 8, {}, 8, "gloo"),
        (("--nproc-per-node", "16", "--backend", "gloo"), 8, {}, 16, "gloo"),
        (("--nproc-per-node", "16"), 8, PERMITTED, 16, "nccl"),
        (("--nodes", "2"), 0, {}, 1, "gloo"),
        ((), None, {}, 1, "nccl"),
        (("--nodes", "2"), None, {}, 1, None),
        (("--nodes", "2", "--backend", "nccl"), None, {}, 1, "nccl"),
        (("--nodes", "2", "--backend", "nccl"), 0, {}, 1, "nccl"),
        (JOIN, 8, {}, 8, "nccl"),
        ((*JOIN, "--nproc-per-node", "9"), 8, {}, 9, "gloo"),
    ],
)
def test_ranks_and_their_backend(
    words: tuple[str, ...], gpus: int | None, env: dict[str, str], ranks: int, backend: str | None
) -> None:
    options = of_probe(*words).start
    plan = local.planned(options, env, gpus)
    assert (plan.nproc, likely_backend(options, plan)) == (ranks, backend)


@pytest.mark.parametrize(
    ("words", "gpus", "message"),
    [
        (("--nodes", "2"), 1, "a host has 1 GPU for 2 ranks"),
        (("--nodes", "2", "--nproc-per-node", "8"), 8, "a host has 8 GPUs for 16 ranks"),
        ((*JOIN, "--nproc-per-node", "9"), 8, "a host has 8 GPUs for 9 ranks"),
    ],
)
def test_nccl_is_refused_where_gpus_are_too_few(words: tuple[str, ...], gpus: int, message: str) -> None:
    options = of_probe(*words, "--backend", "nccl").start
    with pytest.raises(BadInput, match=message):
        local.planned(options, {}, gpus)
    assert local.planned(options, PERMITTED, gpus).on_gpus
