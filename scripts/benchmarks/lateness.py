"""Is a late rank named, and nobody when nobody is late? 20 runs with a delay of 5 ms on one rank, 20 without."""

import json
import os
import subprocess
import tempfile

from benchmarks import extent
from benchmarks.startup import NCCLTOOL

RUNS = extent.of(20, 1)
NEEDED = 19
DELAY_MS = 5


def main() -> bool:
    """Print two lines; whether both targets are met."""
    named = sum(_named(f"slow:rank={run % 2},ms={DELAY_MS}") == {run % 2} for run in range(RUNS))
    silent = sum(_named("") == set() for _ in range(RUNS))
    good = min(named, silent) >= NEEDED
    print(f"{DELAY_MS} ms late: the right rank, and only it, named in {named} of {RUNS} runs (at least {NEEDED})")
    print(f"nobody late: nobody named in {silent} of {RUNS} runs (at least {NEEDED}) {'ok' if good else 'MISSED'}")
    return good


def _named(fault: str) -> set[int]:
    """The ranks that any row of a run names."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [NCCLTOOL, "probe", "--nodes", "2", "--op", "all_reduce,broadcast,send_recv", "-q"]
        sweep = ["--sizes", "1KiB,64KiB,1MiB", "--format", "json", "--run-dir", folder]
        env = {**os.environ, "NCCLTOOL_FAULT": fault}
        done = subprocess.run([*argv, *sweep], env=env, stdout=subprocess.PIPE, check=True)
    rows = json.loads(done.stdout)["measurements"]
    return {row["late_rank"] for row in rows if row["late_rank"] is not None}
