"""The OSU micro-benchmarks: figures by hand from the samples, and what is refused or missing."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told
from tests.interop.importers import foreign

TITLE = "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n"


def found(text: str, ranks: int = 4) -> list[str]:
    """The lines of evidence about what is missing."""
    tests = importers.read(text.encode(), "out.txt", Told(ranks=ranks))
    return [
        line for test in tests for one in test.found if one.code == "import-rows-missing" for line in one.evidence
    ]


def test_both_directions_are_halved_and_pairs_are_shared() -> None:
    rates = {
        (test.where.rpartition(" ")[2], row.bytes): row.halves[0].busbw.value
        for test in foreign.read("osu-pairs.txt")
        for row in test.rows
        if test.op == "send_recv"
    }
    assert rates[("8", 4194304)] == pytest.approx(24.51832)
    assert rates[("13", 4194304)] == pytest.approx(48.21162 / 2)
    assert rates[("17", 2097152)] == pytest.approx(96.11011 / 4)


def test_a_size_of_one_part_is_that_of_all() -> None:
    gathered, exchanged, *_ = foreign.read("osu-collectives-old.txt")
    assert [row.bytes for row in gathered.rows] == [4, 8, 16]
    assert exchanged.rows[0].bytes == 4096
    assert exchanged.rows[0].halves[0].busbw.value == pytest.approx(4096 / 9.10 / 1e3 * 3 / 4)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TITLE + "4  3.1\n", "out.txt: it does not list its ranks"),
        (
            "# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n 3.1\n",
            "nccltool has no operation for OSU MPI Barrier Latency Test v7.4",
        ),
        (
            "# OSU MPI_Put Latency Test v5.6\n# Size  Latency (us)\n1  1.9\n",
            "nccltool has no operation for OSU MPI_Put Latency Test v5.6",
        ),
        (
            "# OSU MPI Non-blocking Barrier Latency Test v7.4\n      Overall(us)   Pure Comm.(us)\n  8.1   6.0\n",
            "nccltool has no operation for OSU MPI Non-blocking Barrier Latency Test v7.4",
        ),
        (TITLE, "it ends before the first row of OSU MPI Allreduce Latency Test v7.4"),
    ],
)
def test_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        importers.read(text.encode(), "out.txt", Told())
    assert sentence in error.value.message


@pytest.mark.parametrize(
    ("rows", "evidence"),
    [
        ("4  3.1\n8  3.2\n", []),
        ("4  3.1\n8  \n16  3.2\n", ["line 4: 8", "line 5: 16 B follow 4 B"]),
        ("4  3.1\n8  3.2  4.1\n", ["line 4: 8  3.2  4.1"]),
        ("4  3.1\n16  3.2\n", ["line 4: 16 B follow 4 B"]),
        ("4  3.1\n8 nodes are up\n10.8.2.31\n8  3.2\n", []),
    ],
)
def test_rows_that_are_missing(rows: str, evidence: list[str]) -> None:
    assert found(TITLE + rows) == evidence


def test_the_ranks_of_a_pair_are_known_whatever_is_told() -> None:
    (test,) = importers.read(b"# OSU MPI Latency Test v7.4\n# Size  Latency (us)\n8  1.9\n", "o", Told(ranks=64))
    assert (test.world_size, test.op) == (2, "ping_pong")


NON_BLOCKING = """\
# OSU MPI Non-blocking {} Latency Test v7.4
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size    Overall(us)  Compute(us)  Coll. Init(us)  Pure Comm.(us)  Min Comm.(us)  Max Comm.(us)  Overlap(%)
4               77.23        56.31            5.69           52.50          35.00          71.00       60.23
"""


@pytest.mark.parametrize(
    ("title", "op", "size"),
    [("Allreduce", "all_reduce", 4), ("All-to-All", "all_to_all", 16), ("Allgather", "all_gather", 16)],
)
def test_a_non_blocking_call_takes_as_long_as_it_does_without_computation(title: str, op: str, size: int) -> None:
    (test,) = importers.read(NON_BLOCKING.format(title).encode(), "o", Told(ranks=4))
    (row,) = test.rows
    (half,) = row.halves
    assert (test.op, row.bytes, half.time.value, half.min_us, half.max_us) == (op, size, 52.5, 35.0, 71.0)
    assert any("non-blocking" in line for one in test.found for line in one.evidence)


@pytest.mark.parametrize(
    ("title", "share"),
    [
        ("MPI_Put Bandwidth", 1.0),
        ("MPI_Get Bandwidth", 1.0),
        ("MPI_Put-CUDA Bandwidth", 1.0),
        ("MPI_Put Bi-directional Bandwidth", 0.5),
    ],
)
def test_one_sided_bandwidths_are_those_of_a_pair(title: str, share: float) -> None:
    text = f"# OSU {title} Test v5.7.1\n# Synchronization: MPI_Win_flush\n# Size  Bandwidth (MB/s)\n4  1000.00\n"
    (test,) = importers.read(text.encode(), "o", Told())
    assert (test.op, test.world_size) == ("send_recv", 2)
    assert test.rows[0].halves[0].algbw.value == pytest.approx(share)
    assert any("one-sided" in line for one in test.found for line in one.evidence)
