"""Why a step or a job of Slurm ended, from what was said when it did."""

import pytest

from nccltool.core.findings import Finding
from nccltool.launch.launchers.base import EndWord
from nccltool.launch.reach import slurm_ends


def said(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


CANCELLED = """
srun: cluster configuration lacks support for cpu binding
0: slurmstepd-n1: error: *** STEP 3.0 ON n1 CANCELLED AT 2026-11-21T07:53:21 ***
srun: Job step aborted: Waiting up to 4 seconds for job step to finish.
srun: error: n2: task 1: Terminated
srun: error: n1: task 0: Terminated
"""
TIME_LIMIT = """
slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-11-21T07:55:28 DUE TO TIME LIMIT ***
0: slurmstepd-n1: error: *** STEP 8.0 ON n1 CANCELLED AT 2026-11-21T07:55:28 DUE TO TIME LIMIT ***
srun: Job step aborted: Waiting up to 4 seconds for job step to finish.
srun: error: n2: task 1: Exited with exit code 143
"""
PREEMPTED = """
srun: Job step aborted: Waiting up to 4 seconds for job step to finish.
0: slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-21T08:24:55 DUE TO PREEMPTION ***
srun: error: n1: task 0: Killed
"""
REQUEUED = """
srun: got SIGCONT
0: slurmstepd-n1: error: *** STEP 5.0 ON n1 CANCELLED AT 2026-11-21T07:55:05 DUE TO JOB REQUEUE ***
srun: forcing job termination
"""
NODE_FAILED = """
srun: error: Node failure on n2
0: slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-21T07:53:24 DUE TO NODE FAILURE, SEE \
SLURMCTLD LOG FOR DETAILS ***
srun: error: n1: task 0: Terminated
"""
# by hand: without the line that names the node
NODE_FAILURE_OF_STEP = """
0: slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-21T07:53:24 DUE TO NODE FAILURE, SEE \
SLURMCTLD LOG FOR DETAILS ***
"""
# by hand
UNKNOWN_REASON = "slurmstepd: error: *** STEP 9.1 ON n7 CANCELLED AT 2026-11-21T07:53:24 DUE TO LUNAR ECLIPSE ***"
TASK_KILLED = """
srun: error: n2: task 1: Killed
srun: error: n1: task 0: Exited with exit code 1
srun: Force Terminated StepId=10.0
"""
# the slurmd of n1 was stopped
REASON_IS_LATE = """
srun: Job step aborted: Waiting up to 4 seconds for job step to finish.
srun: error: n2: task 1: Killed
"""
# by hand: srun stops listening to slurmstepd after a task that was killed
REASON_NEVER_CAME = """
srun: Job step aborted: Waiting up to 4 seconds for job step to finish.
srun: error: n1: task 0: Killed
srun: error: n2: task 1: Killed
srun: Force Terminated StepId=10.0
"""
# by hand: nor did what the controller tells srun
ALL_KILLED = """
srun: error: n1: task 0: Killed
srun: error: n2: task 1: Killed
"""
# the slurmd of n1 was stopped for longer
ENDS_SLOWLY = """
srun: Job step aborted: Waiting up to 4 seconds for job step to finish.
srun: error: n2: task 1: Killed
srun: error: Timed out waiting for job step to complete
"""
# by hand, after the texts in the source of Slurm
ABORTED_BY_AN_ERROR = """
srun: error: Timed out waiting for job step to complete
srun: Job step aborted
srun: error: n2: task 1: Killed
"""
# by hand, after the texts in the source of Slurm: jobs here have no cgroup
OUT_OF_MEMORY = """
1: slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.
srun: error: n2: task 1: Out Of Memory
"""
NO_PYTHON = """
srun: error: n1: task 0: Exited with exit code 2
srun: error: n2: task 1: Exited with exit code 2
1: slurmstepd-n2: error: execve(): /nonexistent: No such file or directory
0: slurmstepd-n1: error: execve(): /nonexistent: No such file or directory
"""
# by hand: from python -m of a module that is not there
NO_PACKAGE = """
1: /usr/bin/python3: Error while finding module specification for 'nccltool.worker' \
(ModuleNotFoundError: No module named 'nccltool')
srun: error: n2: task 1: Exited with exit code 1
"""
TOO_MANY_NODES = "srun: error: Only allocated 1 nodes asked for 2"
# by hand, after the texts in the source of Slurm
NO_GPUS = """
srun: error: Unable to create step for job 4: Invalid generic resource (gres) specification
"""
GONE = """
srun: error: Unable to confirm allocation for job 999: Invalid job id specified
srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 999
"""
# by hand, after the texts in the source of Slurm
NO_CONTROLLER = """
srun: error: Unable to contact slurm controller (connect failure)
srun: error: Unable to confirm allocation for job 4: Unable to contact slurm controller (connect failure)
"""


@pytest.mark.parametrize(
    ("text", "code", "subject", "message"),
    [
        (
            CANCELLED,
            "slurm-cancelled",
            "step 3.0",
            "was cancelled at 2026-11-21T07:53:21, according to slurmstepd on n1",
        ),
        (TIME_LIMIT, "slurm-time-limit", "job 8", "was ended at its time limit at 2026-11-21T07:55:28, "),
        (PREEMPTED, "slurm-preempted", "step 1.0", "was preempted by a higher-priority job at "),
        (REQUEUED, "slurm-requeued", "step 5.0", "was requeued at 2026-11-21T07:55:05, "),
        (NODE_FAILED, "slurm-node-failed", "n2", "Slurm reports that n2 failed and ended the step"),
        (NODE_FAILURE_OF_STEP, "slurm-node-failed", "step 7.0", "was ended because a node failed at "),
        (UNKNOWN_REASON, "slurm-cancelled", "step 9.1", "was cancelled (lunar eclipse) at 2026-11-21T07:53:24"),
        (TASK_KILLED, "slurm-task-killed", "n2", "the node process on n2 was killed: Killed"),
        (
            REASON_IS_LATE,
            "slurm-cancelled",
            "step",
            "Slurm step was cancelled, according to srun; slurmstepd gave no",
        ),
        (
            REASON_NEVER_CAME,
            "slurm-cancelled",
            "step 10.0",
            "was cancelled, according to srun; slurmstepd gave no reason",
        ),
        (ALL_KILLED, "slurm-task-killed", "step", "on n1, n2 ended, and Slurm gives no reason: Killed"),
        (ENDS_SLOWLY, "slurm-cancelled", "step", "according to srun; slurmstepd gave no reason"),
        (ABORTED_BY_AN_ERROR, "slurm-task-killed", "n2", "the node process on n2 was killed: Killed"),
        (OUT_OF_MEMORY, "slurm-out-of-memory", "n2", "n2: a process was killed because the job ran out"),
        (NO_PYTHON, "host-misconfigured", "n1", "n1, n2: the Python of this command does not run there"),
        (NO_PACKAGE, "host-misconfigured", "n2", "n2: the Python of this command does not run there"),
        (TOO_MANY_NODES, "slurm-refused", "step", "srun: Slurm cannot start a step with one task per node"),
        (NO_GPUS, "slurm-refused", "step", "srun: Slurm cannot start a step with one task per node"),
        (GONE, "slurm-refused", "step", "srun: the allocation no longer exists"),
        (NO_CONTROLLER, "slurm-refused", "step", "srun: the Slurm controller does not answer"),
    ],
)
def test_why_a_step_ended(text: str, code: str, subject: str, message: str) -> None:
    finding = slurm_ends.explain("", 1, said(text))
    assert finding is not None
    assert (finding.code, finding.severity, finding.subject.name) == (code, "error", subject)
    assert message in finding.message
    assert finding.evidence
    assert set(finding.evidence) <= {line.strip() for line in said(text)}
    assert finding.remedy


@pytest.mark.parametrize(
    "text", ["", "srun: error: n1: task 0: Exited with exit code 1", "Traceback (most recent call last)", "Killed"]
)
def test_what_says_nothing_of_slurm(text: str) -> None:
    assert slurm_ends.explain("", 1, said(text)) is None


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (UNKNOWN_REASON, EndWord.REASON),
        ("srun: error: Node failure on n2", EndWord.REASON),
        ("srun: error: n2: task 1: Killed", EndWord.HAPPENS),
        ("srun: error: n1: task 0: Terminated", EndWord.HAPPENS),
        ("srun: error: n1: tasks 0-3,7: Killed", EndWord.HAPPENS),
        ("srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", EndWord.HAPPENS),
        ("srun: error: n1: task 0: Exited with exit code 1", None),
        ("srun: cluster configuration lacks support for cpu binding", None),
        ("0: slurmstepd: error: couldn't chdir to `/x': No such file or directory: going to /tmp instead", None),
        ("0: RuntimeError: Connection closed by peer", None),
    ],
)
def test_lines_that_end_a_run(line: str, word: EndWord | None) -> None:
    assert slurm_ends.end_word(line) is word


