"""nccltool compare."""

import json
from dataclasses import replace

import pytest

from nccltool.core import run_directory
from nccltool.core.verdicts import Verdict
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.probe.document import to_json
from nccltool.probe.result import Run
from tests.conftest import Nccltool
from tests.samples import info, job, measurement, stats


def kept(number: int, factor: float = 1.0, **changes: object) -> str:
    """A run with two rows in the folder of runs; its id."""
    name = f"2025010{number}T000000Z-000{number}"
    times = [replace(stats(0.002 * factor), p90=0.00201 * factor) for _ in range(2)]
    rows = [measurement(time_s=times[0]), measurement(time_s=times[1], bytes=2**24)]
    run = Run(
        info=info(id=name, **changes),
        verdict=Verdict(status="pass", exit_code=0),
        measurements=tuple(rows),
        findings=(),
    )
    folder = run_dir_of(run_directory.base_folder(), job(run_id=name))
    folder.finish(to_json(run))
    folder.close()
    return name


@pytest.mark.parametrize(("factor", "code", "word"), [(1.0, 0, "same"), (1.2, 1, "worse"), (0.8, 0, "better")])
def test_exit_codes(nccltool: Nccltool, factor: float, code: int, word: str) -> None:
    a, b = kept(1), kept(2, factor)
    said = nccltool("compare", a, b)
    assert (said.code, said.err) == (code, "")
    assert said.out.startswith(word.upper())
    document = json.loads(nccltool("compare", a, b, "--format", "json").out)
    assert (document["kind"], document["exit_code"], document["outcome"]) == ("compare", code, word)
    assert [row["effect"]["outcome"] for row in document["rows"]] == [word] * 2


def test_what_is_not_comparable(nccltool: Nccltool) -> None:
    a, b = kept(1), kept(2, torch="2.14.0", transport="ib")
    said = nccltool("compare", a, b)
    assert said.code == 2
    assert "transport (unknown; ib), torch (2.13.0+cpu; 2.14.0)" in said.err
    assert "--ignore torch --ignore unknown" in said.err
    assert nccltool("compare", a, b, "--ignore", "torch", "--ignore", "unknown").code == 0


def test_a_key_that_is_none(nccltool: Nccltool) -> None:
    said = nccltool("compare", "a", "b", "--ignore", "colour")
    assert (said.code, "'colour' is not a key" in said.err) == (2, True)
