"""Hosts of which none was reached, and the one that called them."""

import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.launch import own_end


def lost(code: str) -> Finding:
    return Finding(code=code, severity="error", subject=Subject(kind="host", name="n2"), message=f"n2: {code}")


@pytest.mark.parametrize(
    ("others", "codes", "expected"),
    [
        (2, ("host-unreachable", "host-unreachable"), "host-unreachable"),
        (2, ("large-packets-lost", "large-packets-lost"), "large-packets-lost"),
        (2, ("host-unreachable", "host-refused"), ""),
        (2, ("host-silent", "host-silent"), ""),
        (3, ("host-unreachable", "host-unreachable"), ""),
        (1, ("host-unreachable",), ""),
        (0, (), ""),
    ],
)
def test_who_stands_out(others: int, codes: tuple[str, ...], expected: str) -> None:
    found = own_end.of_lost("n1", others, [lost(code) for code in codes])
    assert (found.code if found else "") == expected
    if found:
        assert (found.subject.name, found.evidence) == ("n1", tuple(f"n2: {code}" for code in codes))
