"""Names of nodes that met."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop.pair_inputs import base


def test_names() -> None:
    assert base.members("f", ["n1", "n2", "n3"]) == ("n1", "n2", "n3")


@pytest.mark.parametrize("names", [["n1", ""], ["n1", "n1"], ["n1", "n" * 256]])
def test_what_can_be_no_nodes(names: list[str]) -> None:
    with pytest.raises(BadInput, match=r"^f: "):
        base.members("f", names)
