"""A failure counts until the job has overcome it."""

import pytest

from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder
from tests.triage.test_judge import diagnosis


def test_a_failure_that_was_overcome_is_none() -> None:
    log = "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\nretrying with 8\n"
    assert diagnosis(log).root_cause == "out-of-memory"
    assert diagnosis(log + "{'train_runtime': 12.0}\n").root_cause == "none"


def test_a_later_run_with_other_settings_does_not_overcome_a_failure() -> None:
    log = "h:1:1 [0] NCCL WARN Cuda failure 'peer access is not supported between these two devices'\n"
    later = "$ NCCL_P2P_DISABLE=1 ./all_reduce_perf -g 2\n# Avg bus bandwidth    : 5.0\n"
    assert diagnosis(log + later).root_cause == "p2p-acs-iommu"


def test_what_a_launcher_says_behind_the_end_is_no_failure() -> None:
    late = "[h1:8960] PMIX ERROR: PMIX_ERR_LOST_CONNECTION in file base/ptl_base_sendrecv.c at line 91\n"
    assert diagnosis("# Avg bus bandwidth    : 61.0\n" + late).root_cause == "none"
    assert diagnosis(late).root_cause == "rdzv-store"


def test_a_node_that_cannot_close_the_rendezvous_behind_the_end_did_not_fail() -> None:
    late = (
        "W dynamic_rendezvous.py:1266] The node 'n2_88_0' has failed to shutdown the rendezvous 'job1' "
        "due to an error of type RendezvousConnectionError.\n"
    )
    assert diagnosis("I api.py:879] worker group successfully finished.\n" + late).root_cause == "none"
    assert diagnosis(late).root_cause != "none"


def test_one_step_is_enough_behind_a_thread_that_was_only_late() -> None:
    stuck = "E rendezvous.cc:42] This thread has been waiting for `acquire clique` for 20 seconds.\n"
    free = "E rendezvous.cc:52] Thread is unstuck! Warning above was a false-positive.\n"
    assert diagnosis(stuck + "step 3 loss 1.2\n").root_cause == "straggler-timeout"
    assert diagnosis(stuck + free + "step 3 loss 1.2\n").root_cause == "none"
    assert diagnosis(OOM + stuck + free + "step 3 loss 1.2\n").root_cause == "out-of-memory"


def test_tests_that_fail_as_expected_fail_nothing() -> None:
    failed = "FAILED tests/test_calls.py::test_sum - RuntimeError: CUDA error: device-side assert triggered\n"
    assert diagnosis(failed + "===== 12 passed, 1 xfailed in 88.1s =====\n").root_cause == "none"
    assert diagnosis(failed + "===== 1 failed, 12 passed in 88.1s =====\n").root_cause == "app-error"


def test_an_error_of_the_driver_that_a_job_survives_ends_nothing() -> None:
    xid = "NVRM: Xid (PCI:0000:61:00): 144, NVLINK: SAW_MVB nonfatal\n"
    steps = "".join(f"step {step} loss: 2.{step}\n" for step in range(5))
    assert diagnosis(steps + xid).root_cause == "nvlink-fabric"
    assert diagnosis(steps + xid + steps).root_cause == "none"


OOM = "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
FAILED = "4711.batch  batch acct 8 FAILED 1:0\n"


