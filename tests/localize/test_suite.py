"""A localization as test cases."""

from nccltool.localize.accusations import localized
from nccltool.localize.suite import suite
from tests.support.pairs import FOUND_106, OF_106, info, met


def test_each_node_is_a_case() -> None:
    cases = suite(localized(info(), (*OF_106, met("5", "6", None)), FOUND_106)).cases
    kinds = {case.name: case.kind for case in cases if case.group == "nodes"}
    assert kinds == {
        **dict.fromkeys(("632", "641", "404", "699"), ""),
        **dict.fromkeys(("284", "678", "5", "6"), "skipped"),
        "644": "failure",
    }
    others = [case.name for case in cases if case.group != "nodes"]
    assert others == [
        f"{code} [run pairs]" for code in ("pairs-undetermined", "pairs-not-measured", "nodes-not-measured")
    ]
