"""A file that is cut or damaged is refused, or what is left of it is read as it stands; nothing else happens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Report, Row, checks
from tests.interop.importers import samples

every = pytest.mark.parametrize("name", samples.READ)


def numbers(tests: tuple[Report, ...]) -> list[tuple[str, int, tuple[Row, ...]]]:
    return [(test.op, test.world_size, test.rows) for test in tests]


def is_refused_or_right(data: bytes, name: str) -> bool:
    """Whether the data is refused; else its complete tests must be the first ones of the whole file."""
    whole = numbers(samples.read(name))
    try:
        tests = importers.read(data, name, samples.told(name))
    except BadInput as refused:
        assert name in refused.message
        return True
    left = numbers(tuple(test for test in tests if not is_partial(test)))
    assert left == whole[: len(left)]
    codes = {finding.code for test in tests for finding in checks.findings(test, samples.told(name))}
    assert left or codes & {"import-rows-missing", "import-test-failed"}
    return False


def is_partial(test: Report) -> bool:
    """Whether a report says itself that something of its output is missing."""
    return bool(test.missing or (test.stopped and test.average is None))


@every
def test_cut_at_every_line(name: str) -> None:
    data = samples.data(name)
    lines = data.splitlines(True)
    refused = [is_refused_or_right(b"".join(lines[:count]), name) for count in range(len(lines))]
    first_rows = next((index for index, line in enumerate(lines) if b"(GB/s)" in line), len(lines) - 1)
    assert all(refused[:first_rows])


@given(st.sampled_from(samples.READ), st.floats(0, 1))
def test_cut_at_any_byte(name: str, share: float) -> None:
    data = samples.data(name)
    is_refused_or_right(data[: int(share * len(data))], name)


@every
def test_cut_in_the_footer(name: str) -> None:
    if name.endswith(".json"):
        return
    data = samples.data(name)
    start = data.index(b"Out of bounds values")
    end = data.index(b"\n", data.index(b"Avg bus bandwidth"))
    for cut in range(start, end + 1):
        tests = importers.read(data[:cut], name, samples.told(name))
        assert any("'# Avg bus bandwidth'" in text for test in tests for text in test.missing)


@given(st.sampled_from(samples.NAMES), st.data())
def test_damaged_bytes_are_never_a_crash(name: str, data: st.DataObject) -> None:
    text = bytearray(samples.data(name))
    for _ in range(data.draw(st.integers(1, 5))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(
            st.sampled_from(b'0129.-e #\n"{}[],:xN/\xff\x00')
        )
    try:
        tests = importers.read(bytes(text), name, samples.told(name))
    except BadInput:
        return
    for test in tests:
        checks.findings(test, samples.told(name))
