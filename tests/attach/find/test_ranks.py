"""Which processes are ranks, of which job."""

from dataclasses import replace

import pytest

from nccltool.attach.find import ranks
from nccltool.attach.find.processes import ProcessRow
from tests.attach.find.rows import elastic, row

_AGENT = row(10, name="pt_elastic", command="python -m torch.distributed.run train.py")
_MPI = "OMPI_COMM_WORLD_RANK={0} OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK={0}"
_SLURM = "SLURM_PROCID={0} SLURM_NTASKS=2 SLURM_LOCALID={0} SLURM_JOB_ID=77 SLURM_STEP_ID=0"
_TORCHRUN_IN_SLURM = "SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_LOCALID=0 SLURM_JOB_ID=77 SLURM_STEP_ID=0"
_BATCH = "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_JOB_ID=77"
_PLAIN = "RANK={0} WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=1"


def _found(*rows: tuple[int, ProcessRow]) -> list[tuple[int | None, int, str]]:
    return [(rank.rank, rank.pid, rank.launcher) for rank in ranks.found(dict(rows), "n1").ranks]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            (
                _AGENT,
                row(11, 10, env=elastic(0)),
                row(12, 10, env=elastic(1)),
                row(13, 12, name="pt_data_worker", env=elastic(1)),
                row(14, 12, name="ptxas", command="ptxas x", env=elastic(1)),
            ),
            [(0, 11, "torchrun"), (1, 12, "torchrun")],
            id="loader workers and compilers are no ranks",
        ),
        pytest.param(
            (
                row(9, name="bash", command="bash run.sh", env=_TORCHRUN_IN_SLURM),
                row(10, 9, name="pt_elastic", command="torchrun train.py", env=_TORCHRUN_IN_SLURM),
                row(11, 10, env=f"{elastic(0)} {_TORCHRUN_IN_SLURM}"),
                row(12, 10, env=f"{elastic(1)} {_TORCHRUN_IN_SLURM}"),
            ),
            [(0, 11, "torchrun"), (1, 12, "torchrun")],
            id="torchrun in a Slurm task",
        ),
        pytest.param(
            (
                row(20, name="bash", command="bash -c x", env=_SLURM.format(0)),
                row(21, 20, env=_SLURM.format(0)),
                row(22, env=_SLURM.format(1)),
            ),
            [(0, 21, "slurm"), (1, 22, "slurm")],
            id="a shell around a Slurm task",
        ),
        pytest.param(
            (row(30, env=_MPI.format(0)), row(31, env=_MPI.format(1))), [(0, 30, "mpi"), (1, 31, "mpi")], id="mpi"
        ),
        pytest.param((row(40, env=_PLAIN.format(1)),), [(1, 40, "")], id="variables set by hand"),
        pytest.param((row(41, env="RANK=1"),), [], id="RANK alone is not enough"),
        pytest.param((row(42, name="bash", command="bash", env=_PLAIN.format(0)),), [], id="only a shell"),
        pytest.param(
            (
                row(50, command="python spawn.py"),
                row(51, 50, is_distributed=True),
                row(52, 50, is_distributed=True),
            ),
            [(None, 51, ""), (None, 52, "")],
            id="ranks that set their variables themselves",
        ),
        pytest.param(
            (row(60, name="raylet", command="raylet"), row(61, 60, name="ray::Worker.run", is_distributed=True)),
            [(None, 61, "ray")],
            id="Ray renames its workers",
        ),
        pytest.param((row(70, env=elastic(0), state="Z"),), [], id="a zombie is no rank"),
        pytest.param(
            (row(75, env=_SLURM.format(0), command="python -P -m nccltool.attach.reach.far_end"),),
            [],
            id="the far end of another look",
        ),
        pytest.param(
            (row(80, name="slurm_script", command="bash s", env=_BATCH), row(81, 80, env=_BATCH)),
            [],
            id="a batch script and what it starts itself",
        ),
        pytest.param(
            (row(90, env=_PLAIN.format(0), is_distributed=True), row(91, env=_PLAIN.format(0))),
            [(0, 90, "")],
            id="a visitor of the pod has the variables of its rank",
        ),
        pytest.param((row(1, 0, name="init", command="init"), row(2, 1, name="sshd")), [], id="none"),
    ],
)
def test_ranks(rows: tuple[tuple[int, ProcessRow], ...], expected: list[tuple[int | None, int, str]]) -> None:
    assert _found(*rows) == expected


