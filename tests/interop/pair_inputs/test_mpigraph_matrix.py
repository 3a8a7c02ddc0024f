"""mpiGraph's matrix as directed pairs."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop.pair_inputs import mpigraph_matrix

_HEAD = "START mpiGraph v1.5\nMsgSize\t1048576\nTimes\t10\nWindow\t2\nProcs\t{procs}\n"


def _text(*rows: str) -> str:
    return "\n".join([_HEAD.format(procs=len(rows)), *rows, "END mpiGraph\n"])


def test_rows_send_and_columns_receive() -> None:
    found = mpigraph_matrix.read(
        _text("n1:0 to\t0.0\t1000.0\t2000.0", "n2:1 to\t3000.0\t0.0\t4000.0", "n3:2 to\t5000.0\t6000.0\t0.0"),
        "m.txt",
    )
    assert [(one.members, one.round) for one in found.encounters] == [
        (("n1", "n2"), 1),
        (("n1", "n3"), 2),
        (("n2", "n1"), 2),
        (("n2", "n3"), 1),
        (("n3", "n1"), 1),
        (("n3", "n2"), 2),
    ]
    assert found.encounters[0].busbw_bytes_per_s == pytest.approx(1000.0 * 2**20)


def test_processes_of_a_host_are_one_node() -> None:
    row = "\t".join(["1000.0"] * 4)
    found = mpigraph_matrix.read(_text(*(f"n{number // 2}:{number} to\t{row}" for number in range(4))), "m.txt")
    assert [one.members for one in found.encounters] == [("n0", "n1"), ("n1", "n0")]


def test_a_row_that_is_not_there_is_missing() -> None:
    rows = ("n1:0 to\t0.0\t1000.0\t2000.0", "n2:1 to\t3000.0\t0.0\t4000.0", "n3:2 to\t5000.0\t6000.0\t0.0")
    assert mpigraph_matrix.read(_text(*rows), "m.txt").missing == ()
    text = _text(*rows).replace(rows[2] + "\n", "")
    assert mpigraph_matrix.read(text, "m.txt").missing == ("m.txt: 2 of 6 pairs missing",)


@pytest.mark.parametrize("rows", [("n1:0 to\t0.0",), ("n1:0 to\t1.0\tx", "n1:1 to\t1.0")])
def test_a_matrix_without_pairs(rows: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="no complete row"):
        mpigraph_matrix.read(_text(*rows), "m.txt")
