"""From the words of `nccltool train` to a job."""

from typing import Any

import click
import pytest

from nccltool import strategies, trainjobs
from nccltool.cli.train import command
from nccltool.errors import BadInput
from nccltool.model import TrainSpec


def spec(*words: str, fault: str = "") -> TrainSpec:
    options: dict[str, Any] = command.make_context("train", list(words), parent=click.Context(command)).params
    order = trainjobs.from_options(options, {"NCCLTOOL_FAULT": fault} if fault else {})
    assert order.job.kind == "train"
    assert order.job.train is not None
    return order.job.train


def test_all_is_every_file_of_the_folder() -> None:
    assert spec("all").strategies == strategies.NAMES
    assert {"ddp", "fsdp", "pipeline", "tensor", "zero1"} <= set(strategies.NAMES)


def test_strategies_are_taken_once_in_their_order() -> None:
    assert spec("tp+fsdp,ddp, tp-fsdp,3d").strategies == ("tp_fsdp", "ddp", "three_d")


def test_a_size_gives_what_is_not_said() -> None:
    large = spec("ddp", "--size", "125m", "--layers", "2", "-d", "double")
    assert (large.layers, large.width, large.heads, large.vocabulary) == (2, 768, 12, 50304)
    assert large.dtype == "float64"
    assert spec("ddp") == TrainSpec(strategies=("ddp",))


@pytest.mark.parametrize(
    ("words", "fault", "message", "remedy"),
    [
        (("dpd",), "", "strategy 'dpd' is not known", "did you mean ddp? choose from "),
        (("",), "", "strategy '' is not known", "choose from "),
        (("ddp", "--width", "65"), "", "--width 65 cannot be divided by --heads 4", "make it a multiple"),
        (("ddp", "-d", "int8"), "", "--dtype: 'int8' is not a type to train in", "choose from float32, "),
        (("ddp",), "kill:rank=9", "NCCLTOOL_FAULT: there is no rank 9 in this run", "ranks are counted from 0"),
    ],
)
def test_a_word_that_cannot_be_used(words: tuple[str, ...], fault: str, message: str, remedy: str) -> None:
    with pytest.raises(BadInput) as error:
        spec(*words, fault=fault)
    assert error.value.message == message
    assert error.value.remedy.startswith(remedy)
