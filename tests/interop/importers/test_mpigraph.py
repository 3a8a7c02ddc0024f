"""mpiGraph: one row of all pairs, and a matrix that is not whole."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told
from tests.interop.importers import foreign

TEXT = foreign.data("mpigraph.txt").decode()


def test_the_row_is_the_mean_over_all_pairs() -> None:
    (test,) = foreign.read("mpigraph.txt")
    (half,) = test.rows[0].halves
    rates = [11700, 11800, 11650, 11640, 11690, 9700]  # MiB/s, from the file by eye
    times = [2**20 / (rate * 1.048576) for rate in rates]
    assert half.time.value == pytest.approx(sum(times) / 6)
    assert [half.min_us, half.max_us] == pytest.approx([min(times), max(times)])
    assert half.iterations == 500
    assert test.hosts == ("node-a", "node-b", "node-c")
    assert "node-c:2 to node-b:1: 10.17 GB/s" in test.said


def test_a_terminal_has_spaces_for_tabs() -> None:
    (test,) = importers.read(TEXT.expandtabs().encode(), "mpigraph.txt", Told())
    assert test.rows == foreign.read("mpigraph.txt")[0].rows


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("9700.000\t0.000\t\n", "9700.000\n", "2 of 6 pairs missing"),
        ("9700.000", "0.000", "1 of 6 pairs missing"),
        ("END mpiGraph\n", "", "it ends before 'END mpiGraph'"),
    ],
)
def test_what_is_missing(old: str, new: str, message: str) -> None:
    (test,) = importers.read(TEXT.replace(old, new, 1).encode(), "out.txt", Told())
    assert [one.message for one in test.found if one.code == "import-rows-missing"] == [f"out.txt: {message}"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TEXT.replace("Procs\t3", "Procs\t9999999"), "out.txt: it has 9999999 processes"),
        (TEXT.replace("Procs\t3\n", ""), "out.txt: it does not name its Procs"),
        (TEXT[: TEXT.index("node-a:0 to")], "out.txt: its matrix of send bandwidths has no complete row"),
        (TEXT.replace("MsgSize\t1048576", "MsgSize\t0"), "out.txt: its matrix of send bandwidths"),
    ],
)
def test_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        importers.read(text.encode(), "out.txt", Told())
    assert error.value.message.startswith(sentence)
