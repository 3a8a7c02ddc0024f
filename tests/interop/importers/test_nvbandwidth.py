"""nvbandwidth has no operation of nccltool: refused with the reason."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told


@pytest.mark.parametrize(
    "text", ["nvbandwidth Version: v0.8\nBuilt from Git\n", '{"nvbandwidth": {"testcases": []}}']
)
def test_refused(text: str) -> None:
    with pytest.raises(BadInput, match="out: nvbandwidth measures copies inside a host"):
        importers.read(text.encode(), "out", Told())
