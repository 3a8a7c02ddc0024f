"""What counts as a release in a command, and what two runs with different ones prove."""

import pytest

from nccltool.triage.incident import Offender
from nccltool.triage.timeline import releases
from tests.triage.test_judge import diagnosis


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mpirun -x LD_LIBRARY_PATH=/opt/hpcx-v2.17.1-gcc/lib -np 2 ./all_reduce_perf", {"hpcx": "2.17.1-gcc"}),
        ("source /opt/hpcx-v2.14/hpcx-init.sh && mpirun -np 16 ./all_reduce_perf", {"hpcx": "2.14"}),
        ("pip install torch==2.4.0 nvidia-nccl-cu12==2.21.5", {"torch": "2.4.0"}),
        ("module load openmpi/5.0.2 ucx/1.15.0", {"openmpi": "5.0.2", "ucx": "1.15.0"}),
        ("docker run nvcr.io/nvidia/pytorch:24.05-py3 python x.py", {"pytorch": "24.05-py3"}),
        ("python train.py --lr 0.001 --host 10.0.0.1:29500 lr=0.3", {}),
        ("diff /opt/ucx-1.14/lib /opt/ucx-1.15/lib", {}),
    ],
)
def test_a_command_names_releases(text: str, found: dict[str, str]) -> None:
    assert releases.of(text) == found


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ({"ucx": "1.14"}, {"ucx": "1.15", "torch": "2.4"}, ("ucx", "1.14", "1.15")),
        ({"ucx": "1.14", "torch": "2.3"}, {"ucx": "1.15", "torch": "2.4"}, None),
        ({"ucx": "1.14"}, {"torch": "2.4"}, None),
    ],
)
def test_one_thing_differs(
    one: dict[str, str], other: dict[str, str], difference: tuple[str, str, str] | None
) -> None:
    assert releases.differing(one, other) == difference


RUN = "$ mpirun -np 16 ./all_reduce_perf -b 8\n"
HANGS, WORKS = "# nThread 1 nGpus 1\n(hangs, no further output)\n", "# Avg bus bandwidth    : 17.99\n"


@pytest.mark.parametrize(
    ("before", "behind", "cause"),
    [
        ("$ module load hpcx/2.17.1\n", "$ module load hpcx/2.14\n", "version-mismatch"),
        ("$ module load hpcx/2.14\n", "$ module load hpcx/2.14\n", "other"),
    ],
)
def test_a_release_with_which_it_works_proves_that_the_other_does_not_fit(
    before: str, behind: str, cause: str
) -> None:
    found = diagnosis(before + RUN + HANGS + behind + RUN + WORKS)
    assert found.root_cause == cause
    assert cause == "other" or found.offender == Offender("library", "hpcx")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("torch 2.0.1", {"torch": "2.0.1"}),
        ("rebuilt aws-ofi-nccl from tag v1.1.2-aws: 16 ranks run", {"aws-ofi-nccl": "1.1.2-aws"}),
        ("registers 4.1 GiB in 2.2 s", {}),
        ("version 2.3.4 of NCCL 2.27.3", {}),
    ],
)
def test_prose_names_releases(text: str, found: dict[str, str]) -> None:
    assert releases.said(text) == found
