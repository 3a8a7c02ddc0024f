"""The document of a preflight."""

from nccltool.preflight import document
from nccltool.preflight.views import renderer
from tests.preflight.views.test_table import FAILING


def test_the_document_can_be_read_again() -> None:
    text = renderer("json")(FAILING)
    assert document.from_json(text.encode(), "x") == FAILING
