"""What layers save, against figures of papers and of torch's memory tracker."""

import pytest

from nccltool.plan import activations, models
from nccltool.plan.recipe import PRECISIONS, Recompute
from tests.plan.samples import LLAMA_8B, recipe


@pytest.mark.parametrize(
    ("how", "widths"),
    [("none", 27.2), ("selective", 6.95), ("full", 1.0)],
)
def test_a_layer_of_llama_saves_what_torch_counts(how: Recompute, widths: float) -> None:
    """In widths of 16-bit numbers per token: torchtitan's layers in torch's memory tracker, 2 and 1 sequences."""
    found = activations.saved_by_layer(LLAMA_8B, PRECISIONS["mixed"], how, False, False).of(1)
    found /= 2 * LLAMA_8B.width
    assert found == pytest.approx(widths, rel=0.05)


def test_a_layer_of_gpt_saves_what_the_paper_counts() -> None:
    """Korthikanti: 34 bytes per element of the width, of which 2 are masks of dropout, and without scores."""
    gpt3 = models.of_word("gpt3-175b")
    saved = activations.saved_by_layer(gpt3, PRECISIONS["bf16"], "none", False, False)
    assert saved.of(1) == (34 - 2) * gpt3.width + 4 * gpt3.heads  # and sums of attention's rows


def test_ranks_of_tensor_parallelism_save_what_they_gather() -> None:
    saved = activations.saved_by_layer(LLAMA_8B, PRECISIONS["bf16"], "none", False, False)
    assert saved.gathered == 2 * 2 * LLAMA_8B.width
    assert saved.of(8) == saved.split / 8 + saved.gathered


def test_autocast_leaves_residuals_in_float32() -> None:
    short, autocast = (
        activations.saved_by_layer(LLAMA_8B, PRECISIONS["mixed"], "full", False, is_autocast).of(1)
        for is_autocast in (False, True)
    )
    assert autocast == 2 * short


def test_experts_save_what_active_ones_do() -> None:
    mixtral = models.of_word("mixtral-8x7b")
    dense, sparse = (
        activations.saved_by_layer(mixtral, PRECISIONS["mixed"], "none", has, False).of(1) for has in (False, True)
    )
    assert sparse - dense == 2 * (2 * (mixtral.width + 4 * 14336) - 4 * mixtral.hidden)


def test_logits_are_there_in_two_types_and_two_more_copies() -> None:
    """At 16,384 tokens: 11 GiB saved and 15.7 GiB of temporaries (torch's memory tracker)."""
    tokens = 16384
    assert activations.kept_logits(LLAMA_8B, recipe(2)) * tokens / 2**30 == pytest.approx(11.7, abs=0.1)
    assert activations.loss_temporaries(LLAMA_8B, recipe(2)) * tokens / 2**30 == pytest.approx(15.7, abs=0.1)
    assert activations.loss_temporaries(LLAMA_8B, recipe(2, is_loss_compiled=True)) == 0
