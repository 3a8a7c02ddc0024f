"""Lines of the help, unknown names in one wording, groups that are commands too."""

from typing import Any

import click
import pytest

from nccltool.cli.tree import DefaultGroup, Option, leaves
from tests.cli.test_bad_words import last_sentence
from tests.conftest import Nccltool


def _option(*names: str, **settings: Any) -> click.Option:
    return Option(names, **settings)


@pytest.mark.parametrize(
    ("made", "term", "text"),
    [
        (_option("--op", metavar="OP", help="Do."), "    --op OP", "Do."),
        (_option("-b", "--bytes", metavar="SIZE", help="Do."), "-b, --bytes SIZE", "Do."),
        (_option("-q", "--quiet", is_flag=True, help="Do."), "-q, --quiet", "Do."),
        (_option("--at", is_flag=False, flag_value="auto", metavar="PATH", help="Do."), "    --at [PATH]", "Do."),
        (_option("--of", type=click.Choice(["a", "b"]), help="Do."), "    --of [a|b]", "Do."),
        (
            _option("--n", type=click.IntRange(1, 9), default=3, show_default=True, metavar="N", help="Do."),
            "    --n N",
            "Do.  [default:\xa03]",
        ),
        (
            _option("--t", type=float, default=30.0, show_default=True, metavar="S"),
            "    --t S",
            "  [default:\xa030]",
        ),
    ],
)
def test_a_line_of_the_help(made: click.Option, term: str, text: str) -> None:
    assert made.get_help_record(click.Context(click.Command("x"))) == (term, text)


@pytest.mark.parametrize(
    ("words", "sentence", "remedy"),
    [
        ("prob", "unknown command 'prob'", "did you mean probe? nccltool --help lists them"),
        ("zzzzzz", "unknown command 'zzzzzz'", "nccltool --help lists them"),
        ("--versoin", "unknown option '--versoin'", "did you mean --version? nccltool --help lists them"),
        ("probe --nods 2", "unknown option '--nods'", "did you mean --nodes? nccltool probe --help lists them"),
        ("probe --zzzzzz", "unknown option '--zzzzzz'", "nccltool probe --help lists them"),
        ("probe -Z", "unknown option '-Z'", "nccltool probe --help lists them"),
        ("baseline sav", "unknown command 'sav'", "did you mean save? nccltool baseline --help lists them"),
        ("help prob", "unknown command 'prob'", "did you mean probe? nccltool --help lists them"),
    ],
)
def test_unknown_names(words: str, sentence: str, remedy: str, nccltool: Nccltool) -> None:
    said = nccltool(*words.split())
    assert (said.code, said.out) == (2, "")
    assert (last_sentence(said.err), said.err.splitlines()[1]) == (sentence, f"  -> {remedy}")


def test_a_group_that_is_a_command_too() -> None:
    def made(name: str) -> click.Command:
        return click.Command(name, callback=lambda: name, short_help=name)

    both = DefaultGroup(made("runs"), made("rm"))
    root = click.Group("root", {"runs": both, "x": made("x")})
    assert [path for path, _ in leaves(root)] == [("runs",), ("runs", "rm"), ("x",)]
    assert root.main(["runs"], standalone_mode=False) == "runs"
    assert root.main(["runs", "rm"], standalone_mode=False) == "rm"
