"""The document that lists plug-ins; the list itself is tried with plug-ins in test_plugins."""

import json

from nccltool.core import plugin_list
from nccltool.core.plugin_list import ListedPlugin


def test_the_document() -> None:
    one = ListedPlugin(
        name="site", family="rules", package="nccltool-acme", version="1.0", module="acme.rules", problem=None
    )
    document = json.loads(plugin_list.to_json([one]))
    assert (document["kind"], document["interface"]) == ("plugins", 1)
    assert document["plugins"] == [
        {
            "name": "site",
            "family": "rules",
            "package": "nccltool-acme",
            "version": "1.0",
            "module": "acme.rules",
            "problem": None,
        }
    ]
