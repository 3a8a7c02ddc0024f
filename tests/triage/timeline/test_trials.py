"""What the runs of one job prove that a log holds one behind another."""

import pytest

from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder
from nccltool.triage.timeline.trials import Contrast

FAST = "1073741824 268435456 float sum -1 8871 139.13 273.91 0 8899 139.00 273.66 0\n"
SLOW = "1073741824 268435456 float sum -1 21002 51.13 100.65 0 20977 51.19 100.77 0\n"
LOST = "n1: Test NCCL failure common.cu:958 'unhandled system error'\n"
OVER = "h1:10:20 [0] NCCL INFO Using network {}\n"
RUN = "$ mpirun -np 2 ./all_reduce_perf\n"


def contrasts(log: str) -> tuple[Contrast, ...]:
    reader, builder = LogReader(), TimelineBuilder()
    builder.take(reader.read("a.log", [log.encode()]))
    return builder.timeline(reader.lines_read).contrasts


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (
            f"NCCL version 2.90.3\n{SLOW}# another library\nNCCL version 2.90.1\n{FAST}",
            ("slow", "version", "2.90.3"),
        ),
        (f"{RUN}{LOST}$ mpirun -x NCCL_P2P_DISABLE=1 ./x\n{FAST}", ("failed", "setting", "NCCL_P2P_DISABLE")),
        (f"$ mpirun -H a:1,b:1 ./x\n{SLOW}$ mpirun -H a:1,c:1 ./x\n{FAST}", ("slow", "hosts", "b:1")),
        (
            f"{OVER.format('Socket')}{SLOW}# other image\n{OVER.format('IB')}{FAST}",
            ("slow", "network", "Socket"),
        ),
        (f"{RUN}{LOST}# with NCCL_NVLS_ENABLE=0: works\n", ("failed", "setting", "NCCL_NVLS_ENABLE")),
        (f"# before the update\n{FAST}# since the update\n{SLOW}", ("slow", "unknown", "")),
    ],
)
def test_one_difference_is_what_makes_a_run_bad(log: str, told: tuple[str, str, str]) -> None:
    (found,) = contrasts(log)
    assert (found.outcome, found.what, found.name) == told


@pytest.mark.parametrize(
    "log",
    [
        f"{RUN}{FAST}{RUN}{FAST}",
        f"{RUN}{FAST}",
        f"{RUN}{LOST}{RUN}{LOST}",
        f"{RUN}{LOST}$ mpirun -x NCCL_P2P_DISABLE=1 -x NCCL_SHM_DISABLE=1 ./x\n{FAST}",
    ],
)
def test_runs_that_are_alike_or_differ_in_several_things_prove_nothing(log: str) -> None:
    assert contrasts(log) == ()


def test_a_setting_that_only_helps_is_no_fault_of_the_run_without_it() -> None:
    (found,) = contrasts(f"{RUN}{SLOW}$ mpirun -x NCCL_COLLNET_ENABLE=1 ./x\n{FAST}")
    assert not found.in_bad
    assert (found.name, found.value) == ("NCCL_COLLNET_ENABLE", "1")
