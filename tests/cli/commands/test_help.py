"""nccltool help."""

from tests.conftest import Nccltool


def test_help_of_all_of_one_and_of_one_in_a_group(nccltool: Nccltool) -> None:
    for words in ((), ("probe",), ("baseline",), ("baseline", "save")):
        assert nccltool("help", *words) == nccltool(*words, "--help")


def test_a_word_too_many_is_named(nccltool: Nccltool) -> None:
    said = nccltool("help", "probe", "extra")
    assert (said.code, said.out) == (2, "")
    assert said.err == "Error: unexpected argument 'extra'\n  -> nccltool help probe\n"
    assert nccltool("help", "train", "ddp").code == 0  # a word that train takes
