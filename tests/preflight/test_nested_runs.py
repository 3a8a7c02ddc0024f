"""Commands of nccltool itself, side by side: what came of them, and why nothing did."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nccltool.core import processes
from nccltool.launch.standstill import Standstill
from nccltool.preflight import nested_runs
from nccltool.preflight.nested_runs import Call, Reserve


def call(label: str, *words: str, end: float = 60.0) -> Call:
    return Call(label=label, words=words, nodes=(0,), end=time.monotonic() + end, fault=None)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first word of a call is run as a program in the place of nccltool; those that were begun."""
    begun: list[str] = []

    def start(words: Sequence[str], env: Mapping[str, str], out: int, err: Any) -> subprocess.Popen[bytes]:
        begun.append(words[0])
        return subprocess.Popen([sys.executable, "-ISc", *words], stdout=out, stderr=err, start_new_session=True)

    monkeypatch.setattr(processes, "start_nccltool", start)
    return begun


def test_why_there_is_no_run(started: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested_runs, "GRACE_S", -0.9)
    calls = (
        call("error", "import sys; sys.exit('begin\\nError: no such word\\n  -> other')"),
        call("last", "import sys; sys.exit('begin\\nkilled by me\\n')"),
        call("silent", "raise SystemExit(7)"),
        call("hangs", "import time; time.sleep(60)", end=0.0),
    )
    found = nested_runs.run(calls, tmp_path, 4, lambda: False)
    assert [(one.run, one.folder) for one in found] == [(None, "")] * 4
    assert [one.why_not for one in found] == [
        *("no such word", "killed by me", "it ended with exit code 7"),
        "killed: it did not end within 0 s",
    ]


def test_who_else_ended_a_command_is_known(started: list[str], tmp_path: Path) -> None:
    calls = (
        call("killed", "import os; os.kill(os.getpid(), 9)"),
        call("interrupted", "raise SystemExit(130)"),
        call("failed", "raise SystemExit(3)"),
    )
    found = nested_runs.run(calls, tmp_path, 3, lambda: False)
    assert [one.killed_by for one in found] == ["SIGKILL", "SIGTERM or SIGINT", ""]


def test_what_we_end_ourselves_was_killed_by_nobody_else(started: list[str], tmp_path: Path) -> None:
    found = nested_runs.run([call("a", "import time; time.sleep(60)")], tmp_path, 1, lambda: bool(started))
    assert found[0].killed_by == ""


def test_what_was_not_begun_was_interrupted(started: list[str], tmp_path: Path) -> None:
    calls = [call(name, "import time; time.sleep(60)") for name in ("a", "b")]
    found = nested_runs.run(calls, tmp_path, 1, lambda: bool(started))
    assert (len(started), found[1].why_not) == (1, "interrupted")


class _Suspended(Standstill):
    """25 s pass before the second look."""

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self._looks = 0

    def look(self, now: float) -> float:
        self._looks += 1
        return 25.0 if self._looks == 2 else super().look(now)


def test_how_long_this_command_was_stopped_itself(
    started: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nested_runs, "Standstill", _Suspended)
    told: list[float] = []
    nested_runs.run([call("a", "import time; time.sleep(0.3)")], tmp_path, 1, lambda: False, told.append)
    assert 25.0 in told


def test_the_reserve_follows_the_slowest_command() -> None:
    reserve = Reserve()
    assert reserve.deadline_s(60.0) == 55.0
    reserve.note_start(0.5)
    reserve.note_around(4.0)
    assert reserve.seconds == 5.0
    reserve.note_start(3.0)
    assert reserve.deadline_s(60.0) == 51.0
    reserve.note_around(10.0)
    reserve.note_around(6.0)
    assert reserve.deadline_s(60.0) == 47.5
    assert (reserve.deadline_s(20.0), reserve.deadline_s(1.0)) == (10.0, 1.0)


_RUN = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[sys.argv.index("--run-dir") + 1]) / "20260101T000000Z-00000000"
folder.mkdir()
(folder / "job.json").write_text("{}")
(folder / "run.json").write_text(pathlib.Path(sys.argv[1]).read_text())
"""


def test_what_a_command_takes_besides_its_work_is_learned(started: list[str], tmp_path: Path) -> None:
    """Its document says that it worked for less than no time: a minute more was beside its work."""
    document = tmp_path / "run.json"
    sample = json.loads((Path(__file__).parents[1] / "data/documents-0.1.0/probe.json").read_text())
    sample["run"]["duration_s"] = -60.0
    document.write_text(json.dumps(sample))
    reserve = Reserve()
    words = (_RUN, str(document))
    (came,) = nested_runs.run([call("a", *words)], tmp_path / "runs", 1, lambda: False, reserve=reserve)
    assert came.run is not None, came.why_not
    assert reserve.seconds > 60.0
