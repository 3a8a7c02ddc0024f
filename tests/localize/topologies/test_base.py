"""Folded names of nodes."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.localize.topologies import base


def test_names() -> None:
    assert sorted(base.unfolded("n[1-2],m", "f")) == ["m", "n1", "n2"]


@pytest.mark.parametrize("text", ["n[1-9999999]", "n[1-"])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="f: "):
        base.unfolded(text, "f")
