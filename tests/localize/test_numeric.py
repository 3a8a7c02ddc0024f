"""Without numpy or scipy, one sentence says what to install."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.localize import numeric


@pytest.mark.parametrize("installed", [(), ("numpy",), ("scipy",)])
def test_what_is_not_installed(installed: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="localize needs numpy and scipy") as caught:
        numeric.require("localize", lambda name: name in installed or None)
    assert caught.value.remedy == "run pip install 'nccltool[localize]'"


def test_what_is_installed() -> None:
    numeric.require("localize", lambda name: name)
