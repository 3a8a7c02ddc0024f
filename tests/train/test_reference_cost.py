"""What the reference costs, and who has no room for it."""

from dataclasses import replace

import pytest

from nccltool.train import reference_cost
from nccltool.train.job import TrainSpec
from nccltool.train.options import SIZES
from nccltool.train.reference_cost import FreeMemory, ModelNumbers, ReferenceNeeds

GB = 10**9
OF_125M = TrainSpec(strategies=("ddp",), **SIZES["125m"])  # type: ignore[arg-type]
NUMBERS_125M = ModelNumbers(all=163_000_000, largest=50304 * 768, mine=163_000_000)


def test_125m_on_8_gpus() -> None:
    """8 sequences of 1024 tokens in a micro-batch: 8192 x (17 x 768 x 12 + 4 x 50304) x 4 B of activations."""
    needed = reference_cost.needs(OF_125M, NUMBERS_125M, sequences=64, micro_batches=8)
    assert needed == ReferenceNeeds(
        model=652_000_000,
        gradients=652_000_000,
        optimizer=0,
        activations=11_727_273_984,
        comparison=38_633_472 * 20 + 2**28,
        beside=652_000_000 + 11_727_273_984,
    )
    assert needed.terms == (
        "the strategy's own gradients, optimizer, and activations 12.4 GB, model 0.7 GB, gradients 0.7 GB, "
        "activations 11.7 GB, comparison 1.0 GB"
    )


@pytest.mark.parametrize(
    ("changes", "term", "factor"),
    [
        ({"momentum": 0.9}, "optimizer", 652_000_000),
        ({"dtype": "float64"}, "model", 2 * 652_000_000),
        ({"options": {"comm_hook": "bf16"}}, "gradients", 2 * 652_000_000),
        ({"options": {"comm_hook": "powersgd"}}, "gradients", 3 * 652_000_000),
        ({"options": {"sync_batch_norm": True}}, "activations", 8 * 11_727_273_984),
        ({"options": {"comm_hook": "topk"}}, "gradients", (3 + 64 // OF_125M.batch) * 652_000_000),
    ],
)
def test_options_that_take_memory(changes: dict[str, object], term: str, factor: int) -> None:
    spec = replace(OF_125M, **changes)  # type: ignore[arg-type]
    assert getattr(reference_cost.needs(spec, NUMBERS_125M, 64, 8), term) == factor


def test_gradients_side_by_side_are_bounded() -> None:
    """Of 163 million parameters and 512 micro-batches all of them would be 668 GB."""
    needed = reference_cost.needs(OF_125M, NUMBERS_125M, sequences=8 * 512, micro_batches=512)
    assert needed.comparison < 1.1 * GB


def rank(free: int, needed: int = 10, place: int = 0) -> FreeMemory:
    return FreeMemory(place=place, bytes=free * GB if free >= 0 else -1, needed=needed * GB)


@pytest.mark.parametrize(
    ("ranks", "reason"),
    [
        ([rank(80, place=0), rank(80, place=1)], ""),
        ([rank(80, place=0), rank(9, place=1)], "need 10.0 GB of memory, but rank 1 has 9.0 GB free"),
        (
            [rank(18), rank(18)],
            "need 10.0 GB of memory, but rank 0 has 9.0 GB free, its share among 2 ranks",
        ),
        ([rank(9, 9, 0), rank(5, 10, 1), rank(8, 10, 2)], "need 10.0 GB of memory, but rank 1 has 5.0 GB free"),
        ([rank(-1), rank(-1)], ""),
    ],
    ids=["enough", "one has less", "shared", "the one that lacks most", "not known"],
)
def test_too_little(ranks: list[FreeMemory], reason: str) -> None:
    assert reference_cost.too_little("fsdp", ranks) == (f"fsdp and its reference {reason}" if reason else "")


NEEDED = ReferenceNeeds(model=1, gradients=1, optimizer=0, activations=1, comparison=1, beside=1)


@pytest.mark.parametrize(
    ("needed", "first_s", "message"),
    [
        (NEEDED, 0.01, None),
        (
            NEEDED,
            1.5,
            "ddp and its reference need about 0.0 MB on each rank, and the reference takes about 96 s: "
            "1 step of 64 micro-batches, the first of which took 1.5 s",
        ),
        (
            replace(NEEDED, model=5 * GB),
            0.01,
            "ddp and its reference need about 5.0 GB on each rank, and the reference takes about 640 ms: "
            "1 step of 64 micro-batches, the first of which took 10 ms",
        ),
    ],
)
def test_what_takes_much_is_announced(needed: ReferenceNeeds, first_s: float, message: str | None) -> None:
    finding = reference_cost.announced("ddp", needed, 1, 64, first_s)
    assert (finding.message if finding else None) == message