@pytest.mark.parametrize("env", [_SLURM.format(0), _PLAIN.format(0), elastic(0)])
def test_who_looks_is_no_rank(env: str) -> None:
    rows = dict((row(10, name="bash", command="bash", env=env), row(11, 10, env=env), row(12, 11, env=env)))
    assert ranks.found({pid: rows[pid] for pid in (10, 11)}, "n1", looker=11).ranks == ()


def test_a_rank_may_start_who_looks() -> None:
    rows = dict((row(10, env=_PLAIN.format(0)), row(11, 10, env=_PLAIN.format(0))))
    assert [one.pid for one in ranks.found(rows, "n1", looker=11).ranks] == [10]


def test_tasks_of_slurm_without_process_groups_are_not_certain() -> None:
    rows = dict((row(10, env=_SLURM.format(0)), row(11, env=_SLURM.format(1), is_distributed=True)))
    found = ranks.found(rows, "n1").ranks
    assert [(one.job, one.known_by) for one in found] == [
        ("root slurm 77.0", "scheduler"),
        ("root slurm 77.0", "environ"),
    ]


def test_two_jobs_are_two() -> None:
    found = ranks.found(
        dict((row(11, env=elastic(0, port=1)), row(12, env=elastic(0, port=2)), row(13, env=elastic(1, port=1)))),
        "n1",
    )
    assert [(rank.pid, rank.job) for rank in found.ranks] == [
        (11, "root 10.0.0.1:1"),
        (12, "root 10.0.0.1:2"),
        (13, "root 10.0.0.1:1"),
    ]


def test_a_job_of_one_host_is_not_that_of_another_host() -> None:
    env = elastic(0).replace("10.0.0.1", "localhost")
    (rank,) = ranks.found(dict((row(11, env=env),)), "n7").ranks
    assert rank.job == "root localhost:29500 on n7"


def test_what_a_rank_says() -> None:
    more = "NCCL_RAS_ADDR=h:1 TORCHELASTIC_ERROR_FILE=/tmp/attempt_0/0/error.json"
    found = ranks.found(dict((_AGENT, row(11, 10, env=elastic(0, more=more)))), "n1", boot_s=100.0)
    (rank,) = found.ranks
    assert (rank.world_size, rank.local_rank, rank.local_world_size, rank.restarts) == (2, 0, 2, 1)
    assert (rank.program, rank.master, rank.agent_pid, rank.started_at_s) == (
        "train.py",
        "10.0.0.1:29500",
        10,
        105,
    )
    assert rank.settings == (("TORCHELASTIC_ERROR_FILE", "/tmp/attempt_0/0/error.json"), ("NCCL_RAS_ADDR", "h:1"))
    (agent,) = found.agents
    assert (agent.pid, agent.command, agent.children, agent.local_world_size) == (10, "torchrun", (11,), 2)


def test_ranks_of_another_user_are_unread() -> None:
    found = ranks.found(dict((row(11, is_distributed=True, env=None, uid=4242),)), "n1")
    assert [(rank.rank, rank.known_by) for rank in found.ranks] == [(None, "libraries")]
    assert [(one.what, one.reason, one.missing) for one in found.unread] == [
        ("variables of pid 11", "Permission denied", "run as root or as 4242")
    ]


def test_two_containers_with_one_address_are_two_jobs() -> None:
    rows = {}
    for pid, network in ((11, "net:[1]"), (12, "net:[1]"), (21, "net:[2]"), (22, "net:[2]")):
        _, one = row(pid, pid - pid % 10, env=elastic(pid % 10 - 1))
        rows[pid] = replace(one, network=network)
    found = ranks.found(rows, "n1").ranks
    jobs = {job: [one.pid for one in found if one.job == job] for job in (one.job for one in found)}
    assert list(jobs.values()) == [[11, 12], [21, 22]]


def test_one_job_may_span_network_namespaces() -> None:
    rows = {
        pid: replace(one, network=f"net:[{pid}]")
        for pid, one in (row(11, env=elastic(0)), row(12, env=elastic(1)))
    }
    assert len({one.job for one in ranks.found(rows, "n1").ranks}) == 1
