"""Is the right rank named when something breaks? Random drills, one after the other."""

import json
import os
import random
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import extent
from benchmarks.startup import NCCLTOOL

RUNS = extent.of(20, 1)
TIMEOUT_S = 4
LATE_S = 5
STARTUP_S = 6
WORLD = 4
OPS = ("all_reduce", "all_gather", "broadcast", "send_recv")
SIZES = ("1KiB", "256KiB")
FINDING = {
    "kill": "rank-died",
    "exit": "rank-died",
    "stop": "rank-hung",
    "hang": "rank-hung",
    "raise": "rank-error",
}


@dataclass(frozen=True, slots=True)
class Drill:
    """A fault, and what must come of it."""

    action: str
    rank: int
    text: str

    @property
    def finding(self) -> str:
        """The code that must be found."""
        return FINDING.get(self.action, "wrong-data")

    @property
    def exit_code(self) -> int:
        """Wrong data was judged; everything else did not complete."""
        return 1 if self.action == "corrupt" else 3


def main() -> bool:
    """Print a line for each drill; whether all culprits were right, in time, and nothing was left."""
    source = random.Random(20261121)
    good = [_run(_random(source)) for _ in range(RUNS)]
    print(f"{sum(good)} of {RUNS} drills: right culprit, in time, nothing left")
    return all(good)


def _random(source: random.Random) -> Drill:
    action = source.choice(("kill", "stop", "hang", "raise", "exit", "corrupt"))
    rank = source.randrange(WORLD)
    place = source.choice(("start", "hello", "enter", "timing", "check"))
    text = f"{action}:rank={rank},at={place}"
    if action == "corrupt" or place in ("enter", "timing", "check"):
        text += f",op={source.choice(('all_reduce', 'all_gather'))},size={source.choice(SIZES)}"
    return Drill(action, rank, text)


def _run(drill: Drill) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        argv = [NCCLTOOL, "probe", "--nodes", "2", "--nproc-per-node", "2", "--timeout", str(TIMEOUT_S)]
        what = ["--op", ",".join(OPS), "--sizes", ",".join(SIZES), "--format", "json", "-q", "--run-dir", folder]
        begin = time.perf_counter()
        done = subprocess.run(
            [*argv, *what],
            env={**os.environ, "NCCLTOOL_FAULT": drill.text},
            stdout=subprocess.PIPE,
            check=False,
        )
        seconds = time.perf_counter() - begin
        left = _still_alive(next(Path(folder).glob("*/events.jsonl")))
    errors = [f for f in json.loads(done.stdout)["findings"] if f["severity"] == "error"]
    named = [(f["code"], f["subject"]["name"]) for f in errors]
    right = named == [(drill.finding, str(drill.rank))] and done.returncode == drill.exit_code
    in_time = seconds <= STARTUP_S + TIMEOUT_S + LATE_S
    good = right and in_time and not left
    verdict = "ok" if good else "WRONG"
    print(f"{drill.text:52} -> {named} exit {done.returncode}, {seconds:.1f} s, left {left} {verdict}")
    return good


def _still_alive(events: Path) -> list[int]:
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    pids = [line["pid"] for line in lines if line["event"] == "spawned"]
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]
