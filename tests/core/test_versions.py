"""Versions, as NCCL, wheels and people write them."""

import pytest

from nccltool.core.versions import Version, parse


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.27.7", Version(2, 27, 7)),
        ("2.27", Version(2, 27)),
        ("v2.27.7-1", Version(2, 27, 7)),
        ("NCCL version 2.27.7+cuda12.9", Version(2, 27, 7)),
        ("22707", Version(2, 27, 7)),
        ("2804", Version(2, 8, 4)),
        ("2.13.0+cu130", Version(2, 13)),
        ("newest", None),
        ("", None),
        ("2", None),
    ],
)
def test_parse(text: str, version: Version | None) -> None:
    assert parse(text) == version


def test_they_are_ordered_as_numbers() -> None:
    assert Version(2, 9, 9) < Version(2, 10) < Version(2, 10, 3)
    assert str(Version(2, 10)) == "2.10.0"
