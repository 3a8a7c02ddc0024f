"""Labels of launchers before the lines of other benchmarks: the rows are those of the plain file."""

import pytest

from nccltool.interop import importers
from tests.interop.importers import foreign

WRAPPED = [name for name in foreign.NAMES if name.startswith(("osu", "perftest", "mpigraph", "param"))]
TEXTS = [name for name in WRAPPED if name.endswith(".txt")]
LABELS = {
    "srun -l": "0: ",
    "mpirun --tag-output": "[1,0]<stdout>:",
    "pdsh": "node001: ",
    "kubectl --timestamps": "2026-01-02T03:04:05.678901234Z ",
    "docker compose": "worker-1  | ",
}


@pytest.mark.parametrize("label", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("name", TEXTS)
def test_labels_change_no_row(name: str, label: str) -> None:
    lines = foreign.data(name).decode().splitlines()
    text = "".join(f"{label}{line}\n" for line in lines)
    told = foreign.told(name)
    labelled = importers.read(text.encode(), name, told)
    assert [test.rows for test in labelled] == [test.rows for test in foreign.read(name)]


def test_others_may_speak_in_between_and_a_cut_line_is_found() -> None:
    lines = foreign.data("osu-allreduce-full.txt").decode().splitlines()
    text = "".join(f"0: {line}\n1: NCCL INFO 42 8 9\n" for line in lines) + "0: 2097152   19"
    (test,) = importers.read(text.encode(), "osu-allreduce-full.txt", foreign.told("osu-allreduce-full.txt"))
    assert [row.bytes for row in test.rows] == [
        row.bytes for row in foreign.read("osu-allreduce-full.txt")[0].rows
    ]
    assert "import-rows-missing" in [finding.code for finding in test.found]
