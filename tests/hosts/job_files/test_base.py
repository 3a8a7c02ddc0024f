"""What a word assigns."""

import pytest

from nccltool.hosts.job_files import base


@pytest.mark.parametrize(
    ("word", "pair"),
    [
        ("A=1", ("A", "1")),
        ("A=", ("A", "")),
        ("A=b=c", ("A", "b=c")),
        ("A", None),
        ("1A=2", None),
        ("a.b=1", None),
    ],
)
def test_parted(word: str, pair: tuple[str, str] | None) -> None:
    assert base.parted(word) == pair
