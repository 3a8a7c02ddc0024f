"""Which rank creates other groups: most decide, and without a majority nobody is blamed."""

import pytest

from nccltool.probe.group_order import NO_MORE, created, problem

ROW, COLUMN = created([0, 1], "gloo"), created([0, 2], "gloo")


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ({0: ROW, 1: ROW, 2: ROW}, ""),
        ({0: ROW, 1: COLUMN, 2: ROW}, f"rank 1: {COLUMN}; the others: {ROW}"),
        ({0: ROW, 1: ROW, 2: NO_MORE}, f"rank 2: no further group; the others: {ROW}"),
        ({0: ROW, 2: ROW}, f"rank 1 of 3 did not arrive within 2 s; the others: {ROW}"),
        (
            {0: ROW, 2: COLUMN},
            f"rank 1 of 3 did not arrive within 2 s; rank 0: {ROW}; rank 2: {COLUMN}",
        ),
        ({0: ROW, 1: COLUMN, 2: NO_MORE}, f"rank 0: {ROW}; rank 1: {COLUMN}; rank 2: no further group"),
        ({2: ROW}, f"ranks 0, 1 of 3 did not arrive within 2 s; the others: {ROW}"),
    ],
)
def test_whom_the_sentence_names(calls: dict[int, str], said: str) -> None:
    expected = f"group 3 in order of creation differs: {said}" if said else ""
    assert problem(3, range(3), calls, 2.0) == expected


def test_half_of_the_ranks_is_no_majority() -> None:
    said = problem(1, range(4), {0: ROW, 1: ROW, 2: COLUMN, 3: COLUMN}, 2.0)
    assert said.endswith(f"ranks 0, 1: {ROW}; ranks 2, 3: {COLUMN}")
