"""The hosts that pairs which failed have in common."""

from typing import Any

import pytest

from nccltool.launch.failed_pairs import blamed


@pytest.mark.parametrize(
    ("pairs", "culprits", "rest"),
    [
        ((), (), ()),
        ((("a", "b"),), (), (("a", "b"),)),
        ((("a", "b"), ("b", "a")), (), (("a", "b"), ("b", "a"))),
        ((("a", "c"), ("b", "c"), ("d", "c")), ("c",), ()),
        ((("a", "c"), ("b", "c"), ("c", "a"), ("d", "e")), ("c",), (("d", "e"),)),
        ((("a", "b"), ("b", "c"), ("c", "a")), (), (("a", "b"), ("b", "c"), ("c", "a"))),
        # y fails with two partners that nothing else is said of, once x is taken out
        ((("a", "x"), ("b", "x"), ("c", "x"), ("a", "y"), ("b", "y")), ("x", "y"), ()),
        ((("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")), ("x", "y"), ()),
        ((("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")), (), (("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"))),
    ],
)
def test_who_is_blamed_for_pairs(pairs: Any, culprits: Any, rest: Any) -> None:
    assert blamed(pairs) == (culprits, rest)
