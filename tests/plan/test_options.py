from pathlib import Path
from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.plan import machines, options, recipe, words
from nccltool.plan.options import PlanOptions

GIVEN: dict[str, Any] = {
    "gpus": 64,
    "machine": None,
    "run": None,
    "sequence": None,
    "step_sequences": None,
    "micro_batch": None,
    "training_precision": "mixed",
    "optimizer": "adamw",
    "recomputation": "auto",
    "compiled_loss": False,
    "offload": False,
    "mfu": None,
    "strategy": None,
    "tp": None,
    "cp": None,
    "pp": None,
    "ep": None,
    "schedule": "1f1b",
    "tokens": None,
}


def order(**changes: Any) -> options.PlanOrder:
    return options.from_options("llama-3-8b", PlanOptions(**(GIVEN | changes)), Path("/nonexistent"))


def test_the_words_of_the_command_line_are_those_that_are_known() -> None:
    assert set(words.PRECISION_WORDS) == set(recipe.PRECISIONS)
    assert set(words.OPTIMIZER_WORDS) == set(recipe.OPTIMIZERS)
    assert words.RECOMPUTE_WORDS[1:] == recipe.RECOMPUTE


def test_what_is_not_given() -> None:
    made = order()
    assert (made.machine.name, made.is_assumed, made.recipe.global_batch) == ("h100-sxm-8", True, 256)
    assert (made.recipe.recompute, made.mfu, made.tokens) == (None, None, None)


@pytest.mark.parametrize(
    ("model", "asked", "sequence"), [("gpt2", None, 1024), ("7B", None, 4096), ("gpt2", 512, 512)]
)
def test_a_sequence_is_no_longer_than_the_table_of_positions(model: str, asked: int | None, sequence: int) -> None:
    given = PlanOptions(**(GIVEN | {"sequence": asked}))
    assert options.from_options(model, given, Path("/nonexistent")).recipe.sequence == sequence
    with pytest.raises(BadInput, match="--sequence 2048: gpt2 has positions for 1024 tokens"):
        options.from_options("gpt2", PlanOptions(**(GIVEN | {"sequence": 2048})), Path("/nonexistent"))


def test_what_is_given() -> None:
    made = order(machine="mi300x-8", mfu="45", tokens="1.5T", strategy="fsdp, hsdp", tp=8, recomputation="full")
    assert (made.machine.name, made.is_assumed, made.mfu, made.tokens) == (
        "mi300x-8",
        False,
        0.45,
        1_500_000_000_000,
    )
    assert (made.wanted.strategies, made.wanted.tensor, made.recipe.recompute) == (("fsdp", "hsdp"), 8, "full")


@pytest.mark.parametrize(
    ("changes", "message", "remedy"),
    [
        ({"gpus": 6, "tp": 4}, "--gpus 6 is not a multiple of --tp 4", "use --gpus 4 or 8"),
        (
            {"gpus": 12, "tp": 4, "pp": 2},
            "--gpus 12 is not a multiple of --tp 4 x --pp 2 = 8",
            "use --gpus 8 or 16",
        ),
        ({"gpus": 2, "tp": 4}, "--gpus 2 is not a multiple of --tp 4", "use --gpus 4"),
        ({"strategy": "fdsp"}, "--strategy: unknown strategy 'fdsp'", "did you mean fsdp?"),
        ({"tokens": "many"}, "--tokens 'many' is not a number of tokens", "for example --tokens 2T or 300B"),
        ({"tokens": "0"}, "--tokens '0' is not a number of tokens", "for example --tokens 2T or 300B"),
        ({"tokens": "inf"}, "--tokens 'inf' is not a number of tokens", "for example --tokens 2T or 300B"),
        ({"machine": "dgx"}, "--machine: unknown machine 'dgx'", "choose from"),
    ],
)
def test_what_cannot_be_is_one_sentence(changes: dict[str, Any], message: str, remedy: str) -> None:
    with pytest.raises(BadInput) as raised:
        order(**changes)
    assert raised.value.message == message
    assert remedy in raised.value.remedy


def test_offload_needs_the_bandwidth_of_pcie(tmp_path: Path) -> None:
    assert order(offload=True).recipe.is_offloaded
    file = tmp_path / "own.toml"
    text = (machines.folder() / "h100-sxm-8.toml").read_text()
    file.write_text("\n".join(line for line in text.splitlines() if not line.startswith("pcie =")))
    with pytest.raises(BadInput, match="the PCIe bandwidth of own is unknown"):
        order(offload=True, machine=str(file))


@pytest.mark.parametrize("percent", ["0", "101"])
def test_a_utilization_is_a_percentage(percent: str) -> None:
    with pytest.raises(BadInput, match="is not from 1 to 100 percent"):
        order(mfu=percent)
