"""Lines of interest are the same with RE2, without it, and when each line is looked at by itself."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.triage.logs import patterns, reader
from nccltool.triage.logs.literal_search import LiteralSearch
from tests.incidents import INCIDENTS, Incident

WITH = LiteralSearch(reader.PATTERNS)
with pytest.MonkeyPatch.context() as patch:
    patch.setitem(sys.modules, "re2", None)
    WITHOUT = LiteralSearch(reader.PATTERNS)


def lines_found(prefilter: LiteralSearch, block: bytes) -> list[int]:
    after, found, start = prefilter.searcher(block), [], 0
    while (place := after(start)) >= 0:
        found.append(block.count(b"\n", 0, place))
        end = block.find(b"\n", place)
        if end < 0:
            break
        start = end + 1
    return found


def worth_reading(block: bytes) -> list[int]:
    """By the definition: a literal, or something that cleaning takes away."""
    literals = {item.literal.encode() for item in reader.PATTERNS}
    unclean = [
        chr(code).encode() for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160), 0x200E, 0x2066)
    ]
    wanted = (*literals, *unclean)
    return [number for number, line in enumerate(block.split(b"\n")) if any(word in line for word in wanted)]


@pytest.mark.parametrize("incident", INCIDENTS, ids=str)
def test_both_searches_find_the_lines_with_literals(incident: Incident) -> None:
    block = incident.log.encode()
    assert lines_found(WITH, block) == lines_found(WITHOUT, block) == worth_reading(block)


def test_re2_is_what_is_compared() -> None:
    assert WITH._engine is not None
    assert WITHOUT._engine is None


_WORDS = sorted({item.literal.encode() for item in reader.PATTERNS})
_PIECES = st.one_of(
    st.sampled_from(_WORDS),
    st.sampled_from([b"\n", b"\r", b"\t", b" ", b"\x1b[31m", b"\xe2\x80\x8e", b"\x00", b"9", "\u00e9".encode()]),
    st.binary(max_size=4).filter(lambda data: not {0xE2, 0xC2} & set(data)),
)


@given(st.lists(_PIECES, max_size=12).map(b"".join))
def test_both_searches_are_equal_for_any_bytes(block: bytes) -> None:
    assert lines_found(WITH, block) == lines_found(WITHOUT, block)


@given(st.lists(st.sampled_from(_WORDS), max_size=4).map(b" ".join))
def test_the_literals_of_a_line_are_those_that_it_contains(line: bytes) -> None:
    text = line.decode()
    there = (word for word in patterns.all_literals() if word in text and patterns._stands_in(word, text))
    assert sorted(patterns.literals(text)) == sorted(there)
