"""What formats for results of tests share: a run is a suite, and an operation is a test case."""

from collections.abc import Sequence
from dataclasses import replace

from nccltool.core import junit
from nccltool.core.findings import Finding
from nccltool.core.junit import JunitCase, JunitSuite
from nccltool.core.text import counted
from nccltool.probe import headline
from nccltool.probe.finding_kinds import LEFT_OUT, WRONG_DATA
from nccltool.probe.result import Measurement, Run


def suite(run: Run) -> JunitSuite:
    """A run as a suite; an operation took as long as its timed calls."""
    about = {one: one.subject.name for one in run.findings if one.subject.kind == "operation"}
    ops = dict.fromkeys((*(row.op for row in run.measurements), *about.values()))
    others = junit.of_findings(one for one in run.findings if one not in about)
    cases = (_operation(run, op, [one for one in about if about[one] == op]) for op in ops)
    return JunitSuite(
        command=run.kind, info=run.info, verdict=run.verdict, headline=headline.of(run), cases=(*cases, *others)
    )


def _operation(run: Run, op: str, findings: Sequence[Finding]) -> JunitCase:
    """The ranks with wrong data have cases of their own; that of the operation fails with them."""
    rows = [row for row in run.measurements if row.op == op]
    return replace(_judged(op, rows, findings), duration_s=_timed_s(rows))


def _timed_s(rows: Sequence[Measurement]) -> float | None:
    """Seconds in timed calls; None where there are none, or their number is not known."""
    counted = [row.iterations * row.time_s.mean for row in rows if row.iterations is not None]
    return sum(counted) if rows and len(counted) == len(rows) else None


def _judged(op: str, rows: Sequence[Measurement], findings: Sequence[Finding]) -> JunitCase:
    left_out = next((one for one in findings if one.kind is LEFT_OUT), None)
    if left_out and not rows:
        return JunitCase(name=op, group="operations", kind="skipped", message=left_out.message)
    if wrong := sum(row.wrong or 0 for row in rows):
        message, text = f"{op}: {counted(wrong, 'wrong element')}", junit.finding_text(findings)
        return JunitCase(
            name=op, group="operations", kind="failure", type=WRONG_DATA.code, message=message, text=text
        )
    return junit.case_of(op, findings, "operations")
