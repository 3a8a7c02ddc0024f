"""A real job that is watched: one alert when it hangs, the command of --then, and the summary of Ctrl-C."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.attach_jobs import Job
from benchmarks.attach_states import BY_NAME

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(bool(os.geteuid()), reason="needs root: py-spy reads other processes"),
    pytest.mark.skipif(not shutil.which("py-spy", path=Path(sys.executable).parent), reason="needs py-spy"),
]
_WITHIN_S = 240


def _watched(
    options: Sequence[str], ready: Callable[[list[str]], bool], then: Callable[[int], None]
) -> tuple[int, list[str], str]:
    """Its exit code, lines, and output; `then` gets its pid once its lines are ready."""
    argv = [sys.executable, "-m", "nccltool", "attach", "--watch", "5s", *options]
    lines: list[str] = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        stderr, stdout = process.stderr, process.stdout
        reader = threading.Thread(target=lambda: lines.extend(stderr), daemon=True)
        reader.start()
        end = time.monotonic() + _WITHIN_S
        while not ready(lines) and time.monotonic() < end and process.poll() is None:
            time.sleep(0.1)
        then(process.pid)
        out = stdout.read()
        code = process.wait(_WITHIN_S)
        reader.join(_WITHIN_S)
    return code, lines, out


def test_a_job_that_hangs_while_it_is_watched(tmp_path: Path) -> None:
    metrics = tmp_path / "job.prom"
    with Job(BY_NAME["stopped"], "ddp", 3, 1, tmp_path / "job") as job:
        job._until(lambda: len(job.steps()) == 3 and max(job.steps()) > 5)
        options = [
            "--pid",
            str(job.alive.pid),
            "--until-hung",
            "--then",
            "sh -c 'exit 3'",
            "--metrics",
            str(metrics),
        ]
        code, lines, out = _watched(
            options,
            lambda lines: any("healthy" in line for line in lines),
            lambda _: os.kill(job.of_rank(1), signal.SIGSTOP),
        )
    assert (code, out.count("rank 1 is stopped")) == (1, 2)  # the headline and its finding, once
    assert [line for line in lines if " alert: " in line][-1].count("rank 1 is stopped") == 1
    assert lines[-1] == "`sh -c 'exit 3'` exited with code 3\n"
    assert 'nccltool_job_state{state="hung"} 1.0' in metrics.read_text()


def test_ctrl_c_shows_what_was_seen(tmp_path: Path) -> None:
    with Job(BY_NAME["healthy"], "ddp", 2, 0, tmp_path / "job") as job:
        job.spoil()
        code, lines, _ = _watched(
            ["--pid", str(job.alive.pid), "-v"],
            lambda lines: len(lines) >= 2,
            lambda pid: os.kill(pid, signal.SIGINT),
        )
    assert code == 130
    assert any(line.startswith("watched for ") and "healthy" in line for line in lines)
    assert lines[-1].startswith("    watching took ")
