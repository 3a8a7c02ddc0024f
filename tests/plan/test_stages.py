import pytest

from nccltool.plan import models, stages
from nccltool.plan.layout import ParallelLayout
from tests.plan.samples import LLAMA_8B


@pytest.mark.parametrize("name", ["llama-3-8b", "deepseek-v3", "mixtral-8x7b"])
@pytest.mark.parametrize("pipeline", [1, 2, 3, 8])
def test_ranks_of_a_pipeline_have_all_weights_together(name: str, pipeline: int) -> None:
    model = models.of_word(name)
    layout = ParallelLayout(pipeline=pipeline)
    assert sum(stages.of_rank(model, layout, rank).total for rank in range(pipeline)) == model.parameters


def test_a_tied_table_is_on_both_ends() -> None:
    model = models.of_word("llama-3.2-1b")
    total = sum(stages.of_rank(model, ParallelLayout(pipeline=2), rank).total for rank in range(2))
    assert total == model.parameters + model.vocabulary * model.width


def test_tensor_parallelism_splits_products_and_not_norms() -> None:
    whole, half = (stages.of_rank(LLAMA_8B, ParallelLayout(tensor=degree), 0) for degree in (1, 2))
    norms = 32 * 2 * 4096
    assert half.blocks - norms == (whole.blocks - norms) // 2


def test_experts_are_spread() -> None:
    deepseek = models.of_word("deepseek-v3")
    whole, some = (stages.of_rank(deepseek, ParallelLayout(expert=degree), 0) for degree in (1, 64))
    assert some.routed == whole.routed // 64
    assert (some.blocks, some.expert_layers, some.layers) == (whole.blocks, 58, 61)


@pytest.mark.parametrize(
    ("schedule", "ends"), [("gpipe", 16), ("1f1b", 1), ("zero-bubble", 4), ("interleaved", 1)]
)
def test_gpipe_has_the_logits_of_all_micro_batches(schedule: str, ends: int) -> None:
    layout = ParallelLayout(pipeline=4, schedule=schedule)
    assert stages.ends_in_flight(layout, stages.in_flight(layout, 3, 16)) == ends


@pytest.mark.parametrize(
    ("schedule", "sent"),
    [("1f1b", (1, 2, 2, 1)), ("interleaved", (3, 4, 4, 3)), ("zbv", (2, 4, 4, 2))],
)
def test_a_rank_sends_to_stages_of_others(schedule: str, sent: tuple[int, ...]) -> None:
    layout = ParallelLayout(pipeline=4, schedule=schedule)
    assert tuple(stages.messages(layout, rank) for rank in range(4)) == sent


def test_the_end_of_a_v_is_where_it_began() -> None:
    layout = ParallelLayout(pipeline=4, schedule="zbv")
    assert [stages.has_head(layout, rank) for rank in range(4)] == [True, False, False, False]


@pytest.mark.parametrize(
    ("schedule", "ranks", "micro_batches", "share"),
    [("1f1b", 2, 8, 1 / 8), ("gpipe", 8, 32, 7 / 32), ("interleaved", 8, 32, 7 / 64), ("zbv", 4, 8, 3 / 48)],
)
def test_the_bubble(schedule: str, ranks: int, micro_batches: int, share: float) -> None:
    layout = ParallelLayout(pipeline=ranks, schedule=schedule)
    assert stages.bubble(layout, micro_batches) == pytest.approx(share)
