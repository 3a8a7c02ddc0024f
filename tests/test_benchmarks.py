"""Each benchmark still works: in its smallest form, whatever its figures are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import slow_storage

ROOT = Path(__file__).parents[1]
NAMES = sorted(
    file.stem
    for file in (ROOT / "scripts/benchmarks").glob("*.py")
    if re.search(r"^def main\(.*\) -> bool:", file.read_text(), re.MULTILINE)
)
LIMIT_S = 300


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("name", NAMES)
def test_the_smallest_form_runs(name: str) -> None:
    if name == "links" and os.getuid() != 0:
        pytest.skip("makes network namespaces, which only root may")
    if name == "states" and (why := slow_storage.missing()):
        pytest.skip(why)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--smallest", name],
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"== {name}\n")


def test_every_benchmark_is_offered() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from benchmarks.__main__ import ALL
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    assert sorted(ALL) == NAMES
