"""What a test that was read says: numbers that do not fit, wrong data, a world of one."""

from dataclasses import replace

import pytest

from nccltool.core.findings import Finding
from nccltool.interop.importers import Report, Told, checks
from nccltool.interop.importers.base import Half, Printed
from tests.interop.importers import samples

NOTHING = Told()


def report(name: str = "all_reduce-2.19.6.txt") -> Report:
    (only,) = samples.read(name)
    return only


def with_half(test: Report, index: int, **changes: Printed | int) -> Report:
    """The test with another out-of-place half in one row."""
    row = test.rows[index]
    half: Half = replace(row.halves[0], **changes)  # type: ignore[arg-type]
    rows = (*test.rows[:index], replace(row, halves=(half, *row.halves[1:])), *test.rows[index + 1 :])
    return replace(test, rows=rows)


def the(code: str, test: Report, told: Told = NOTHING) -> Finding:
    (finding,) = [finding for finding in checks.findings(test, told) if finding.code == code]
    return finding


ROW = "all_reduce-2.19.6.txt, line 22, all_reduce at 2 GiB"


@pytest.mark.parametrize(
    ("index", "changes", "sentence"),
    [
        (
            4,
            {"time": Printed(9068.84, 0.005)},
            f"{ROW} out-of-place: algbw 266.15 GB/s, but 2147483648 B in 9068.84 us are 236.8 GB/s",
        ),
        (
            4,
            {"busbw": Printed(466.75, 0.005)},
            f"{ROW} out-of-place: busbw 466.75 GB/s, but algbw 266.15 GB/s x 1.75 (8 ranks) is 465.8 GB/s "
            "(and 1 more)",
        ),
    ],
)
def test_numbers_that_do_not_fit(index: int, changes: dict[str, Printed], sentence: str) -> None:
    finding = the("import-inconsistent", with_half(report(), index, **changes))
    assert finding.severity == "warning"
    assert finding.message == f"numbers contradict each other: {sentence}"


@pytest.mark.parametrize(("time", "fits"), [(8068.84, True), (8068.55, True), (8068.53, False), (8068.86, False)])
def test_what_fits_is_what_rounds_to_the_same(time: float, fits: bool) -> None:
    """2 GiB at 266.145 to 266.155 GB/s took 8068.54 to 8068.85 us."""
    test = with_half(report(), 4, time=Printed(time, 0.0))
    assert ("import-inconsistent" in {finding.code for finding in checks.findings(test, NOTHING)}) == (not fits)


def test_another_number_of_ranks_does_not_fit() -> None:
    finding = the("import-inconsistent", replace(report("all_gather-v3-per-iteration.json"), world_size=4))
    assert "1048576 B are 65536 elements for 4 ranks, not 32768 (and 5 more)" in finding.message


def test_a_row_that_is_missing_shows_in_the_mean() -> None:
    test = report()
    finding = the("import-inconsistent", replace(test, rows=test.rows[:-1]))
    assert finding.evidence == (
        "the footer's mean is 207.095 GB/s, but the rows' mean is 155.435 GB/s: a row may be missing",
    )


def test_a_size_of_no_whole_elements() -> None:
    test = report()
    rows = (replace(test.rows[0], bytes=9), *test.rows[1:])
    finding = the("import-inconsistent", replace(test, rows=rows))
    assert finding.message.endswith("all_reduce at 9 B: 9 B are not a whole number of float32 elements")


def test_a_time_of_zero_is_left_out_and_said() -> None:
    finding = the("left-out", with_half(report(), 0, time=Printed(0.0, 0.005)))
    assert finding.message == "1 measurement left out: the time (with -C 1: the bandwidth) rounds to 0"
    assert finding.evidence == ("all_reduce-2.19.6.txt, line 18, all_reduce at 8 B out-of-place",)


def test_many_rows_are_not_all_shown() -> None:
    finding = the("import-inconsistent", replace(report(), world_size=16))
    assert len(finding.evidence) == 8
    many = replace(report(), rows=report().rows * 4, world_size=16)
    assert the("import-inconsistent", many).evidence[-1] == "and 22 more"


def test_wrong_elements() -> None:
    finding = the("wrong-data", with_half(report(), 0, wrong=17))
    assert finding.severity == "error"
    assert finding.evidence == (
        "all_reduce-2.19.6.txt, line 18, all_reduce at 8 B out-of-place: 17 wrong elements",
    )


def test_failed_checks_without_a_row() -> None:
    finding = the("wrong-data", replace(report(), out_of_bounds=3))
    assert finding.message == "all_reduce delivered wrong data in 3 checks, first: place not reported"


@pytest.mark.parametrize(("told", "severity"), [(NOTHING, "error"), (Told(ranks=1), "warning")])
def test_a_world_of_one(told: Told, severity: str) -> None:
    one = samples.read("one-rank-jobs.txt")[0]
    assert the("world-of-one", one, told).severity == severity


@pytest.mark.parametrize(
    ("time", "algbw", "busbw", "wanted"),
    [
        ((30.0, 0.005), (0.00, 0.005), (0.00, 0.005), (8 / 30.0e3, 8 / 30.0e3 * 1.75)),
        ((0.1, 0.05), (0.08, 0.005), (0.14, 0.005), (0.08, 0.14)),
        ((30.0, 0.005), (5.0, 0.005), (9.0, 0.005), (5.0, 9.0)),
    ],
    ids=["the time says more", "the bandwidth says more", "what contradicts stays as it is"],
)
def test_the_number_that_says_more_is_taken(
    time: tuple[float, float], algbw: tuple[float, float], busbw: tuple[float, float], wanted: tuple[float, float]
) -> None:
    test = with_half(report(), 0, time=Printed(*time), algbw=Printed(*algbw), busbw=Printed(*busbw))
    row = test.rows[0]
    assert checks.bandwidths(test, row, row.halves[0]) == pytest.approx(wanted)
