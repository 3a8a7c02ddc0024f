"""The functions for other programs: in a pytest, in twenty lines, light to import, and silent."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import clean_environment

SAMPLES = Path(__file__).parents[1] / "data/documents-0.1.0"
PROGRAM = """
from nccltool import api

run = api.probe(nodes=2, ops=["all_reduce"], sizes=["64KiB"], iterations=5)
if not run.measurements:
    raise SystemExit(f"nothing was measured: {run.findings}")
for row in run.measurements:
    print(row.op, row.bytes, row.wrong, row.busbw_bytes_per_s > 0)
again = api.load_run("latest")
print(again.info.id == run.info.id, again.info.command)
same = api.compare(run.info.id, run.info.id)
print(same.outcome)
try:
    api.load_run("nothing")
except api.NccltoolError as error:
    print(error.exit_code, bool(error.remedy))
"""


@pytest.mark.torch
def test_a_program_of_twenty_lines(tmp_path: Path) -> None:
    assert len(PROGRAM.strip().splitlines()) <= 20
    env = clean_environment() | {"NCCLTOOL_RUN_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=env, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second, *rest = done.stdout.splitlines()
    assert first == "all_reduce 65536 0 True"
    assert second == "True ('nccltool.api.probe',)"
    assert rest == ["cannot-tell", "2 True"] or rest == ["same", "2 True"]


def test_importing_it_loads_nothing_heavy() -> None:
    program = "import sys, nccltool.api; print([n for n in ('torch', 'numpy', 'pandas') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
