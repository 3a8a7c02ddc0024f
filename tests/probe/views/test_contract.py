"""Every format shows every run, as it is stored in tests/golden."""

import inspect
import xml.etree.ElementTree as ET
from collections.abc import Callable

import click
import pytest

from nccltool.cli.deliveries import several
from nccltool.core.look import Look
from nccltool.probe import views
from nccltool.probe.result import Run
from tests.samples import RUNS
from tests.support import junit, reports

formats = pytest.mark.parametrize("form", views.FORMATS)
runs = pytest.mark.parametrize("name", RUNS)


def test_the_command_line_offers_every_format() -> None:
    @click.command
    @several(*views.FORMATS)
    def command() -> None: ...

    (option,) = [option for option in command.params if option.name == "form"]
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == views.FORMATS


@formats
def test_the_signature(form: str) -> None:
    parameters = inspect.signature(views.renderer(form)).parameters
    look = {"look": Look} if form == "table" else {}
    assert {name: parameter.annotation for name, parameter in parameters.items()} == {"run": Run, **look}


@formats
@runs
def test_golden(form: str, name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"run-{name}.{form}", views.renderer(form)(RUNS[name]()))


@formats
@runs
def test_text_ends_with_one_newline(form: str, name: str) -> None:
    text = views.renderer(form)(RUNS[name]())
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@runs
def test_reports_are_valid(name: str) -> None:
    run = RUNS[name]()
    junit.valid(views.renderer("junit")(run))
    tests = reports.ctrf(views.renderer("ctrf")(run))
    assert set(tests) >= {row.op for row in run.measurements}
    assert len(reports.sarif(views.renderer("sarif")(run))) == len(run.findings)


def test_an_operation_took_as_long_as_its_timed_calls() -> None:
    run = RUNS["good"]()
    seconds: dict[str, float] = {}
    for row in run.measurements:
        assert row.iterations is not None
        seconds[row.op] = seconds.get(row.op, 0.0) + row.iterations * row.time_s.mean
    cases = ET.fromstring(views.renderer("junit")(run)).iter("testcase")
    times = {case.get("name"): case.get("time") for case in cases if case.get("classname") == "probe.operations"}
    assert times == {op: f"{total:.3f}" for op, total in seconds.items()}
