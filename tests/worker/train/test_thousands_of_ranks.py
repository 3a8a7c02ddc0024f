"""Every way to train, built and stepped as one rank of up to 4,096: which calls it makes, and how many.

The counts are formulas, so that a call too many (a gather that is repeated, a reduction in each micro-batch) is
seen without a network. What they cost at such a size, no test here can say.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from torch import nn

from nccltool.train import sharing, strategies
from nccltool.train.job import TrainSpec
from nccltool.worker.train import strategies as of_worker
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy
from tests.worker.train.fake_world import calls_of_a_step, rank_of

pytestmark = [
    pytest.mark.torch,
    # torch's own, while it is imported, and of an API that fsdp1 is there to try
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

WORLDS = (8, *(pytest.param(world, marks=pytest.mark.slow) for world in (16, 64, 512)), 4096)
EMBED, BLOCK, HEAD = 2, 16, 3
"""Parameters of the parts of the model."""
MICRO_BATCHES = 2
"""For each rank of a pipeline."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A rank of a world, and what it holds."""

    layers: int
    shared_by: int
    """Ranks that have a model between them."""
    replicas: int
    neighbours: int
    """Stages before or after that of the rank: none, one or two."""
    blocks: int
    """That the rank has."""
    held: int
    """Parameters of which the rank has all or a part."""

    @property
    def parts(self) -> int:
        """FSDP gathers each block and both ends at once."""
        return self.layers + 2

    @property
    def of_experts(self) -> int:
        """The same for the four parameters of the one expert that each rank has, where eight share them."""
        return 4 * self.layers if self.replicas > 1 else 0

    @property
    def averaged(self) -> int:
        """One call for each parameter, where there are replicas to average over."""
        return self.held if self.replicas > 1 else 0


def of_blocks(blocks: int, times: int = 1) -> int:
    """Tensor parallelism: attention and feed-forward each put together what they put out (forward), and the
    gradients of what went into query, key, value and up (backward)."""
    return (2 + 4) * blocks * times


def of_pipeline(place: Place, micro_batches: int) -> dict[str, int]:
    """Each micro-batch goes on, and its gradient comes back; at first, a number says that shapes are known."""
    each_way = place.neighbours * (micro_batches + 1)
    return {"send": each_way, "recv": each_way}


CALLS: dict[str, Callable[[Place], dict[str, int]]] = {
    "ddp": lambda place: {"all_reduce": 1},  # all gradients fit one bucket
    "fsdp": lambda place: {"all_gather": 2 * place.parts, "reduce_scatter": place.parts},
    "fsdp1": lambda place: {"all_gather": 2 * place.parts, "reduce_scatter": place.parts},
    "zero1": lambda place: {"all_reduce": 1, "broadcast": EMBED + BLOCK * place.layers + HEAD},
    "tensor": lambda place: {"all_reduce": of_blocks(place.layers) + place.averaged},
    "tp_moe": lambda place: {
        "all_to_all": 5 * place.layers,
        "all_reduce": of_blocks(place.layers) + 2,
        "broadcast": place.layers,
    },
    # queries, keys, values and what attention puts out, forward and backward; the bucket, and the loss
    "context": lambda place: {"all_to_all": 2 * 4 * place.layers, "all_reduce": 1 + 1},
    # lengths, tokens there and back, and their gradients; the bucket, and experts where there are replicas
    "moe": lambda place: {"all_to_all": 5 * place.layers, "all_reduce": 1 + place.of_experts},
    # keys and values together, forward and backward; the bucket, and the loss
    "ring": lambda place: {
        **dict.fromkeys(("send", "recv"), 2 * (place.shared_by - 1) * place.layers),
        "all_reduce": 1 + 1,
    },
    "pipeline": lambda place: {
        **of_pipeline(place, MICRO_BATCHES * place.shared_by),
        "all_reduce": place.averaged,
    },
    "model": lambda place: {"send": place.neighbours, "recv": place.neighbours, "all_reduce": place.averaged},
    "three_d": lambda place: {
        **of_pipeline(place, MICRO_BATCHES * 2),
        "all_reduce": of_blocks(place.blocks, MICRO_BATCHES * 2) + place.averaged,
    },
    "tp_fsdp": lambda place: {
        "all_gather": 2 * place.parts,
        "reduce_scatter": place.parts,
        "all_reduce": of_blocks(place.layers),
    },
}
"""Of one step."""
ELSEWHERE = {"dp", "deepspeed"}
"""One process, and what is not installed with the tests: neither is a matter of these calls."""


