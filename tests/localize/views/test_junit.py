"""A localization as junit."""

from nccltool.localize.accusations import localized
from nccltool.localize.views import junit
from tests.support.pairs import FOUND_106, OF_106, info


def test_a_suspect_is_a_failure() -> None:
    text = junit.render(localized(info(), OF_106, FOUND_106))
    assert '<testcase classname="localize.nodes" name="644">\n<failure type="node-slow"' in text
    assert '<testcase classname="localize.nodes" name="404"/>' in text
