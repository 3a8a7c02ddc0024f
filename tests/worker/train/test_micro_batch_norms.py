"""Norms of the gradients of micro-batches, beside gradients that are computed one by one."""

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nccltool.train import tolerance
from nccltool.train.job import TrainSpec
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import micro_batch_norms, strategies, transformer
from nccltool.worker.train.comparison import ReferenceComparison
from nccltool.worker.train.micro_batch_norms import Squares
from nccltool.worker.train.reference import Reference
from nccltool.worker.train.strategies.base import Setup, Strategy
from tests.worker.train.conftest import CPU, SPEC

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

ACCUMULATED = replace(SPEC, dtype="float32", options={"accumulate": 4})


def built(setup: Setup, name: str = "ddp", spec: TrainSpec = ACCUMULATED) -> Strategy:
    return strategies.build(Setup(name, spec, setup.tools))


def one_by_one(strategy: Strategy, tokens: Tensor) -> float:
    """Root mean square of the norms, from torch.autograd.grad."""
    model, squares = transformer.make(strategy.setup.spec), []
    for part in tokens.chunk(strategy.micro_batches):
        with strategy.setup.lower():
            loss = transformer.loss_of(model(part[:, :-1]), part[:, 1:])
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        squares.append(sum(float((gradient.double() ** 2).sum()) for gradient in gradients))
    return float((sum(squares) / len(squares)) ** 0.5)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("ddp", {}),
        ("zero1", {}),
        ("ddp", {"dtype": "float16"}),
        ("ddp", {"dtype": "float64", "recompute": True}),
        ("ddp", {"options": {"accumulate": 4, "gradient_as_bucket_view": True, "bucket_mib": 0.01}}),
    ],
    ids=str,
)
def test_ranks_and_reference_have_what_one_by_one_gives(
    setup: Setup, name: str, changes: dict[str, object]
) -> None:
    strategy = built(setup, name, replace(ACCUMULATED, **changes))  # type: ignore[arg-type]
    tokens = strategy.setup.tokens(1)
    reference = Reference(strategy.setup, strategy.micro_batches, tolerance.of(strategy.setup.spec))
    scale = strategy.scaler.scale if strategy.scaler else 1.0
    with micro_batch_norms.watching(strategy.model.parameters()) as mine:
        strategy.forward_backward(tokens)
    with micro_batch_norms.watching(reference.model.parameters()) as theirs:
        reference.forward_backward(tokens, scale)
    expected = pytest.approx(one_by_one(strategy, tokens), rel=1e-3 if strategy.scaler else 1e-6)
    assert strategy.micro_batch_norm(mine.total()) == expected
    assert reference.micro_batch_norm(theirs.total(), scale) == expected
    before = mine.total()
    strategy.forward_backward(tokens)  # nobody watches
    assert mine.total() == before


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ddp", {}),
        ("ddp", {"accumulate": 4, "comm_hook": "int8"}),
        ("ddp", {"accumulate": 4, "sync_batch_norm": True}),
        ("ddp", {"accumulate": 4, "halve_on_oom": True}),
        ("fsdp", {"accumulate": 4}),
    ],
    ids=str,
)
def test_ranks_without_whole_gradients_of_micro_batches_measure_none(
    setup: Setup, name: str, options: dict[str, bool | int | float | str | None]
) -> None:
    comparison = ReferenceComparison(built(setup, name, replace(ACCUMULATED, options=options)), base=0)
    assert not comparison._sees_micro_batches


@pytest.fixture
def quiet(setup: Setup) -> Iterator[Setup]:
    """Nobody hears what it says."""
    with open(os.devnull, "wb") as nobody:
        tools = RankTools(CPU, ProgressPage(), Channel(nobody.fileno(), None), FaultInjector(None, 0))
        yield Setup("ddp", ACCUMULATED, tools)


@pytest.mark.parametrize("wrong", [0.0, 0.75, 1.0001, 4.0], ids=["nothing", "one less", "rounded", "doubled"])
@pytest.mark.parametrize("seed", range(5))
def test_wrong_norms_are_found(quiet: Setup, monkeypatch: pytest.MonkeyPatch, wrong: float, seed: int) -> None:
    """Those of the ranks, which are asked for before those of the reference."""
    comparison = ReferenceComparison(built(quiet, spec=replace(ACCUMULATED, seed=seed)), base=0)
    assert comparison.begin(0)
    assert comparison.step(1) == "right"
    factors, total = iter([wrong, 1.0]), Squares.total
    monkeypatch.setattr(Squares, "total", lambda squares: next(factors) * total(squares))
    assert comparison.step(2) == "wrong"
    assert [name for name, one in comparison._worst.items() if one.is_wrong] == ["noise"]
