"""A localization as sarif."""

import json

from nccltool.localize.accusations import localized
from nccltool.localize.views import sarif
from tests.support.pairs import FOUND_106, OF_106, info


def test_findings_are_results() -> None:
    (run,) = json.loads(sarif.render(localized(info(), OF_106, FOUND_106)))["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["node-slow", "pairs-undetermined"]
