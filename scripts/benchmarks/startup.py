"""How soon is there something to see? Yardsticks: `import click` for --help, `import torch` for the first row."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import extent

HELP_TARGET_S = 0.15
HELP_TARGET = 1.5
ROW_TARGET = 2.5
_ROUNDS_HELP, _ROUNDS_ROW = extent.of((15, 5), (1, 1))

NCCLTOOL = str(Path(sys.executable).with_name("nccltool"))


def main() -> bool:
    """Print two lines; whether both targets are met."""
    help_s = _median([NCCLTOOL, "--help"], _ROUNDS_HELP)
    click_s = _median([sys.executable, "-c", "import click"], _ROUNDS_HELP)
    good_help = help_s <= HELP_TARGET_S and help_s <= HELP_TARGET * click_s
    print(
        f"--help {help_s * 1e3:.0f} ms (at most {HELP_TARGET_S * 1e3:.0f}), {help_s / click_s:.2f} of import click"
        f" (at most {HELP_TARGET}) {'ok' if good_help else 'MISSED'}"
    )
    torch_s, row_s = [], []
    for _ in range(_ROUNDS_ROW):
        torch_s.append(_seconds([sys.executable, "-c", "import torch"]))
        row_s.append(_first_row_s())
    ratio = statistics.median(row_s) / statistics.median(torch_s)
    good_row = ratio <= ROW_TARGET
    print(
        f"first row of probe --nodes 2 after {statistics.median(row_s):.2f} s, {ratio:.2f} of import torch"
        f" (at most {ROW_TARGET}) {'ok' if good_row else 'MISSED'}"
    )
    return good_help and good_row


def _median(argv: Sequence[str], rounds: int) -> float:
    return statistics.median(_seconds(argv) for _ in range(rounds))


def _seconds(argv: Sequence[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def _first_row_s() -> float:
    """From the command to its first row on standard error (-v prints rows as they are measured)."""
    with tempfile.TemporaryDirectory() as runs:
        argv = [NCCLTOOL, "probe", "--nodes", "2", "-v", "--run-dir", runs]
        begin = time.perf_counter()
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as probe:
            assert probe.stderr
            row = next((line for line in probe.stderr if b"] all_reduce " in line), b"")
            seconds = time.perf_counter() - begin
            probe.terminate()
            probe.stderr.read()
    assert row, "the probe showed no row"
    return seconds
