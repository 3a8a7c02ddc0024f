"""Is a late rank named, and nobody when nobody is late? Runs with a delay on one rank, and runs without, in which
every second has busy loops beside it."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import extent
from benchmarks.startup import NCCLTOOL

RUNS = extent.of(20, 1)
SHARE_NEEDED = 0.95
DELAYS_MS = extent.of((5, 20, 50), (20,))
_QUICK_ROWS = ("--sizes", "1KiB,1MiB", "-n", "5", "-w", "1")
_ROWS = ("--sizes", "1KiB,64KiB,1MiB")
_LOOPS = 2
"""One for each core of a small machine."""


@dataclass(frozen=True, slots=True)
class Command:
    """What is run with a delay, and what without: more rows, in which chance has more occasions."""

    name: str
    ranks: int
    delayed: tuple[str, ...]
    healthy: tuple[str, ...]
    least_ms: int = 0
    """Smaller delays are no failed check of it."""


def _probe(ranks: int) -> Command:
    nodes = ("probe", "--nodes", "2", "--nproc-per-node", str(ranks // 2), "--op")
    return Command(
        f"probe, {ranks} ranks",
        ranks,
        (*nodes, "all_reduce", *_QUICK_ROWS),
        (*nodes, "all_reduce,broadcast,send_recv", *_ROWS),
    )


_TRAIN = ("train", "ddp", "--nodes", "2", "--steps", "2")
_PREFLIGHT = ("preflight", "--nodes", "2")
COMMANDS = (
    _probe(2),
    _probe(4),
    Command("train ddp, 2 ranks", 2, _TRAIN, _TRAIN),
    Command("preflight, 2 ranks", 2, _PREFLIGHT, _PREFLIGHT, 20),
)


def main(names: tuple[str, ...] = ()) -> bool:
    """Print a line for each command and delay; whether all targets are met."""
    good = True
    for command in COMMANDS[: extent.of(None, 1)]:
        if names and command.name.split()[0].rstrip(",") not in names:
            continue
        for delay_ms in DELAYS_MS:
            if delay_ms >= command.least_ms:
                good &= _all_named(command, delay_ms)
        good &= _nobody_named(command)
    return good


def _all_named(command: Command, delay_ms: int) -> bool:
    named = 0
    for run in range(RUNS):
        rank = run % command.ranks
        named += _ranks_named(command.delayed, f"slow:rank={rank},ms={delay_ms}") == {str(rank)}
    return _said(f"{command.name}: {delay_ms} ms late: the right rank, and only it, named", named)


def _nobody_named(command: Command) -> bool:
    silent = 0
    for run in range(RUNS):
        with _busy_loops(_LOOPS if run % 2 else 0):
            silent += not _ranks_named(command.healthy, "")
    return _said(f"{command.name}: nobody late: nobody named", silent)


def _said(what: str, count: int) -> bool:
    good = count >= SHARE_NEEDED * RUNS
    print(f"{what} in {count} of {RUNS} runs {'ok' if good else 'MISSED'}", flush=True)
    return good


@contextlib.contextmanager
def _busy_loops(count: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _ranks_named(words: tuple[str, ...], fault: str) -> set[str]:
    """The ranks, or hosts, that a run names as late."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [NCCLTOOL, *words, "--format", "json", "--run-dir", folder, "-q"]
        env = {**os.environ, "NCCLTOOL_FAULT": fault}
        done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=False)
    document = json.loads(done.stdout)
    if words[0] == "preflight":
        failed = [one for one in document["outcomes"] if one["code"].endswith("/late") and one["status"] == "fail"]
        return {one["reason"].split("for rank ")[1].split()[0] for one in failed}
    return {one["subject"]["name"] for one in document["findings"] if one["code"] == "late-rank"}