JOB = (
    "JobId=8 JobName=x UserId=root(0) JobState={state} Reason={reason} Restarts={restarts} "
    "EndTime={end} PreemptTime={preempt}"
)


def job(
    state: str, reason: str = "None", restarts: int = 0, end: str = "2026-11-21T07:55:28", preempt: str = "None"
) -> str:
    return JOB.format(state=state, reason=reason, restarts=restarts, end=end, preempt=preempt)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (job("RUNNING"), None),
        (job("SUSPENDED"), None),
        (job("COMPLETING"), "slurm-cancelled"),
        (job("CANCELLED"), "slurm-cancelled"),
        (job("COMPLETING", reason="TimeLimit"), "slurm-time-limit"),
        (job("TIMEOUT"), "slurm-time-limit"),
        (job("COMPLETING", preempt="2026-11-21T07:55:12"), "slurm-preempted"),
        (job("COMPLETING", preempt="2026-11-21T07:55:12", end="Unknown", restarts=1), "slurm-preempted"),
        (job("COMPLETING", end="Unknown", restarts=1), "slurm-requeued"),
        (job("PENDING", end="Unknown"), "slurm-requeued"),
        (job("COMPLETING", reason="NodeDown"), "slurm-node-failed"),
        ("", None),
        ("slurm_load_jobs error: Invalid job id specified", None),
    ],
)
def test_what_the_controller_says_of_a_job(text: str, code: str | None) -> None:
    finding = slurm_ends.from_job("8", text)
    assert (finding.code if finding else None) == code
    if finding is not None:
        assert finding.subject.name == "job 8"
        assert finding.message.startswith("Slurm job 8 was ")


def test_the_question_to_the_controller() -> None:
    asked = slurm_ends.job_query("8")
    assert asked.argv == ("scontrol", "--oneliner", "show", "job", "8")
    answer = asked.read(job("TIMEOUT"))
    assert isinstance(answer, Finding)
