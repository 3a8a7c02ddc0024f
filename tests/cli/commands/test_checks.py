"""nccltool checks: words in, text and exit code out."""

import pytest

from nccltool.preflight import suite_reader
from tests.conftest import Nccltool


def test_the_list_has_every_file(nccltool: Nccltool) -> None:
    said = nccltool("checks", "list")
    assert (said.code, said.err) == (0, "")
    assert [line.split()[0] for line in said.out.splitlines() if line.startswith("  ")] == [
        file.stem for file in suite_reader.files()
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "preflite"), "did you mean preflight?"),
        (("show",), "checks show takes one name"),
        (("list", "x"), "checks list takes no name"),
        (("validate", "/nowhere/x.toml"), "/nowhere/x.toml"),
        (("lst",), "lst: expected one of"),
    ],
)
def test_words_that_cannot_be_used(words: tuple[str, ...], said: str, nccltool: Nccltool) -> None:
    done = nccltool("checks", *words)
    assert done.code == 2 or (done.code, words[0]) == (1, "validate")
    assert said in done.err + done.out
    assert "Traceback" not in done.err
