"""Topology dumps of NCCL."""

import pytest

from nccltool.localize.topologies import nccl_dump


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<system version="1">', True),
        ('<?xml version="1.0"?>\n<graphs version="1">', True),
        ("system leaf1", False),
    ],
)
def test_it_is_told_from_other_text(text: str, expected: bool) -> None:
    assert nccl_dump.recognises(text) is expected
