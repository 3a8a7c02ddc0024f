"""nccltool help."""

from tests.conftest import Nccltool


def test_help_of_all_of_one_and_of_one_in_a_group(nccltool: Nccltool) -> None:
    for words in ((), ("probe",), ("baseline",), ("baseline", "save")):
        assert nccltool("help", *words) == nccltool(*words, "--help")