@pytest.mark.parametrize(
    ("failed", "cause"),
    [
        (OOM, "out-of-memory"),
        ('Traceback (most recent call last):\n  File "a.py", line 1\nRuntimeError: bad\n', "app-error"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=1.0\n", "out-of-memory"),
        (
            "slurmstepd: error: *** JOB 2 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n",
            "preempted",
        ),
        ("srun: error: n1: task 0: Segmentation fault (core dumped)\n", "other"),
        (FAILED, "other"),
    ],
)
@pytest.mark.parametrize(
    "word",
    [
        "done",
        "training finished",
        "epilog: health check rc=0",
        "4711.extern extern acct 8 COMPLETED 0:0",
        "epilog: cleanup completed successfully",
        "rsync of logs completed successfully",
    ],
)
def test_a_word_about_an_end_takes_no_failure_back(failed: str, cause: str, word: str) -> None:
    """As a script says it that goes on whatever became of the job."""
    assert diagnosis(f"step 1 loss 2.0\n{failed}{word}\n").root_cause == cause


@pytest.mark.parametrize("last", ["FATAL: cannot continue", "ERROR: training failed, giving up", "exit code 139"])
def test_an_end_behind_which_the_job_made_steps_was_that_of_something_else(last: str) -> None:
    steps = "".join(f"step {number} loss 2.0\n" for number in range(20))
    log = f"{steps}validation completed ok\n{steps.replace('step ', 'step 1')}{last}\n"
    assert diagnosis(log).root_cause == "other"
    assert diagnosis(f"{steps}training completed\n{last}\n").root_cause == "none"


def test_what_a_script_says_behind_the_banner_of_torchrun_takes_nothing_back() -> None:
    banner = "=====\ntrain.py FAILED\n-----\n"
    assert diagnosis(f"step 1 loss 2.0\n{OOM}{banner}Job completed successfully\n").root_cause == "out-of-memory"


def test_work_behind_a_failure_does() -> None:
    assert diagnosis(f"{OOM}step 2 loss 1.9\ndone\n").root_cause == "none"


def test_the_start_of_another_rank_is_no_restart() -> None:
    reader, builder = LogReader(), TimelineBuilder()
    logs = {"rank0.log": OOM, "rank1.log": "NCCL version 2.27.7+cuda12.9\ntraining finished\n"}
    for name, text in logs.items():
        builder.take(reader.read(name, [text.encode()]))
    assert judge(builder.timeline(reader.lines_read)).root_cause == "out-of-memory"


@pytest.mark.parametrize(
    "warning",
    [
        "h1:1:2 [0] NCCL INFO NET/OFI Could not get FI_EFA device, falling back\n",
        "CUDA out of memory with batch size 64, trying 32\n",
        "[W101 10:00:00.1 socket.cpp:697] [c10d] The client socket has failed to connect to [h1]:29500 "
        "(errno: 111 - Connection refused).\n",
    ],
)
def test_one_step_is_enough_behind_what_a_program_only_warns_of(warning: str) -> None:
    assert diagnosis(warning + "iteration 20/100 | lm loss: 2.1\n").root_cause == "none"


def test_an_error_behind_the_steps_counts_although_only_warnings_are_known() -> None:
    log = "retrying: tcp open error: Too many open files (os error 24)\nstep 1 loss: 2\n"
    assert diagnosis(log).root_cause == "none"
    assert diagnosis(log + "ERROR: all workers failed\n").root_cause == "fd-limit"


def test_the_step_of_a_line_is_not_its_epoch() -> None:
    raised = 'Traceback (most recent call last):\n  File "m.py", line 1, in push\nValueError: bad answer\n'
    steps = [f"Training epoch 0, iteration {number}/999 | reduced_train_loss: 1.2\n" for number in (1, 2, 3)]
    assert diagnosis(raised + "".join(steps)).root_cause == "none"
    assert diagnosis(raised + steps[0] * 3).root_cause == "app-error"


def test_who_interrupts_a_viewer_ends_no_job() -> None:
    looked = "$ tail -f train.log\nstep 700 loss 1.0\n^C\n"
    assert diagnosis(looked).root_cause == "none"
    assert diagnosis("$ python train.py\nstep 700 loss 1.0\n^C\n").root_cause == "preempted"
    assert diagnosis("$ python train.py\nSegmentation fault\n" + looked).root_cause != "none"


_KILLED = (
    "slurmstepd: error: *** STEP 7.2 ON n1 CANCELLED AT 2026-07-04T14:13:02 ***\nsrun: error: n1: task 0: Killed\n"
)


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (_KILLED, "preempted"),
        ("Successful requests:                     2048\n" + _KILLED, "none"),  # servers do not end by themselves
        (_KILLED + "job 7 finished, exit code 0\n", "none"),
        (_KILLED + "job 7 finished, exit code 1\n", "preempted"),
        (_KILLED + "epilog: health check exit code 0\n", "preempted"),
    ],
)
def test_who_is_killed_behind_the_work_did_not_fail(log: str, cause: str) -> None:
    assert diagnosis("step 1 loss 2.0\n" + log).root_cause == cause
