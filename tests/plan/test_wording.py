import pytest

from nccltool.plan import models, wording
from tests.plan.samples import plan


@pytest.mark.parametrize(("count", "text"), [(8_030_261_248, "8.03B"), (124_439_808, "124.4M")])
def test_numbers_of_parameters(count: int, text: str) -> None:
    assert wording.billions(count) == text


def test_the_answer_is_a_sentence() -> None:
    made = plan(64)
    assert wording.headline(made).startswith("plan: llama-3-8b on 64 GPUs (h100): fsdp32+tp2, ")
    assert wording.headline(plan(1)) == "plan: llama-3-8b does not fit on 1 GPU (h100)"


def test_experts_are_told_by_what_is_active() -> None:
    made = plan(64, models.of_word("mixtral-8x7b"))
    assert wording.what(made).startswith("46.70B parameters (12.88B active), 32 layers; 256 sequences")


def test_the_whole_training() -> None:
    made = plan(64)
    days = 1e12 / made.strategies[0].tokens_per_s / 86400
    hours = 24 * days * 64
    said = f"1 trillion tokens: {days:.1f} days, {hours:,.0f} GPU hours, without failures and restarts"
    assert wording.training(made) == said
    assert wording.training(plan(1)) is None
