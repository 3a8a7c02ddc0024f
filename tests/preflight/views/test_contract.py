"""Reports for what others read: against their published schemas, and whatever a host may have said."""

import csv
import io
import json
import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.verdicts import Verdict
from nccltool.preflight.result import HostVerdict, Preflight, StageDuration
from nccltool.preflight.views import FORMATS, renderer
from tests import samples
from tests.conftest import GOLDEN
from tests.preflight.samples import outcome
from tests.preflight.views.test_table import FAILING
from tests.support import junit, reports

HOSTILE = "x\"<&>]]>\x00\x1b[31m\ud800\ufffe|=\n'\u202e"
NOTHING = replace(FAILING, outcomes=(), hosts=(), findings=(), verdict=Verdict(status="unknown", exit_code=4))
OBSERVED = replace(FAILING, verdict=Verdict(status="fail", exit_code=0), would_exit=1)
WARNING = replace(
    FAILING, verdict=Verdict(status="warn", exit_code=0), outcomes=(outcome("doctor/A", "warn", "n1"),)
)
MEASURED = replace(
    FAILING,
    measurements=samples.good_run().measurements,
    stage_times=(StageDuration(stage="inventory", duration_s=0.25), StageDuration(stage="across", duration_s=4.5)),
)


def said_by_a_host(text: str) -> Preflight:
    said = outcome(
        "doctor/X", "fail", f"n{text}", reason=text, expected=text, source=text, repeat=text, page=text,
        findings=(samples.finding(message=text, evidence=(text,), remedy=text),),
    )  # fmt: skip
    host = HostVerdict(host=f"n{text}", status="fail", reason=text, exclude=True)
    return replace(FAILING, suite=text, outcomes=(*FAILING.outcomes, said), hosts=(*FAILING.hosts, host))


EVERY = {
    "failing": FAILING,
    "nothing": NOTHING,
    "observed": OBSERVED,
    "warning": WARNING,
    "measured": MEASURED,
    "hostile": said_by_a_host(HOSTILE),
}
each = pytest.mark.parametrize("preflight", EVERY.values(), ids=EVERY.keys())


@pytest.mark.parametrize("form", FORMATS[2:])
def test_what_programs_read_stays_as_it_is(form: str, golden: Callable[[str, str], None]) -> None:
    golden(f"preflight.{form}", renderer(form)(MEASURED))


@each
def test_junit_is_as_jenkins_wants_it(preflight: Preflight) -> None:
    junit.valid(renderer("junit")(preflight))


def test_junit_of_the_doctor_too() -> None:
    junit.valid((GOLDEN / "doctor.junit").read_text())


def test_what_could_not_be_judged_is_no_pass_in_junit() -> None:
    root = ET.fromstring(renderer("junit")(FAILING))
    inside = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert inside["late"] == ["error"]
    assert inside["AWS001"] == ["skipped"]
    assert inside["within"] == ["skipped"]
    assert inside["data [n2]"] == ["failure"]
    assert inside["LIM001 [n1]"] == ["system-out"]
    assert inside["present [n1]"] == []
    across = next(suite for suite in root if suite.get("name") == "across")
    assert (across.get("tests"), across.get("failures"), across.get("errors"), across.get("skipped")) == (
        *("3", "2", "1", "0"),
    )


@each
def test_ctrf_is_as_its_schema_wants_it(preflight: Preflight) -> None:
    reports.ctrf(renderer("ctrf")(preflight))


@each
def test_sarif_is_as_its_schema_wants_it(preflight: Preflight) -> None:
    results = reports.sarif(renderer("sarif")(preflight))
    assert [one["ruleId"] for one in results] == [one.code for one in preflight.findings]


@each
def test_csv_has_a_row_an_outcome(preflight: Preflight) -> None:
    rows = list(csv.reader(io.StringIO(renderer("csv")(preflight))))
    assert len(rows) == 1 + len(preflight.outcomes)
    assert {len(row) for row in rows} == {10}


def test_stages_take_as_long_as_was_measured() -> None:
    suites = ET.fromstring(renderer("junit")(MEASURED)).iter("testsuite")
    times = {suite.get("name"): suite.get("time") for suite in suites}
    assert (times["inventory"], times["across"], times["doctor"]) == ("0.250", "4.500", None)


@each
def test_nagios_is_one_line_with_figures(preflight: Preflight) -> None:
    text = renderer("nagios")(preflight)
    assert text.count("\n") == 1
    assert text.count("|") == 1
    said, _, figures = text.partition(" | ")
    assert re.match(r"NCCLTOOL (OK|WARNING|CRITICAL|UNKNOWN) - ", said)
    words = shlex.split(figures)
    assert words
    for word in words:
        assert re.fullmatch(r"[^=']+=[0-9.e+-]+(s|%|B|c)?(;[0-9.]*){0,4}", word), word


@pytest.mark.parametrize(
    ("preflight", "begin"),
    [
        (FAILING, "NCCLTOOL CRITICAL - preflight: fail; fail: across/data, across/all_reduce-busbw-1GiB; "),
        (NOTHING, "NCCLTOOL UNKNOWN - preflight: unknown | "),
        (OBSERVED, "NCCLTOOL OK - preflight: fail; observed only, the exit code would have been 1; "),
        (WARNING, "NCCLTOOL WARNING - preflight: warn; warn: doctor/A; "),
    ],
)
def test_the_word_is_that_of_the_exit_code(preflight: Preflight, begin: str) -> None:
    assert renderer("nagios")(preflight).startswith(begin)


@each
def test_hosts_are_lines(preflight: Preflight) -> None:
    lines = renderer("hosts")(preflight).splitlines()
    assert len(lines) == len(preflight.hosts)
    for line, host in zip(lines, preflight.hosts, strict=True):
        assert line.startswith(f"nccltool time={preflight.info.started} suite=")
        assert f" status={host.status} exclude={'yes' if host.exclude else 'no'} reason=" in line


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "json"])
@given(text=st.text(max_size=12))
def test_whatever_a_host_said(form: str, text: str) -> None:
    said = renderer(form)(said_by_a_host(text))
    assert said.replace("\n", "").isprintable()
    if form == "junit":
        ET.fromstring(said)
    elif form == "ctrf":
        json.loads(said)
