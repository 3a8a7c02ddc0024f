"""A localization as ctrf."""

import json

from nccltool.localize.accusations import localized
from nccltool.localize.views import ctrf
from tests.support.pairs import FOUND_106, OF_106, info


def test_a_suspect_failed() -> None:
    tests = json.loads(ctrf.render(localized(info(), OF_106, FOUND_106)))["results"]["tests"]
    assert {one["name"]: one["status"] for one in tests if one["name"] in ("644", "404", "284")} == {
        "644": "failed",
        "404": "passed",
        "284": "skipped",
    }