def test_every_way_to_train_has_its_row() -> None:
    assert {*CALLS, *ELSEWHERE} == set(strategies.NAMES)


def of(strategy: Strategy) -> Place:
    setup = strategy.setup
    layers, shared_by, ranks = setup.spec.layers, setup.sharing, setup.world
    stages, stage = {
        "pipeline": (shared_by, setup.rank % shared_by),
        "model": (shared_by, setup.rank % shared_by),
        "three_d": (2, setup.rank * 2 // ranks),
    }.get(setup.name, (1, 0))
    first, last = ((layers + 2) * (stage + end) // stages for end in (0, 1))
    blocks = last - first - (first == 0) - (last == layers + 2)
    return Place(
        layers=layers,
        shared_by=shared_by,
        replicas=ranks // shared_by,
        neighbours=(stage > 0) + (stage < stages - 1),
        blocks=blocks,
        held=EMBED * (first == 0) + BLOCK * blocks + HEAD * (last == layers + 2),
    )


def stepped(name: str, rank: int, world: int, **options: Any) -> tuple[dict[str, int], dict[str, int]]:
    """(calls of the first step of this rank, those that the table says)."""
    with rank_of(rank, world) as tools:
        strategy = of_worker.build(Setup(name, TrainSpec(strategies=(name,), options=options), tools))
        calls = calls_of_a_step(strategy)
        wanted = CALLS[name](of(strategy))
        return dict(calls.counts), {operation: count for operation, count in wanted.items() if count}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", CALLS)
def test_the_calls_of_a_step(name: str, world: int) -> None:
    """Of the first rank, one in the middle, and the last."""
    for rank in (0, world // 2 + 1, world - 1):
        made, wanted = stepped(name, rank, world)
        assert made == wanted, f"rank {rank} of {world}"


PARTS = 4 + 2
OF_FSDP = {"all_gather": 2 * PARTS, "reduce_scatter": PARTS}


@pytest.mark.parametrize(
    ("name", "options", "wanted"),
    [
        ("ddp", {"accumulate": 4}, {"all_reduce": 1}),
        ("fsdp", {"accumulate": 2}, {"all_gather": 2 * 2 * PARTS, "reduce_scatter": PARTS}),
        ("fsdp", {"reshard": False}, {"all_gather": PARTS, "reduce_scatter": PARTS}),
        ("fsdp", {"shard": "grad"}, {"all_gather": PARTS, "reduce_scatter": PARTS}),
        ("fsdp", {"shard": "hybrid"}, {**OF_FSDP, "all_reduce": PARTS}),
        ("fsdp", {"wrap": "model"}, {"all_gather": 2, "reduce_scatter": 1}),
        (
            "tp_fsdp",
            {"accumulate": 2},
            {"all_gather": 24, "reduce_scatter": PARTS, "all_reduce": 2 * of_blocks(4)},
        ),
        ("model", {}, {"send": 1, "recv": 1, "all_reduce": EMBED}),
    ],
)
def test_the_calls_of_a_step_with_options(name: str, options: dict[str, Any], wanted: dict[str, int]) -> None:
    made, _ = stepped(name, 0, 64, **options)
    assert made == wanted


@pytest.mark.parametrize(
    "name", [name for name in CALLS if name in ("tensor", "context", "ring", "pipeline", "model")]
)
def test_no_more_ranks_share_a_model_than_a_server_has_gpus(name: str) -> None:
    with rank_of(4095, 4096) as tools:
        strategy = of_worker.build(Setup(name, TrainSpec(strategies=(name,)), tools))
        assert (strategy.replica, strategy.replicas, strategy.setup.sharing) == (511, 512, sharing.MOST)
        assert strategy.holders in (512, 4096)
        assert isinstance(strategy.model, nn.Module)


@pytest.mark.parametrize(
    "name", ["tensor", "context", "ring", "pipeline", "model", "three_d", "tp_fsdp", "tp_moe"]
)
def test_a_world_that_cannot_be_grouped_is_told_so(name: str) -> None:
    with rank_of(0, 4099) as tools, pytest.raises(CannotTrain, match="4099 ranks cannot be split into groups of"):
        of_worker.build(Setup(name, TrainSpec(strategies=(name,)), tools))
