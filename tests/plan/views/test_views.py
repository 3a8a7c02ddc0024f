"""What a plan shows to people."""

from dataclasses import replace

import pytest

from nccltool.core.look import PLAIN
from nccltool.plan import views
from tests.plan.samples import LLAMA_8B, plan


def test_formats() -> None:
    assert views.FORMATS == ("table", "json", "markdown")


def test_the_table_begins_with_the_answer() -> None:
    lines = views.renderer("table")(plan(64)).splitlines()
    assert lines[0].startswith("PASS plan: llama-3-8b on 64 GPUs (h100): fsdp")
    assert "8.03B parameters, 32 layers; 256 sequences of 8192 tokens per step; mixed, adamw-fused" in lines[1]
    assert any(line.strip().startswith("1 trillion tokens: ") for line in lines)


def test_the_table_has_a_bar_for_each_term_of_memory() -> None:
    made = plan(64)
    text = views.renderer("table", replace(PLAIN, unicode=False))(made)
    memory = made.strategies[0].memory
    assert f"activations {memory.activations / 2**30:>10.1f} GiB  ####" in text
    assert f"total {memory.total / 2**30:>16.1f} GiB of 74.5" in text


def test_what_does_not_fit_is_a_failure_with_a_remedy() -> None:
    text = views.renderer("table")(plan(1))
    assert text.startswith("FAIL plan: llama-3-8b does not fit on 1 GPU (h100)\n")
    assert "-> use --gpus " in text


@pytest.mark.parametrize("form", views.FORMATS)
def test_a_name_acts_on_no_screen_and_no_page(form: str) -> None:
    model = replace(LLAMA_8B, name="\x1b[31m<script>|x")
    text = views.renderer(form)(plan(64, model))
    assert "\x1b" not in text
    assert form != "markdown" or "<script>" not in text


def test_markdown_is_a_table_for_each_question() -> None:
    lines = views.renderer("markdown")(plan(64)).splitlines()
    assert lines[0].startswith("## plan: llama-3-8b on 64 GPUs")
    assert "| memory of a GPU | GiB |" in lines
    assert sum(line.startswith("| fsdp") for line in lines) >= 1


def test_few_strategies_are_shown_unless_all_are_asked_for() -> None:
    made = plan(64)
    assert "other kinds; -v shows all" in views.renderer("table")(made)
    assert "-v shows all" not in views.renderer("table", replace(PLAIN, verbose=True))(made)
