"""What all importers of other benchmarks promise: right rows, none lost in silence, no traceback."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.interop import import_results, importers
from nccltool.interop.importers import Report, checks
from tests.interop import test_import_results as golden
from tests.interop.importers import foreign

every = pytest.mark.parametrize("name", foreign.NAMES)


@every
def test_golden(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(foreign.FOLDER)
    found = import_results.read([name], foreign.told(name), ("nccltool", "import", name))
    file, text = foreign.GOLDEN / name, golden.shown_runs(found)
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text)
    assert file.read_text() == text


def test_every_golden_file_has_its_sample() -> None:
    assert sorted(file.name for file in foreign.GOLDEN.iterdir()) == foreign.NAMES


@every
def test_numbers_fit_each_other(name: str) -> None:
    found = [finding.code for test in foreign.read(name) for finding in checks.findings(test, foreign.told(name))]
    assert "import-inconsistent" not in found


@every
def test_no_number_is_made_up(name: str) -> None:
    """What is not known is nan and left out, never zero."""
    for test in foreign.read(name):
        for row in test.rows:
            for half in row.halves:
                assert half.algbw.value != 0 or half.time.value == 0 or row.bytes == 0


def rows(tests: tuple[Report, ...]) -> set[tuple[object, ...]]:
    """Sizes and operations; means over many lines (a matrix, the calls of a job) change with each of them."""
    return {(test.op, test.world_size, row.bytes, row.dtype) for test in tests for row in test.rows}


@every
def test_cut_at_every_line_keeps_whole_rows(name: str) -> None:
    data = foreign.data(name)
    whole = rows(foreign.read(name))
    lines = data.splitlines(True)
    for count in range(len(lines)):
        try:
            left = importers.read(b"".join(lines[:count]), name, foreign.told(name))
        except BadInput as refused:
            assert name in refused.message
        else:
            assert rows(left) <= whole
            assert rows(left)


@every
def test_cut_inside_a_line_is_a_finding(name: str) -> None:
    data = foreign.data(name).rstrip()
    if len(data.splitlines()) == 1 or name.endswith(".json"):
        return
    try:
        left = importers.read(data[:-3], name, foreign.told(name))
    except BadInput:
        return
    assert "import-rows-missing" in {finding.code for test in left for finding in test.found}


@every
@settings(max_examples=20)
@given(data=st.data())
def test_damaged_bytes_are_never_a_crash(name: str, data: st.DataObject) -> None:
    text = bytearray(foreign.data(name))
    for _ in range(data.draw(st.integers(1, 5))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(
            st.sampled_from(b'0129.-e #\n"{}[],:xN/\xff\x00\t')
        )
    try:
        tests = importers.read(bytes(text), name, foreign.told(name))
    except BadInput:
        return
    for test in tests:
        checks.findings(test, foreign.told(name))
