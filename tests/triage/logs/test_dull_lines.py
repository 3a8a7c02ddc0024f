"""What makes a shape dull, and which patterns fit only some digits."""

import pytest

from nccltool.triage.logs import dull_lines, reader
from nccltool.triage.logs.dull_lines import DullLines


def learned(*lines: bytes) -> DullLines:
    known = DullLines()
    for line in lines:
        for _ in range(dull_lines._SEEN):
            known.learn(line, line.decode(), is_full=False)
    return known


@pytest.mark.parametrize(
    ("line", "others"),
    [
        (b"memory.py:12] allocated 3.5 GiB", [b"memory.py:97] allocated 8.1 GiB"]),
        (b"Trees [0] 1/-1/-1->0->-1", [b"Trees [3] 7/-1/-1->2->-9"]),
        (b"worker 3 exit code: 0", []),  # 1 would be a failure
        (b"0 of 64 elements are wrong", []),
        (b"checked: errors: 0 failed", []),
        (b"a line of 137 words", [b"a line of 642 words"]),
        (b"process exited with code 000", []),  # 137 would be a kill
    ],
)
def test_a_shape_is_dull_if_no_digits_can_change_that(line: bytes, others: list[bytes]) -> None:
    known = learned(line)
    assert (line in known) is bool(others)
    assert all(other in known for other in others)
    assert line + b"0" not in known


def test_places_of_the_lines_that_are_not_dull() -> None:
    known = learned(b"batch 1")
    assert known.others(b"batch 2\nbatch 30\nbatch 4\n") == [1, 3]
    assert DullLines().others(b"batch 2\n") is None


def test_what_was_said_often_enough_can_be_of_interest_again() -> None:
    known = DullLines()
    for _ in range(dull_lines._SEEN):
        known.learn(b"step 1 of it", "step 1 of it", is_full=True)
        known.learn(b"batch 1", "batch 1", is_full=False)
    known.forget_full()
    assert (b"step 1 of it" in known, b"batch 1" in known) == (False, True)


def test_every_pattern_of_some_digits_can_be_read_for_all_digits() -> None:
    for item in reader.PATTERNS:
        if found := dull_lines._if_of_some_digits(item):
            assert item.expression or found.can_fit(item.literal.translate(dull_lines._TEXT_ZEROS)), item
            assert found.written is None or dull_lines._loosened(found.written)
