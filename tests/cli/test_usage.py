"""Values and words that click refuses, in our wording; what is asked for by name is in test_bad_words."""

from typing import Any

import click
import pytest

from nccltool.cli.options import Number, option
from nccltool.cli.tree import Argument, PoliteCommand
from nccltool.core.errors import BadInput


def _command() -> click.Command:
    @click.command(cls=PoliteCommand)
    @option("--many", multiple=True, type=click.IntRange(1, 3))
    @option("--pair", nargs=2, type=int)
    @option("--most", type=click.FloatRange(max=0.5))
    @option("--finite", type=Number())
    @option("--dir", type=click.Path(exists=True, file_okay=False))
    @click.argument("size", cls=Argument, type=int, required=False)
    def command(**options: Any) -> None:
        """Do nothing."""

    return command


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--many", "1", "--many", "9"), "--many 9: expected a whole number from 1 to 3"),
        (("--most", "0.75"), "--most 0.75: expected a number of at most 0.5"),
        (("--finite", "inf"), "--finite inf: expected a finite number"),
        (("--finite", "\x1b[31m"), "--finite \\x1b[31m: expected a number"),
        (("--many", ""), "--many '': expected a whole number from 1 to 3"),
        (("--many", "1 2"), "--many '1 2': expected a whole number from 1 to 3"),
        (
            ("--many", "7" * 200),
            "--many " + "7" * 80 + "... (200 characters): expected a whole number from 1 to 3",
        ),
        (("--dir", __file__), f"--dir {__file__}: expected a directory, not a file"),
        (("--dir", "/no/such"), "--dir /no/such: Directory '/no/such' does not exist"),
        (("--pair", "1"), "--pair: expected a value: --pair VALUE"),
        (("x",), "SIZE x: 'x' is not a valid integer"),
        (("1", "2", "3"), "unexpected argument '2 3'"),
    ],
)
def test_the_sentence(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadInput) as error:
        _command().make_context("nccltool x", list(words))
    assert error.value.message == message
    assert error.value.remedy


def test_completion_goes_on_past_a_value_that_cannot_be() -> None:
    context = _command().make_context("x", ["--many", "9"], resilient_parsing=True)
    assert not context.params["many"]
