"""Pairs of --format and --output: what goes where, and what is refused."""

import json
from pathlib import Path

import pytest

from nccltool.cli.deliveries import Delivery, paired
from nccltool.core.errors import BadInput
from tests.conftest import Nccltool

F, O = "form", "output"  # noqa: E741


@pytest.mark.parametrize(
    ("forms", "outputs", "order", "made"),
    [
        ((), (), (), [("table", None)]),
        (("json",), ("a",), (O, F), [("json", "a")]),
        ((), ("a",), (O,), [("table", "a")]),
        (("json", "junit"), ("a", "b"), (F, O, F, O), [("json", "a"), ("junit", "b")]),
        (("table", "junit"), ("b",), (F, F, O), [("junit", "b"), ("table", None)]),
        (("junit", "table"), ("b",), (F, O, "op", F), [("junit", "b"), ("table", None)]),
        (("json", "junit"), ("b",), (F, O), [("junit", "b"), ("json", None)]),
        (("json",), ("-",), (F, O), [("json", None)]),
        (("json", "junit"), ("-", "b"), (F, O, F, O), [("junit", "b"), ("json", None)]),
    ],
    ids=[
        *("plain", "any order", "a file", "two files", "screen first", "screen last", "one from a variable"),
        *("a dash", "a dash and a file"),
    ],
)
def test_what_goes_where(
    forms: tuple[str, ...], outputs: tuple[str, ...], order: tuple[str, ...], made: list[tuple[str, str | None]]
) -> None:
    assert list(paired(forms, outputs, order)) == [Delivery(*one) for one in made]


@pytest.mark.parametrize(
    ("forms", "outputs", "order", "message"),
    [
        (("json", "csv"), (), (F, F), "--format json and --format csv would both go to standard output"),
        (("json",), ("a", "b"), (F, O, O), "--output b has no --format before it"),
        (("json", "csv"), ("a", "b"), (O, O, F, F), "--output a has no --format before it"),
        (("json", "csv"), ("a", "a"), (F, O, F, O), "--output a is given twice"),
        (
            ("json", "csv"),
            ("-", "-"),
            (F, O, F, O),
            "--format json and --format csv would both go to standard output",
        ),
    ],
)
def test_what_is_not_clear(
    forms: tuple[str, ...], outputs: tuple[str, ...], order: tuple[str, ...], message: str
) -> None:
    with pytest.raises(BadInput) as raised:
        paired(forms, outputs, order)
    assert raised.value.message == message


def test_the_doctor_in_every_format_at_once(nccltool: Nccltool, tmp_path: Path) -> None:
    job = tmp_path / "job.env"
    job.write_text("NCCL_BUFFSIZE=4M\n")
    forms = ("json", "sarif", "junit", "ctrf", "nagios")
    pairs = [word for form in forms for word in ("--format", form, "--output", str(tmp_path / form))]
    done = nccltool("doctor", "--env-file", str(job), *pairs, "--format", "table", NCCLTOOL_OUTPUT="")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("FAIL doctor on ")
    assert json.loads((tmp_path / "json").read_text())["exit_code"] == 1
    assert (tmp_path / "nagios").read_text().startswith("NCCLTOOL CRITICAL - doctor on ")


def test_a_file_that_cannot_be_written_is_told_before_the_work(nccltool: Nccltool, tmp_path: Path) -> None:
    words = ("--format", "json", "--output", str(tmp_path / "a"), "--format", "csv", "--output", "/nowhere/b")
    done = nccltool("compare", "one", "two", *words)
    assert done.code == 2
    assert "--output /nowhere/b cannot be written" in done.err
    assert not (tmp_path / "a").exists()
