"""Which strategy a plan chooses, and what it says of the others."""

from dataclasses import replace

import pytest

from nccltool.plan import choice, models, search
from nccltool.plan.model import Model
from nccltool.plan.search import Wanted
from tests.plan.samples import H100, LLAMA_8B, plan, recipe

RULES = [
    # model, GPUs, sequence -> what the choice has: rules that frameworks publish
    ("gpt2", 8, 1024, {"pipeline": 1, "tensor": 1}),  # fits: data parallel alone
    ("llama-3-8b", 64, 4096, {"sharding": "parameters", "tensor": 1, "pipeline": 1}),
    ("llama-3-70b", 64, 4096, {"sharding": "parameters", "pipeline": 1}),
]


@pytest.mark.parametrize(("name", "gpus", "sequence", "expected"), RULES, ids=[row[0] for row in RULES])
def test_the_choice_follows_published_rules(
    name: str, gpus: int, sequence: int, expected: dict[str, object]
) -> None:
    batch = recipe(4 * gpus, sequence)
    found, _ = choice.planned(models.of_word(name), batch, H100, None, Wanted(gpus=gpus))
    assert found[0].fits
    assert {key: getattr(found[0].layout, key) for key in expected} == expected


def test_a_small_model_is_not_split() -> None:
    """It fits as it is, and reducing its gradients hides behind the backward pass."""
    found, _ = choice.planned(models.of_word("125M"), recipe(512, 1024), H100, None, Wanted(gpus=8))
    assert found[0].layout.strategy == "ddp"
    assert found[0].reasons == ("all of the model fits on each GPU, so no parameters have to be gathered",)


def test_each_strategy_that_is_not_chosen_says_why() -> None:
    found = plan(64).strategies
    assert all(one.reasons for one in found)
    too_large = [one for one in found if not one.fits]
    assert too_large
    assert all("a GPU has 74.5 GiB" in one.reasons[0] for one in too_large)
    slower = [one for one in found[1:] if one.fits]
    assert all("slower per step" in one.reasons[0] or "as fast as" in one.reasons[0] for one in slower)


def test_kinds_are_there_once_and_what_fits_comes_first() -> None:
    found = plan(64).strategies
    assert [one.fits for one in found] == sorted((one.fits for one in found), reverse=True)
    assert len({one.layout.name for one in found}) == len(found)


def test_more_bandwidth_across_nodes_never_makes_the_choice_slower() -> None:
    times = []
    for rate in (1e9, 5e9, 45e9, 400e9):
        machine = replace(H100, across_bytes_per_s=rate)
        found, _ = choice.planned(LLAMA_8B, recipe(128), machine, None, Wanted(gpus=32))
        times.append(found[0].time.total)
    assert times == sorted(times, reverse=True) or max(times[1:]) <= times[0] * (1 + choice.TIE)


def test_a_slow_network_keeps_parameters_in_the_node() -> None:
    """Sharding over all ranks would gather over the network in every micro-batch."""
    machine = replace(H100, across_bytes_per_s=1e9)
    found, _ = choice.planned(LLAMA_8B, recipe(512), machine, None, Wanted(gpus=32))
    layout = found[0].layout
    assert layout.tensor * layout.sharers <= machine.gpus or layout.pipeline > 1


def test_nothing_is_searched_that_cannot_be() -> None:
    odd = Model(name="odd", layers=3, width=96, heads=3, kv_heads=3, head_width=32, hidden=288, vocabulary=1000)
    shapes = search.shapes(odd, Wanted(gpus=8), 1024, 8)
    possible = [
        layout for shape in shapes for ways in search.batches(shape, odd, recipe(16, 1024)) for layout in ways
    ]
    assert {layout.tensor for layout in possible} == {1}  # three heads
    assert {layout.pipeline for layout in possible} <= {1, 2, 3}
