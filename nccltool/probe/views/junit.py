"""Measurements as JUnit XML, for what shows the results of tests: an operation is a test case."""

from collections.abc import Sequence

from nccltool.core import junit
from nccltool.core.findings import Finding
from nccltool.core.junit import JunitCase, JunitSuite
from nccltool.core.text import counted
from nccltool.probe import headline
from nccltool.probe.finding_kinds import LEFT_OUT, WRONG_DATA
from nccltool.probe.result import Run


def render(run: Run) -> str:
    return render_all([run])


def render_all(runs: Sequence[Run]) -> str:
    """One document: a run is a suite."""
    return junit.report("probe", map(_suite, runs))


def _suite(run: Run) -> JunitSuite:
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
    left_out = next((one for one in findings if one.kind is LEFT_OUT), None)
    if left_out and not rows:
        return JunitCase(name=op, group="operations", kind="skipped", message=left_out.message)
    if wrong := sum(row.wrong or 0 for row in rows):
        message, text = f"{op}: {counted(wrong, 'wrong element')}", junit.finding_text(findings)
        return JunitCase(
            name=op, group="operations", kind="failure", type=WRONG_DATA.code, message=message, text=text
        )
    return junit.case_of(op, findings, "operations")
