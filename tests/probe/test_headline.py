"""The first line of a result, whole."""

from dataclasses import replace

import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.core.verdicts import Status, Verdict
from nccltool.interop.finding_kinds import IMPORT_ROWS_MISSING, STREAM_MISSING
from nccltool.probe import headline
from nccltool.probe.finding_kinds import LATE_RANK
from nccltool.probe.result import Measurement, Run
from tests.samples import empty_run, finding, good_run, measurement

SWEEP = tuple(measurement(bytes=2**size, busbw_bytes_per_s=size * 1e8) for size in (10, 24, 20))
MANY = tuple(replace(row, op=op) for op in ("broadcast", "reduce", "all_gather", "all_reduce") for row in SWEEP)
LATE = LATE_RANK.finding(subject=Subject(kind="rank", name="1"), message="late", severity="warning")
WRONG = finding(code="wrong-data", subject=Subject(kind="operation", name="all_reduce"))
UNHEARD = STREAM_MISSING.finding(subject=Subject(kind="host", name="node 1"), message="no log of it was given")
GONE = IMPORT_ROWS_MISSING.finding(
    subject=Subject(kind="file", name="b.txt"), message="a.tar, b.txt: no row for 2 KiB"
)
FAR = finding(code="host-unreachable", subject=Subject(kind="host", name="n3"))


def run(
    rows: tuple[Measurement, ...],
    status: Status = "pass",
    code: int = 0,
    findings: tuple[Finding, ...] = (),
    planned: int | None = None,
) -> Run:
    plain = good_run()
    return replace(
        plain,
        info=replace(plain.info, rows_planned=planned),
        verdict=Verdict(status=status, exit_code=code),
        measurements=rows,
        findings=findings,
    )


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (run(SWEEP), "all_reduce, 1 KiB to 16 MiB; peak busbw 2.40 GB/s at 16 MiB"),
        (run(SWEEP[:1]), "all_reduce, 1 KiB; peak busbw 1.00 GB/s at 1 KiB"),
        (
            run(MANY[3:9]),
            "reduce, all_gather, 1 KiB to 16 MiB; peak busbw reduce 2.40 GB/s, all_gather 2.40 GB/s",
        ),
        (run(MANY), "4 operations, 1 KiB to 16 MiB; peak busbw 2.40 GB/s (broadcast)"),
        (
            run(SWEEP, "warn", findings=(LATE,)),
            "all_reduce, 1 KiB to 16 MiB; suspect: rank 1; peak busbw 2.40 GB/s at 16 MiB",
        ),
        (
            run(SWEEP, "fail", 1, (WRONG,)),
            "all_reduce, 1 KiB to 16 MiB; wrong-data; peak busbw 2.40 GB/s at 16 MiB (exit code 1)",
        ),
        (
            run(SWEEP[:1], "incomplete", 3, (finding(),), planned=8),
            "1 of 8 rows: all_reduce, 1 KiB; rank-died; suspect: rank 1; "
            "peak busbw 1.00 GB/s at 1 KiB (exit code 3)",
        ),
        (
            run((), "incomplete", 3, (FAR, finding()), planned=None),
            "0 rows: nothing was measured; host-unreachable, rank-died; suspects: host n3, rank 1 (exit code 3)",
        ),
        (
            run(SWEEP, "incomplete", 130, planned=80),
            "interrupted: 3 of 80 rows: all_reduce, 1 KiB to 16 MiB; "
            "peak busbw 2.40 GB/s at 16 MiB (exit code 130)",
        ),
        (
            run(SWEEP[:1], "incomplete", 3, (UNHEARD,), planned=8),
            "1 of 8 rows: all_reduce, 1 KiB; stream-missing; peak busbw 1.00 GB/s at 1 KiB (exit code 3)",
        ),
        (
            run(SWEEP, "unknown", 4, (GONE,)),
            "all_reduce, 1 KiB to 16 MiB; import-rows-missing: a.tar, b.txt: no row for 2 KiB; "
            "peak busbw 2.40 GB/s at 16 MiB (exit code 4)",
        ),
        (
            replace(run(SWEEP, "unknown", 4, (GONE,)), info=replace(good_run().info, source="a.tar, b.txt")),
            "a.tar, b.txt: all_reduce, 1 KiB to 16 MiB; import-rows-missing: no row for 2 KiB; "
            "peak busbw 2.40 GB/s at 16 MiB (exit code 4)",
        ),
        (empty_run(), "nothing was measured (exit code 4)"),
    ],
)
def test_the_first_line(result: Run, said: str) -> None:
    assert headline.of(result) == said
