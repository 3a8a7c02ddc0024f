"""A localization as json."""

import json as standard_json

from nccltool.localize.accusations import localized
from nccltool.localize.views import json
from tests.support import documents
from tests.support.pairs import FOUND_106, OF_106, info


def test_it_is_the_document() -> None:
    text = json.render(localized(info(), OF_106, FOUND_106))
    documents.hold(text)
    assert standard_json.loads(text)["kind"] == "localize"
    assert text.endswith("}\n")
