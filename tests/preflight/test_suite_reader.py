"""Suites and platforms: what is read, and how a mistake is said."""

from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.preflight import suite_reader
from nccltool.preflight.probe_run import ProbePart
from nccltool.preflight.stages.doctor import DoctorPart
from nccltool.preflight.stages.train import TrainPart
from nccltool.preflight.suite import Expectation, Suite, with_platform

SUITE = """schema = 1
title = "A suite"
about = "2 min"

[doctor]
ignore = ["LIM"]

[across]
ops = ["all_reduce"]
sizes = ["64 KiB", "1 GiB"]
row_time = "500 ms"

[[across.expect]]
metric = "busbw"
op = "all_reduce"
size = "1 GiB"
at_least = "300 GB/s"
source = "a page"
date = "2026-05"
seen_by_us = false

[[across.expect]]
metric = "late"
within = ["1 us", "20 ms"]
severity = "warn"
source = "a rule"

[train]
strategies = "all"
"""
PLATFORM = """schema = 1
title = "A machine"

[match]
gpu = "H100"

[[within.expect]]
metric = "busbw"
op = "all_reduce"
at_least = "300 GB/s"
source = "a page"
date = "2026-05-01"
measured_on = "one host"
seen_by_us = false
"""


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    return file


def is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in SUITE
    file = written(tmp_path, SUITE.replace(old, new, 1))
    with pytest.raises(BadInput) as error:
        suite_reader.read(file)
    assert said in error.value.message
    assert any(said in problem for problem in suite_reader.problems(file)), suite_reader.problems(file)


def test_a_suite(tmp_path: Path) -> None:
    file = written(tmp_path, SUITE)
    suite = suite_reader.read(file)
    busbw = Expectation(
        metric="busbw",
        of="all_reduce",
        size=2**30,
        low=300e9,
        text="at least 300 GB/s",
        source="a page",
        date="2026-05",
        seen_by_us=False,
    )
    late = Expectation(
        metric="late",
        low=1e-6,
        high=0.02,
        text="from 1 us to 20 ms",
        severity="warn",
        source="a rule",
    )
    assert suite == Suite(
        name="mine",
        title="A suite",
        path=str(file),
        about_s=120.0,
        parts={
            "doctor": DoctorPart(ignore=("LIM",)),
            "across": ProbePart(ops=("all_reduce",), sizes=(65536, 2**30), row_time=0.5, expect=(busbw, late)),
            "train": TrainPart(strategies=("all",)),
        },
    )
    assert list(suite.parts) == ["doctor", "across", "train"]
    assert (str(busbw.check()), busbw.unit, str(late.check())) == ("/all_reduce-busbw-1GiB", "B/s", "/late")
    assert busbw.provenance == "a page; 2026-05; not verified by nccltool"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('source = "a page"\n', "", "mine.toml:13: across.expect needs source"),
        ('"2026-05"', '"last May"', "mine.toml:19: across.expect.date must be 2026-05"),
        (
            '["1 us", "20 ms"]',
            '["20 ms", "1 us"]',
            "mine.toml:24: across.expect.within must start with the smaller",
        ),
        ('"late"', '"exposed"', "mine.toml:23: across.expect.metric must be one of busbw"),
        ('"late"', "7", "mine.toml:23: across.expect.metric must be one of busbw"),
        ('"late"', '["late"]', "mine.toml:23: across.expect.metric must be one of busbw"),
        ('severity = "warn"', 'at_most = "1 s"', "mine.toml:22: across.expect needs one of at_least"),
        ('about = "2 min"\n', "", "mine.toml: the file needs about"),
        ('strategies = "all"', "", "mine.toml:28: train needs strategies"),
    ],
)
def test_a_mistake_is_said_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    is_refused(tmp_path, old, new, said)


@pytest.mark.parametrize("name", ["source", "date", "measured_on", "seen_by_us"])
def test_a_number_of_a_platform_has_all_of_its_provenance(tmp_path: Path, name: str) -> None:
    lines = [line for line in PLATFORM.splitlines() if not line.startswith(f"{name} =")]
    file = written(tmp_path, "\n".join(lines))
    assert list(suite_reader.problems(file)) == [f"{file}:7: within.expect needs {name}"]


def test_a_platform_says_which_hosts_it_is_about(tmp_path: Path) -> None:
    file = written(tmp_path, PLATFORM.replace('gpu = "H100"', ""))
    assert list(suite_reader.problems(file)) == [
        f"{file}:4: match needs at least one of gpu, gpus, provider, product"
    ]


def test_numbers_of_a_platform_go_to_the_stages_of_a_suite(tmp_path: Path) -> None:
    platform = suite_reader.read_platform(written(tmp_path, PLATFORM))
    (tmp_path / "suite.toml").write_text(SUITE)
    suite = with_platform(suite_reader.read(tmp_path / "suite.toml"), platform)
    assert suite.platform == "mine"
    assert "within" not in suite.parts
    assert len(suite.parts["across"].expect) == 2


@pytest.mark.parametrize("file", list(suite_reader.files()), ids=lambda file: file.stem)
def test_the_files_that_come_with_nccltool(file: Path) -> None:
    assert suite_reader.problems(file) == ()
    if file.parent.name == "platforms":
        platform = suite_reader.read_platform(file)
        assert any(platform.expect.values())
    else:
        assert suite_reader.read(file).name == file.stem


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(BadInput) as error:
        suite_reader.find("preflite")
    assert (error.value.message, error.value.remedy) == (
        "unknown suite 'preflite'",
        "did you mean preflight? nccltool checks list shows the names; a path needs a slash: ./NAME.toml",
    )
