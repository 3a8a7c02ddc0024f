"""Which root cause an experiment in a log points at, and whom."""

import pytest

from nccltool.triage.incident import Offender, RankedCauses
from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder

GOOD = "1073741824 268435456 float sum -1 8871 139.13 273.91 0 8899 139.00 273.66 0\n# Avg bus bandwidth : 270.1\n"
LOST = "n1: Test NCCL failure common.cu:958 'unhandled system error'\n"
CRASHED = "Segmentation fault (core dumped)\n"


def judged_log(log: str) -> RankedCauses:
    reader, builder = LogReader(), TimelineBuilder()
    builder.take(reader.read("a.log", [log.encode()]))
    return judge(builder.timeline(reader.lines_read))


def judged(bad: str, settings: str) -> RankedCauses:
    return judged_log(
        f"$ mpirun -np 2 ./all_reduce_perf\n{bad}$ mpirun -np 2 -x {settings} ./all_reduce_perf\n{GOOD}"
    )


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ("NCCL_P2P_DISABLE=1", "p2p-acs-iommu"),
        ("NCCL_SHM_DISABLE=1", "shm-size"),
        ("NCCL_NVLS_ENABLE=0", "nvlink-fabric"),
        ("NCCL_IB_GID_INDEX=3", "ib-config"),
        ("NCCL_SOCKET_IFNAME=eth0", "net-interface"),
        ("NCCL_SOCKET_IFNAME=lo", "net-unreachable"),
        ("NCCL_PROTO=Simple", "nccl-bug"),
    ],
)
def test_what_a_run_works_without_is_the_cause(settings: str, cause: str) -> None:
    found = judged(LOST, settings)
    assert found.root_cause == cause, found.candidates


def test_a_crash_that_a_setting_avoids_is_a_defect() -> None:
    assert judged(CRASHED, "NCCL_NVLS_ENABLE=0").root_cause == "nccl-bug"


def test_the_variable_without_which_data_is_right_is_the_suspect() -> None:
    nan = "step 1 loss: nan\nstep 2 loss: nan\n"
    found = judged_log(f"{nan}== same job, -x NCCL_IB_CUDA_SUPPORT=0 ==\nstep 1 loss: 2.1 12.0 samples/s\n")
    assert found.root_cause == "data-corruption", found.candidates
    assert found.offender
    assert found.offender.name == "NCCL_IB_CUDA_SUPPORT"


def test_devices_that_a_run_left_to_itself_did_not_take_are_a_slow_path() -> None:
    row = "  1073741824  134217728  float  none  -1  178410  6.02  {}  0  178300  6.02  {}  0\n"
    slow, fast = row.format("3.01", "3.01"), row.format("23.74", "23.75")
    found = judged_log(
        f"$ mpirun -np 2 ./all_gather_perf\n{slow}$ mpirun -np 2 -x NCCL_IB_HCA=a,b ./all_gather_perf\n{fast}"
    )
    assert found.root_cause == "slow-path", found.candidates
    assert found.offender
    assert found.offender.name == "NCCL_IB_HCA"


def test_the_version_that_fails_is_named() -> None:
    found = judged_log(f"NCCL version 2.90.3\n{LOST}# another library\nNCCL version 2.90.1\n{GOOD}")
    assert found.root_cause == "nccl-bug"
    assert found.offender
    assert (found.offender.kind, found.offender.name) == ("library", "2.90.3")


def test_another_version_in_its_place_clears_the_gpu() -> None:
    run = "./build/all_reduce_perf -b 64K -g 2\nNCCL version"
    wrong = "n1: Test CUDA failure common.cu:347 'an illegal memory access was encountered'\n"
    log = f"$ LD_LIBRARY_PATH=/opt/a/lib {run} 2.26.2\n{wrong}$ LD_LIBRARY_PATH=/opt/b/lib {run} 2.31.2\n{GOOD}"
    found = judged_log(log)
    assert (found.root_cause, found.offender) == ("nccl-bug", Offender("library", "2.26.2"))


SERVED = "INFO:     Application startup complete.\n"
DIED = (
    "ERROR 06-20 10:05:40 [multiproc_executor.py:246] Worker proc VllmWorker-1 died unexpectedly, shutting down\n"
)
OFI = "n1:7:9 [0] NCCL INFO NET/OFI Using aws-ofi-nccl 1.1.1\nn1:7:9 [0] NCCL WARN NET/OFI Request 0x7 completed"
OFI += " with error. RC: 5. Error: unknown error\n"


@pytest.mark.parametrize(
    ("log", "cause", "suspect"),
    [
        (
            f"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve q\n{DIED}"
            f"# PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512\n{SERVED}",
            "env-invalid",
            "PYTORCH_CUDA_ALLOC_CONF",
        ),
        (
            f"$ X=1 torchrun t.py   # NCCL 2.90.1\nok 8/8\n$ X=1 torchrun t.py   # NCCL 2.90.3\n{LOST}",
            "nccl-bug",
            "2.90.3",
        ),
        (
            f"$ torchrun t.py   # torch 2.0.1\nrank 0 ok 3.0\n$ torchrun t.py   # torch 2.1.0\n{LOST}",
            "version-mismatch",
            "torch",
        ),
        (f"{OFI}# rebuilt aws-ofi-nccl from tag v1.1.2: 16 ranks run without error\n", "plugin", "aws-ofi-nccl"),
    ],
)
def test_what_was_changed_before_it_worked_is_the_cause(log: str, cause: str, suspect: str) -> None:
    found = judged_log(log)
    assert (found.root_cause, found.offender and found.offender.name) == (cause, suspect)
