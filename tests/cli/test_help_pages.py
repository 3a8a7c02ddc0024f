"""Words for which there is no page: what is like them."""

import pytest

from tests.conftest import Nccltool


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("NCCL_IB_GID_INDX", "NCCL_IB_GID_INDEX"),
        ("quoted-vale", "quoted-value"),
        ("SYN999", "SYN"),
        ("NccltoolWrongDat", "NccltoolWrongData"),
    ],
)
def test_explain_names_what_is_like_it(word: str, near: str, nccltool: Nccltool) -> None:
    said = nccltool("explain", word)
    assert (said.code, said.out) == (2, "")
    assert near in said.err
