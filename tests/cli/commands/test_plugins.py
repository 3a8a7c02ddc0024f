"""nccltool plugins. With plug-ins: tests/install/test_plugins.py."""

import json

from tests.conftest import Nccltool


def test_none_are_installed(nccltool: Nccltool) -> None:
    said = nccltool("plugins")
    assert (said.code, said.out, said.err) == (0, "no plug-ins are installed\n", "")
    document = json.loads(nccltool("plugins", "--format", "json").out)
    assert (document["kind"], document["interface"], document["plugins"]) == ("plugins", 1, [])
