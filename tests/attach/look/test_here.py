"""Looking at this host."""

import pytest

from nccltool.attach.find import ranks
from nccltool.attach.find.processes import ProcessRow
from nccltool.attach.look import here
from nccltool.attach.look.order import LookOrder
from tests.attach.find.rows import elastic, row

_ROWS = dict(
    (
        row(1, 0, name="init", command="init"),
        row(5, 0, name="cron", command="cron"),
        row(10, name="pt_elastic", command="torchrun train.py"),
        row(11, 10, env=elastic(0)),
        row(12, 11, name="pt_data_worker", env=elastic(0)),
        row(20, env=elastic(0, port=2), command="python eval.py"),
    )
)
_ONE = {pid: one for pid, one in _ROWS.items() if pid < 20}
_SLURM = dict(
    (
        row(11, env=elastic(0, more="SLURM_JOB_ID=77")),
        row(12, env=elastic(1, more="SLURM_JOB_ID=77")),
        row(20, env=elastic(0, port=2, more="SLURM_JOB_ID=78")),
    )
)
_BESIDE = {**_ONE, **dict((row(30, env="SLURM_PROCID=0 SLURM_STEP_ID=1 SLURM_JOB_ID=7"),))}
"""With a monitor in a step of its own."""
_TRAIN, _EVAL = "root 10.0.0.1:29500", "root 10.0.0.1:2"


@pytest.mark.parametrize(
    ("order", "rows", "expected"),
    [
        (LookOrder(), _ONE, (_TRAIN, "")),
        (LookOrder(), {}, ("", "no rank of a distributed job runs here, or none that this user may see")),
        (LookOrder(), _ROWS, ("", "2 jobs run here")),
        (LookOrder(job=_EVAL), _ROWS, (_EVAL, "")),
        (LookOrder(slurm_job="78"), _SLURM, (_EVAL, "")),
        (
            LookOrder(slurm_job="79"),
            _SLURM,
            ("", "no rank of a distributed job runs here, or none that this user may see"),
        ),
        (LookOrder(), _BESIDE, (_TRAIN, "")),
        (LookOrder(job="x"), _ROWS, ("", "no rank of job 'x' runs here")),
        (LookOrder(program="eval.py"), _ROWS, (_EVAL, "")),
        (LookOrder(program="x.py"), _ROWS, ("", "no rank of a job that runs x.py was found here")),
        (LookOrder(pid=20), _ROWS, (_EVAL, "")),
        (LookOrder(pid=12), _ROWS, (_TRAIN, "")),
        (LookOrder(pid=10), _ROWS, (_TRAIN, "")),
        (LookOrder(pid=1), _ROWS, ("", "pid 1 has started 2 jobs")),
        (LookOrder(pid=5), _ROWS, ("", "pid 5 is no rank and has started none")),
        (LookOrder(pid=99), _ROWS, ("", "no process has pid 99")),
    ],
)
def test_the_job_that_is_meant(order: LookOrder, rows: dict[int, ProcessRow], expected: tuple[str, str]) -> None:
    choice = here.chosen_job(order, ranks.found(rows, "n1"), rows)
    assert (choice.job, choice.reason) == expected


@pytest.mark.parametrize(
    ("order", "among"),
    [
        (LookOrder(), (_TRAIN, _EVAL)),
        (LookOrder(program="train.py"), (_TRAIN, "root 10.0.0.1:3")),
        (LookOrder(pid=1), (_TRAIN, _EVAL)),
        (LookOrder(pid=99), ()),
    ],
)
def test_jobs_that_could_be_meant(order: LookOrder, among: tuple[str, ...]) -> None:
    rows = _ROWS
    if order.program:  # two jobs of one script
        rows = {**_ONE, **dict((row(30, env=elastic(0, port=3), command="python train.py"),))}
    assert here.chosen_job(order, ranks.found(rows, "n1"), rows).among == among


def test_torchrun_without_ranks() -> None:
    rows = {10: _ROWS[10]}
    reason = here.chosen_job(LookOrder(), ranks.found(rows, "n1"), rows).reason
    assert reason == "torchrun, pid 10, has started no rank: it waits until torchrun runs on all its nodes"
