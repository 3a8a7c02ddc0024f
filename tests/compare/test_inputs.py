"""What names runs to compare: files of nccl-tests, and words that name none."""

import pytest

from tests.cli.test_compare import kept
from tests.conftest import Nccltool
from tests.interop.importers.samples import FOLDER


def test_output_of_nccl_tests(nccltool: Nccltool) -> None:
    file = str(FOLDER / "all_reduce-2.19.6.txt")
    said = nccltool("compare", file, file)
    assert said.code in (0, 4)
    assert "time: median over the runs of their means" in said.out
    assert "A and B have runs in common" in said.out
    assert nccltool("compare", file, kept(1)).code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "nosuch", "latest"), "'nosuch' is not a run"),
        (("compare", "latest", "latest"), "there is no run under"),
        (("compare", "a,,b", "latest"), "'a,,b' has an empty place"),
        (("compare", "baseline:x", "latest"), "there are no baselines"),
    ],
)
def test_bad_words(nccltool: Nccltool, words: tuple[str, ...], message: str) -> None:
    said = nccltool(*words)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err
