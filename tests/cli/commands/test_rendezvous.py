"""nccltool rendezvous with words that it cannot use; its ranks: tests/worker/test_rendezvous.py."""

import pytest

from tests.conftest import Nccltool


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--nproc-per-node", "1"), "--nproc-per-node 1: expected a number from 2 to 64"),
        (("--rdzv-endpoint", "n1"), "--rdzv-endpoint 'n1' is not HOST:PORT"),
    ],
)
def test_words_that_cannot_be_used(words: tuple[str, ...], said: str, nccltool: Nccltool) -> None:
    ended = nccltool("rendezvous", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
