"""A localization as nagios."""

from nccltool.localize.accusations import localized
from nccltool.localize.views import nagios
from tests.support.pairs import FOUND_106, OF_106, info


def test_one_line_with_figures() -> None:
    assert nagios.render(localized(info(), OF_106, FOUND_106)) == (
        "NCCLTOOL CRITICAL - localize: suspect node 644; 1 slow pair unexplained; 5 measurements of 7 nodes | "
        "suspects=1 undetermined=1 measurements=5 noise=1.3%\n"
    )
