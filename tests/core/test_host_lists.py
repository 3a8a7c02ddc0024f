"""Folded names name the same hosts, as ClusterShell reads them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nccltool.core.host_lists import briefly, fold, rack_in, unfold


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], ""),
        (["login"], "login"),
        (["n1"], "n1"),
        (["n1", "n1"], "n1"),
        (["n1", "n2", "n3", "n5"], "n[1-3,5]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n009", "n010", "n100"], "n[009-010,100]"),
        (["n09", "n10", "n100"], "n100,n[09-10]"),
        (["n1", "n01"], "n01,n1"),
        (["r1n1-ib", "r1n2-ib", "r2n1-ib"], "r1n[1-2]-ib,r2n1-ib"),
        (["a", "b1", "b2"], "a,b[1-2]"),
        (["10.0.0.1", "10.0.0.2"], "10.0.0.[1-2]"),
        (["@all", "x[1-3]"], "@all,x[1-3]"),
    ],
)
def test_fold(names: list[str], folded: str) -> None:
    assert fold(names) == folded


def test_many_that_do_not_fold_are_counted() -> None:
    assert briefly(f"n{number:05}" for number in range(10_000)) == "n[00000-09999]"
    assert (
        briefly(f"{number:05}x{number % 7}" for number in range(10_000)) == "00000x0,00001x1,00002x2 and 9997 more"
    )
    assert briefly(["n2", "n1"]) == fold(["n1", "n2"])


NAMES = st.builds(
    lambda before, number, width, after: f"{before}{number:0{width}d}{after}",
    st.sampled_from(["n", "ab", "r1n"]),
    st.integers(0, 1200),
    st.integers(1, 4),
    st.sampled_from(["", "-x"]),
)


@settings(max_examples=60)
@given(st.lists(NAMES | st.sampled_from(["login", "x-a"]), min_size=1, max_size=30))
def test_what_is_folded_unfolds_to_the_same(names: list[str]) -> None:
    from ClusterShell.NodeSet import NodeSet

    assert set(NodeSet(fold(names))) == set(names)


def test_names_are_unfolded() -> None:
    assert unfold("n[09-10],login", 10) == ["login", "n09", "n10"]
    assert len(unfold("n[1-1000]", 10)) == 11


@pytest.mark.parametrize("text", ["n[01-----4]", "n[1-", "n[2-1]", "n[]"])
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match=r"range|bracket|empty|missing"):
        unfold(text, 10)


@pytest.mark.parametrize(
    ("name", "rack"),
    [
        ("r12n03", "r12"),
        ("rack-12-node-3.cluster", "rack-12"),
        ("a1-r2-n3", "a1-r2"),
        ("n03", None),
        ("login", None),
        ("r12n03x", None),
        ("vm:0", None),
        ("", None),
    ],
)
def test_the_rack_in_a_name(name: str, rack: str | None) -> None:
    assert rack_in(name) == rack
