"""nccltool version."""

import json

from nccltool import __version__
from tests.conftest import Nccltool


def test_version(nccltool: Nccltool) -> None:
    said = nccltool("version")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"nccltool {__version__}\nPython 3.")
    document = json.loads(nccltool("version", "--format", "json").out)
    assert (document["schema"], document["kind"]) == (1, "version")
    assert document["installation"]["nccltool"] == __version__
