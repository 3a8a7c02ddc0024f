"""Options that all commands share: their twins in the environment, and exit codes in another style."""

import click
import pytest

from nccltool.cli.options import Number
from nccltool.cli.root import cli
from nccltool.cli.tree import leaves
from nccltool.core import verdicts
from tests.cli.test_bad_words import last_sentence
from tests.conftest import Nccltool


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("NCCLTOOL_DTYPE", "bogus", "--dtype: unknown type 'bogus'"),
        ("NCCLTOOL_OP", "bogus", "--op: unknown operation 'bogus'"),
        ("NCCLTOOL_REDUCE_OP", "bogus", "--reduce-op: unknown reduction 'bogus'"),
        ("NCCLTOOL_MIN_BYTES", "bogus", "--min-bytes: 'bogus' is not a size"),
        ("NCCLTOOL_SIZES", "bogus", "--sizes: 'bogus' is not a size"),
        ("NCCLTOOL_NPROC_PER_NODE", "bogus", "--nproc-per-node 'bogus' is not a number of ranks"),
        ("NCCLTOOL_FAULT", "bogus", "NCCLTOOL_FAULT: 'bogus' is not an action"),
        (
            "NCCLTOOL_BACKEND",
            "bogus",
            "--backend bogus: expected one of auto, nccl, gloo",
        ),
        ("NCCLTOOL_MIN_BUSBW", "nan", "--min-busbw nan: expected a finite number of at least 0"),
    ],
)
def test_variables(variable: str, value: str, sentence: str, nccltool: Nccltool) -> None:
    said = nccltool("probe", **{variable: value})
    assert (said.code, said.out) == (2, "")
    named = "" if variable in sentence else f" (set by {variable})"
    assert last_sentence(said.err) == f"{sentence}{named}"


def test_every_number_with_a_fraction_is_finite() -> None:
    """click's own numbers take nan, which passes every range."""
    kinds = {
        (" ".join(path), parameter.name): parameter.type
        for path, command in leaves(cli)
        for parameter in command.params
        if isinstance(parameter.type, click.types.FloatParamType)
    }
    assert ("train", "grace") in kinds
    assert [place for place, kind in kinds.items() if not isinstance(kind, Number)] == []


def test_a_word_is_stronger_than_its_variable(nccltool: Nccltool) -> None:
    said = nccltool("probe", "-d", "wrong", NCCLTOOL_DTYPE="bogus")
    assert last_sentence(said.err) == "--dtype: unknown type 'wrong'"


@pytest.mark.parametrize(
    ("words", "env", "code"),
    [
        (("--only", "inventory"), {}, 0),
        (("--only", "doctor"), {"NCCL_SOCKET_IFNAME": "ib9"}, 2),
        (("--only", "doctor", "--observe"), {"NCCL_SOCKET_IFNAME": "ib9"}, 0),
        (("--only", "pairs"), {}, 3),
        (("--only", "inventory", "--metrics", "textfile:/proc/none.prom"), {}, 1),
        (("--suite", "none-such"), {}, 3),
    ],
)
@pytest.mark.parametrize("style", [("--exit-style", "nagios"), ("--format", "nagios")])
def test_exit_codes_of_a_plugin(
    words: tuple[str, ...], env: dict[str, str], code: int, style: tuple[str, ...], nccltool: Nccltool
) -> None:
    done = nccltool("preflight", "--nodes", "1", "-q", *words, *style, **env)
    assert done.code == code
    if "--format" in style:
        assert done.out.startswith(f"NCCLTOOL {verdicts.PLUGIN_WORDS[code]} - ")
    plain = nccltool("preflight", "--nodes", "1", "-q", *words, *style, "--exit-style", "default", **env)
    assert plain.code == {0: 0, 1: 0, 2: 1, 3: 2 if "none-such" in words else 4}[code]


@pytest.mark.parametrize(
    ("command", "words", "env", "code"),
    [
        ("doctor", ("--select", "NETIF"), {"NCCL_SOCKET_IFNAME": "ib9"}, 2),
        ("doctor", ("--select", "DBG"), {"NCCL_DEBUG": "BOGUS"}, 1),
        ("doctor", ("--select", "NETIF"), {}, 0),
        ("doctor", ("--select", "NOSUCH"), {}, 3),
        ("probe", ("--op", "bogus"), {}, 3),
        ("train", ("bogus",), {}, 3),
    ],
)
def test_a_plugin_has_its_own_exit_codes(
    command: str, words: tuple[str, ...], env: dict[str, str], code: int, nccltool: Nccltool
) -> None:
    assert nccltool(command, *words, "--exit-style", "nagios", **env).code == code
