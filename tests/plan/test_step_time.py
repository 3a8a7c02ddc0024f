from dataclasses import replace

import pytest
from benchmarks import plan as published

from nccltool.plan import models, stages, step_time
from nccltool.plan.layout import ParallelLayout
from tests.plan.samples import H100, LLAMA_8B, recipe

COMPILED = [row for row in published.SPEED if "4 Ki" not in row.name and "less power" not in row.name]


@pytest.mark.parametrize("row", COMPILED, ids=lambda row: row.name)
def test_speed_is_that_of_published_runs(row: published.Published) -> None:
    assert row.tokens_per_s
    assert published.planned_speed(row) == pytest.approx(row.tokens_per_s, rel=0.25)


def test_a_slow_network_is_what_ddp_waits_for() -> None:
    slow = replace(H100, gpus=1, across_bytes_per_s=1e8)
    time = step_time.of(LLAMA_8B, ParallelLayout(replicate=2), recipe(2), slow, 0.6)
    assert time.exposed > 0.9 * time.total
    fast = step_time.of(LLAMA_8B, ParallelLayout(replicate=2), recipe(2), H100, 0.6)
    assert fast.exposed < 0.05 * fast.total


def test_the_interval_holds_the_usual_time() -> None:
    layout = ParallelLayout(shard=64, sharding="parameters")
    fast, slow = step_time.interval(LLAMA_8B, layout, recipe(256), H100, None)
    usual = step_time.of(LLAMA_8B, layout, recipe(256), H100, step_time.EFFICIENCY[1]).total
    assert fast < usual < slow


def test_a_stated_utilization_is_that_of_the_arithmetic() -> None:
    layout = ParallelLayout(recompute="full")
    efficiency = step_time.efficiency_of(0.4, layout, H100)
    time = step_time.of(LLAMA_8B, layout, recipe(1), H100, efficiency)
    flop = LLAMA_8B.flop_per_token(8192) * 8192
    assert flop / time.compute / H100.peak_flop_per_s == pytest.approx(0.4)


def test_offload_takes_the_update_to_the_host() -> None:
    """Llama 3.1 405B on 64 H100 took 30 s, 4 s of it for the update (Lambda's guide, chapter 5)."""
    model = replace(LLAMA_8B, layers=126, width=16384, heads=128, hidden=53248)
    layout = ParallelLayout(shard=64, sharding="parameters", recompute="full")
    asked = recipe(64, sequence=4096, precision="bf16", is_offloaded=True)
    machine = replace(H100, pcie_bytes_per_s=55e9)
    time = step_time.of(model, layout, asked, machine, step_time.EFFICIENCY[1])
    assert time.optimizer == pytest.approx(4.0, rel=0.05)
    assert time.total == pytest.approx(30, rel=0.15)
    assert time.transfer < 0.01 * time.total
    zero = replace(layout, sharding="gradients")
    assert step_time.of(model, zero, asked, machine, 0.6).transfer == pytest.approx(6.34e9 * 4 / 55e9, rel=0.01)


def test_gradients_of_experts_lengthen_no_bubble() -> None:
    """Replicas reduce them once, after the last micro-batch."""
    model = models.of_word("mixtral-8x7b")
    layout = ParallelLayout(replicate=16, expert=8, pipeline=2)
    time = step_time.of(model, layout, recipe(64), H100, 0.6)
    seconds = {one.calls.axis: one.seconds for one in time.calls}
    bubble = stages.bubble(layout, layout.micro_batches(recipe(64)))
    assert seconds["replicate"] > 0
    assert time.bubble == pytest.approx((time.compute + seconds["expert"]) * bubble)
    assert time.exposed > seconds["replicate"] + seconds["expert"]


def test_a_rank_updates_its_share_of_experts() -> None:
    """Of 46.7 billion weights, which 16 ranks split among them, 28 bytes each: two moments of 4 bytes and the
    parameter, read and written, and the gradient, read."""
    layout = ParallelLayout(shard=16, sharding="parameters", expert=8)
    time = step_time.of(models.of_word("mixtral-8x7b"), layout, recipe(64), H100, 0.6)
    assert time.optimizer == pytest.approx(46.7e9 / 16 * 28 / 3.35e12, rel=0.001)
