"""How long do 64 emulated nodes take to their first row, and how much memory does the command itself?

On two cores, whatever the machine has, for that is what a laptop has. The ranks are real: Gloo, 64 processes.
"""

import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks import extent
from benchmarks.startup import NCCLTOOL

NODES = extent.of(64, 2)
CORES = 2
TARGET_S = 60.0
MOST_MIB = 200
_DEADLINE_S = "240"


def main() -> bool:
    """Print a line; whether both targets are met."""
    with tempfile.TemporaryDirectory() as runs:
        words = ("--nodes", str(NODES), "--nproc-per-node", "1", "--op", "all_reduce", "--sizes", "1KiB")
        argv = [
            NCCLTOOL,
            "probe",
            *words,
            "-n",
            "4",
            "-w",
            "1",
            "-v",
            "--deadline",
            _DEADLINE_S,
            "--run-dir",
            runs,
        ]
        begin = time.perf_counter()
        with subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_bind
        ) as run:
            row_s, said = _first_row(run, begin)
            mib = _peak_mib(run.pid)
            run.wait()
            total_s = time.perf_counter() - begin
    good = run.returncode == 0 and row_s <= TARGET_S and mib <= MOST_MIB
    print(
        f"{NODES} nodes of a rank on {CORES} cores: first row after {row_s:.1f} s (at most {TARGET_S:.0f}),"
        f" all done after {total_s:.1f} s; the command took {mib:.0f} MiB (at most {MOST_MIB});"
        f" exit code {run.returncode} {'ok' if good else 'MISSED'}"
    )
    if run.returncode:
        print("\n".join(said))
    return good


def _bind() -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])


def _first_row(run: subprocess.Popen[str], begin: float) -> tuple[float, list[str]]:
    """Seconds to the first row on standard error, and what came there."""
    assert run.stderr
    said = []
    for line in run.stderr:
        said.append(line.rstrip())
        if line.startswith("all_reduce"):
            return time.perf_counter() - begin, said
    run.send_signal(signal.SIGTERM)
    return float("inf"), said


def _peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else float("nan")
