"""Each message on its own points at its family: warnings of NCCL in the wording of every generation of its prefix,
and lines of the programs around it."""

from pathlib import Path

import pytest

from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder

_DATA = Path(__file__).parents[2] / "data"
MESSAGES = [line.split(" | ", 2) for line in (_DATA / "messages.txt").read_text().splitlines()]
HARMLESS = (_DATA / "harmless.txt").read_text().splitlines()
LINES = [line.split(" | ", 1) for line in (_DATA / "lines.txt").read_text().splitlines()]
PREFIXES = {
    "2.3": "h1:10:20 [0] {source}:12 WARN {text}",
    "2.18": "h1:10:20 [0] {source}:12 NCCL WARN {text}",
    "2.26": "[2026-01-02 03:04:05] h1:10:20 [0] {source}:12 NCCL WARN {text}",
    "2.30.7": "[2026-01-02 03:04:05] h1:10:20 [0] {source}:12 (someFunction) NCCL WARN {text}",
    "rccl": "h1:10:20 [0] /opt/a/long/path/of/a/package/build/hipify/src/{source}:12 NCCL WARN {text}",
    "torchrun": "[default1]:[rank1] h1:10:20 [0] {source}:12 NCCL WARN {text}",
    "mpirun": "[1,1]<stdout>:h1:10:20 [0] {source}:12 NCCL WARN {text}",
}


_OF_NCCL = ("h1:10:20 [0] NCCL INFO init.cc:30 -> 2", "h1: Test NCCL failure common.cu:9 'some error'")
_OF_TORCHRUN = ("failed (exitcode: 1) local_rank: 1 (pid: 99) of binary: /usr/bin/python3",)


def _judged(*lines: str) -> str:
    reader, builder = LogReader(), TimelineBuilder()
    for event in reader.read("a.log", ["\n".join(lines).encode()]):
        builder.add(event)
    return judge(builder.timeline(reader.lines_read)).root_cause


@pytest.mark.parametrize(("cause", "source", "text"), MESSAGES, ids=lambda value: value[:40])
def test_a_warning_points_at_its_family(cause: str, source: str, text: str) -> None:
    found = {
        name: _judged(prefix.format(source=source, text=text), *_OF_NCCL) for name, prefix in PREFIXES.items()
    }
    assert found == dict.fromkeys(PREFIXES, cause)


@pytest.mark.parametrize(("cause", "line"), LINES, ids=lambda value: value[:40])
def test_a_line_points_at_its_family(cause: str, line: str) -> None:
    assert _judged(line, *_OF_TORCHRUN) == cause


@pytest.mark.parametrize("line", HARMLESS, ids=lambda value: value[:40])
def test_an_alarming_line_of_a_healthy_job_is_no_failure(line: str) -> None:
    assert _judged(line, "step 10 loss 1.2", "step 20 loss 1.1") == "none"
