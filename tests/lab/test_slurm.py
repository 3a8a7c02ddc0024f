"""A real Slurm of two nodes: allocations, steps, scripts, and what ends them."""

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import pytest

from tests.lab import slurm
from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.slurm import Slurm
from tests.support.commands import NCCLTOOL, PROBE, TORCHRUN, Command, Ended, until

pytestmark = pytest.mark.lab

LIMIT_S = 90.0
QUICK = ("--op", "all_reduce", "--sizes", "1KiB", "-n", "4", "--timeout", "20")
JSON = ("--format", "json", "-q")
TWO_ROWS = ("--op", "all_reduce", "--sizes", "1KiB,64KiB", "-n", "60", "--timeout", "10", "-q")
SLOW = {"NCCLTOOL_FAULT": "slow:rank=1,size=64KiB,ms=500"}
"""The first of two rows comes at once, the second one takes 30 s."""
Run = Callable[..., Command]


@pytest.fixture(scope="module")
def cluster(possible: None) -> Iterator[Slurm]:
    if reason := slurm.missing():
        pytest.skip(reason)
    with Lab(2) as lab, Slurm(lab) as started:
        yield started


@pytest.fixture
def run(cluster: Slurm, start: Start) -> Iterator[Run]:
    """Starts a command on the first host; the jobs that a test leaves are cancelled."""
    yield lambda argv, **env: start(cluster.first, argv, **cluster.env, **env)
    cluster.run("scancel", "--user=root")
    cluster.wait_until_idle()


def shown(ended: Ended, hosts: Sequence[str], world: int) -> None:
    """The document on standard output is complete."""
    assert ended.code == 0, ended.said
    found = json.loads(ended.stdout)
    told = (found["run"]["nodes"], found["run"]["world_size"], found["run"]["hosts"], found["run"]["emulated"])
    assert told == (len(hosts), world, list(hosts), False)
    assert [(row["op"], row["wrong"]) for row in found["measurements"]] == [("all_reduce", 0)]


def only_error(ended: Ended) -> tuple[str, str]:
    """(code, message) of the only error; what was measured before it is shown."""
    errors = [finding for finding in ended.document["findings"] if finding["severity"] == "error"]
    assert len(errors) == 1, ended.said
    assert [row["bytes"] for row in ended.document["measurements"]] == [1024], ended.said
    return errors[0]["code"], errors[0]["message"]


# ---- inside an allocation


@pytest.mark.quick
@pytest.mark.parametrize(
    ("allocate", "words", "hosts", "world"),
    [
        pytest.param("-N2", "", ("n1", "n2"), 2, id="all nodes of the allocation", marks=pytest.mark.slow),
        pytest.param("-N2", "--nodes 2 --nproc-per-node 2", ("n1", "n2"), 4, id="ranks", marks=pytest.mark.slow),
        pytest.param("-N2 --ntasks-per-node=2", "--nodes 2", ("n1", "n2"), 4, id="as many ranks as tasks"),
        pytest.param("-N2", "--nodes 1 --nproc-per-node 2", ("n1",), 2, id="one node", marks=pytest.mark.slow),
        pytest.param("-N2 -n2", "--launcher slurm", ("n1", "n2"), 2, id="by name", marks=pytest.mark.slow),
    ],
)
def test_in_an_allocation(
    run: Run, cluster: Slurm, allocate: str, words: str, hosts: Sequence[str], world: int
) -> None:
    ended = run(("salloc", *allocate.split(), *PROBE, *QUICK, *words.split(), *JSON)).wait(LIMIT_S)
    shown(ended, hosts, world)
    assert cluster.lab.quiet()


def test_the_doctor_looks_at_all_nodes(run: Run) -> None:
    ended = run(("salloc", "-N2", *NCCLTOOL, "doctor", "--nodes", "2", "--format", "json")).wait(LIMIT_S)
    assert ended.code in (0, 1), ended.said
    assert json.loads(ended.stdout)["run"]["hosts"] == ["n1", "n2"], ended.said


def test_the_launcher_says_why(run: Run) -> None:
    ended = run(("salloc", "-N2", "--gpus-per-node=2", *PROBE, *QUICK, "--nproc-per-node", "1")).wait(LIMIT_S)
    assert ended.code == 0, ended.said
    assert re.search(r"^launcher: slurm \(job \d+: 2 nodes, 2 GPUs each\)$", ended.stderr, re.MULTILINE)
    assert "\n2 nodes on n[1-2], 2 ranks, " in ended.stdout


@pytest.mark.parametrize(
    ("allocate", "words", "message"),
    [
        ("-N2 -n3", "", r"job \d+ has 2, 1 tasks on its nodes; every node must have the same number of ranks"),
        ("-N2", "--nodes 3", r"--nodes 3, but Slurm job \d+ has 2"),
    ],
)
def test_what_does_not_fit_the_allocation(run: Run, allocate: str, words: str, message: str) -> None:
    ended = run(("salloc", *allocate.split(), *PROBE, *QUICK, *words.split())).wait(LIMIT_S)
    assert ended.code == 2, ended.said
    assert re.search(rf"^Error: {message}$", ended.stderr, re.MULTILINE), ended.stderr


def test_an_allocation_that_is_gone(run: Run) -> None:
    gone = {"SLURM_JOB_ID": "99999", "SLURM_JOB_NODELIST": "n[1-2]"}
    ended = run((*PROBE, *QUICK, "-q"), **gone).wait(LIMIT_S)
    assert ended.code == 3, ended.said
    assert "ERROR slurm-refused: srun: the allocation no longer exists\n" in ended.stdout


@pytest.mark.slow
def test_another_python(run: Run, cluster: Slurm) -> None:
    ended = run(("salloc", "-N2", *PROBE, *QUICK, "-q", "--remote-python", "/nonexistent/python")).wait(LIMIT_S)
    assert ended.code == 3, ended.said
    assert re.search(r"^ERROR host-misconfigured: (n1, n2|n2, n1): the Python of this", ended.stdout, re.MULTILINE)
    assert cluster.lab.quiet()


STEP_OF_PRINTENV = """
import os
from nccltool.launch.launchers import slurm
words = list(slurm.launch(slurm.allocation(os.environ), 2, "python").commands[0].argv)
words[words.index("--") :] = ["printenv", "SLURM_GPUS_ON_NODE"]
os.execvp(words[0], words)
"""


@pytest.mark.parametrize(
    "allocate",
    ["--gpus-per-node=2", "--gres=gpu:2", "-G4 --ntasks-per-node=2", "--ntasks-per-node=2 --gpus-per-task=1"],
)
def test_the_step_has_all_gpus_of_the_job(run: Run, allocate: str) -> None:
    """Slurm would give a step of one task one GPU where the job has one for each of its tasks."""
    ended = run(("salloc", "-N2", *allocate.split(), NCCLTOOL[0], "-c", STEP_OF_PRINTENV)).wait(LIMIT_S)
    assert sorted(ended.stdout.split("\n")) == ["", "0: 2", "1: 2"], ended.said


# ---- a rank in each task


@pytest.mark.parametrize(
    ("step", "world"),
    [
        pytest.param("-N2 -n2", 2, marks=pytest.mark.slow),
        pytest.param("-N2 --ntasks-per-node=2", 4, marks=pytest.mark.slow),
        ("-N2 --ntasks-per-node=2 -m cyclic", 4),
        pytest.param("-N2 --ntasks-per-node=2 -m plane=1", 4, marks=pytest.mark.slow),
        pytest.param("-N2 -n2 --pty", 2, marks=pytest.mark.slow),
        pytest.param("-N2 -n2 -l", 2, marks=pytest.mark.slow),
    ],
)
def test_a_rank_in_each_task(run: Run, cluster: Slurm, step: str, world: int) -> None:
    ended = run(("srun", *step.split(), *PROBE, *QUICK, "-q")).wait(LIMIT_S)
    assert ended.code == 0, ended.said
    printed = click.unstyle(ended.stdout)  # --pty makes a terminal of the file
    assert re.search(rf"^(0: )?2 nodes on n\[1-2\], {world} ranks, gloo", printed, re.MULTILINE), ended.said
    assert re.search(r"^(0: )?PASS all_reduce, ", printed, re.MULTILINE), ended.said
    assert len(re.findall(r"^(?:0: )?PASS ", printed, re.MULTILINE)) == 1
    assert cluster.lab.quiet()


@pytest.mark.slow
@pytest.mark.parametrize("step", [pytest.param("-N2 -n3", marks=pytest.mark.slow), "-N2 -n3 -m cyclic"])
def test_tasks_that_are_not_equally_many(run: Run, step: str) -> None:
    ended = run(("srun", *step.split(), *PROBE, *QUICK, "-q")).wait(LIMIT_S)
    assert ended.code == 3, ended.said
    assert "\n2 nodes on n[1-2], 3 ranks, " in ended.stdout
    told = r"^ERROR ranks-per-node: node \d \(n\d\) has (1 rank|2 ranks), but the others have (1|2)$"
    assert re.search(told, ended.stdout, re.M), ended.said
    assert "srun --ntasks-per-node=N" in ended.stdout


@pytest.mark.slow
def test_a_step_of_one_task_is_nobodys_rank(run: Run, cluster: Slurm) -> None:
    """As in the shell of `srun --pty bash`: the command starts a step of its own beside it."""
    ended = run(("salloc", "-N2", "srun", "-N1", "-n1", *PROBE, *QUICK, "--nodes", "2", *JSON)).wait(LIMIT_S)
    shown(ended, ("n1", "n2"), 2)
    assert cluster.lab.quiet()


@pytest.mark.slow
def test_torchrun_in_each_task(run: Run, cluster: Slurm) -> None:
    rendezvous = ("--rdzv-backend", "c10d", "--rdzv-endpoint", "n1:29517", "--rdzv-id", "lab")
    argv = (*TORCHRUN, "--nnodes", "2", "--nproc-per-node", "1", *rendezvous, "-m", *PROBE[2:], *QUICK, *JSON)
    ended = run(("srun", "-N2", "-n2", *argv)).wait(LIMIT_S)
    assert ended.code == 0, ended.said
    document = json.loads(ended.stdout)
    assert (document["status"], sorted(document["run"]["hosts"])) == ("pass", ["n1", "n2"])
    assert cluster.lab.quiet()


# ---- scripts


def test_a_script(run: Run, cluster: Slurm) -> None:
    options = ("--shared", "--mem", "100M", "--job-name", "night", "--log", "job.out")
    printed = run((*NCCLTOOL, "sbatch", *options, "probe", "--nodes", "2", *QUICK, *JSON)).wait(LIMIT_S)
    assert (printed.code, printed.stderr) == (0, "")
    script = cluster.folder / "night.sh"
    script.write_text(printed.stdout)
    folder = cluster.folder / "night"
    folder.mkdir()
    submitted = run(("sbatch", f"--chdir={folder}", str(script))).wait(LIMIT_S)
    assert submitted.code == 0, submitted.said
    assert until(lambda: ["night", "COMPLETED"] in cluster.jobs("Name", "State"), LIMIT_S), cluster.run("squeue")
    document = json.loads((folder / "job.out").read_text())
    assert (document["status"], document["run"]["hosts"]) == ("pass", ["n1", "n2"])
    assert cluster.lab.quiet()


# ---- what ends a step


def begun(run: Run, *argv: str) -> Command:
    """A run in its second row."""
    command = run((*argv, *PROBE, *TWO_ROWS), **SLOW)
    command.wait_for("enter", rank=0, bytes=65536)
    return command


def running(cluster: Slurm) -> str:
    """The only job that runs."""
    (job,) = [number for number, state in cluster.jobs("JobID", "State") if state == "RUNNING"]
    return job


def end_of_salloc(run: Run, cluster: Slurm, cut: Callable[[str], object], allocate: str = "-N2") -> Ended:
    command = begun(run, "salloc", *allocate.split())
    cut(running(cluster))
    ended = command.wait(LIMIT_S)
    assert ended.code == 3, ended.said
    assert cluster.lab.quiet()
    return ended


def urgent(cluster: Slurm) -> str:
    """A job for which others are preempted."""
    return cluster.run("srun", "-p", "urgent", "-N2", "-c4", "true")


@pytest.mark.slow
def test_a_step_is_cancelled(run: Run, cluster: Slurm) -> None:
    ended = end_of_salloc(run, cluster, lambda job: cluster.run("scancel", f"{job}.0"))
    code, message = only_error(ended)
    assert code == "slurm-cancelled", ended.said
    with_reason = r"Slurm step \d+\.0 was cancelled at 2\S+, according to slurmstepd on n1"
    assert re.fullmatch(with_reason, message) or message == CANCELLED_WITHOUT_REASON, ended.said


CANCELLED_WITHOUT_REASON = "Slurm step was cancelled, according to srun; slurmstepd gave no reason"
"""On a busy machine: the first node, which writes the reason, hears of it after its processes have failed."""


@pytest.mark.slow
def test_the_first_node_does_not_hear_that_its_step_is_cancelled(run: Run, cluster: Slurm) -> None:
    daemon = cluster.slurmds[cluster.first.name]

    def cancel(job: str) -> None:
        daemon.send_signal(signal.SIGSTOP)
        cluster.run("scancel", f"{job}.0")

    try:
        ended = end_of_salloc(run, cluster, cancel)
    finally:
        daemon.send_signal(signal.SIGCONT)
    assert only_error(ended) == ("slurm-cancelled", CANCELLED_WITHOUT_REASON), ended.said


@pytest.mark.slow
def test_a_job_is_cancelled(run: Run, cluster: Slurm) -> None:
    ended = end_of_salloc(run, cluster, lambda job: cluster.run("scancel", job))
    assert only_error(ended)[0] == "slurm-cancelled", ended.said


@pytest.mark.slow
def test_a_job_is_preempted(run: Run, cluster: Slurm) -> None:
    ended = end_of_salloc(run, cluster, lambda job: urgent(cluster))
    assert only_error(ended)[0] == "slurm-preempted", ended.said


@pytest.mark.slow
def test_a_node_fails(run: Run, cluster: Slurm) -> None:
    try:
        ended = end_of_salloc(
            run, cluster, lambda job: cluster.run("scontrol", "update", "nodename=n2", "state=down", "reason=test")
        )
    finally:
        cluster.run("scontrol", "update", "nodename=n2", "state=idle")
    told = ("slurm-node-failed", "Slurm reports that n2 failed and ended the step")
    assert only_error(ended) == told, ended.said


@pytest.mark.slow
def test_a_node_process_is_killed(run: Run, cluster: Slurm) -> None:
    two = cluster.lab.hosts[1]

    def kill(job: str) -> None:
        os.kill(min(pid for pid in two.pids() if b"nccltool.worker" in words_of(pid)), signal.SIGKILL)

    ended = end_of_salloc(run, cluster, kill)
    told = ("slurm-task-killed", "the node process on n2 was killed: Killed")
    assert only_error(ended) == told, ended.said


@pytest.mark.slow
def test_the_time_limit(run: Run, cluster: Slurm) -> None:
    """The controller looks at time limits every half minute."""
    ended = end_of_salloc(
        run, cluster, lambda job: cluster.run("scontrol", "update", f"jobid={job}", "endtime=now"), "-N2 -t 1"
    )
    assert only_error(ended)[0] == "slurm-time-limit", ended.said


@pytest.mark.slow
def test_a_script_is_put_back_into_the_queue(run: Run, cluster: Slurm) -> None:
    words = shlex.join((*PROBE, *TWO_ROWS))
    output = cluster.folder / "requeued.out"
    command = run(("sbatch", "-N2", f"--output={output}", f"--wrap=exec {words}"), **SLOW)
    assert command.wait(LIMIT_S).code == 0
    assert until(lambda: any(e["event"] == "enter" and e["bytes"] == 65536 for e in command.events()), LIMIT_S)
    job = running(cluster)
    cluster.run("scontrol", "requeue", job)
    cluster.run("scontrol", "hold", job)
    assert until(lambda: "ERROR slurm-requeued: " in output.read_text(), 20.0), output.read_text()
    cluster.run("scancel", job)
    assert cluster.lab.quiet()


@pytest.mark.parametrize(
    ("cut", "code", "message"),
    [
        ("cancel", "slurm-cancelled", "was cancelled"),
        pytest.param("preempt", "slurm-preempted", "was preempted by .* job", marks=pytest.mark.slow),
    ],
)
def test_ranks_in_tasks_ask_what_a_signal_means(
    run: Run, cluster: Slurm, cut: str, code: str, message: str
) -> None:
    command = begun(run, "srun", "-N2", "-n2", "-p", "scrap")
    if cut == "cancel":
        cluster.run("scancel", "--partition=scrap")
    else:
        urgent(cluster)
    ended = command.wait(LIMIT_S)
    assert re.search(rf"^ERROR {code}: Slurm job \d+ {message}$", ended.stdout, re.MULTILINE), ended.said
    assert ended.stdout.startswith("INCOMPLETE 1 of ")
    assert cluster.lab.quiet()


# ---- nothing is left


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 130, marks=pytest.mark.slow),
        (signal.SIGKILL, None),
    ],
)
def test_the_end_of_the_command_is_the_end_of_its_step(
    run: Run, cluster: Slurm, number: signal.Signals, code: int | None
) -> None:
    command = begun(run, "salloc", "-N2")
    (pid,) = [pid for pid in command.living() if is_command(pid)]
    os.kill(pid, number)
    ended = command.wait(LIMIT_S)
    if code is not None:
        assert ended.code == code, ended.said
        assert "INCOMPLETE interrupted: 1 of " in ended.stdout
    assert command.everything_gone(), command.living()
    assert cluster.lab.quiet()


def words_of(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def is_command(pid: int) -> bool:
    words = words_of(pid)
    return words[0] == NCCLTOOL[0].encode() and b"probe" in words


@pytest.mark.slow
def test_srun_is_killed(run: Run, cluster: Slurm) -> None:
    command = begun(run, "salloc", "-N2")
    sruns = subprocess.run(["pgrep", "-x", "srun"], capture_output=True, text=True, check=True).stdout.split()
    for pid in {int(pid) for pid in sruns} & set(command.living()):
        os.kill(pid, signal.SIGKILL)
    ended = command.wait(LIMIT_S)
    assert ended.code == 3, ended.said
    assert "ERROR node-failed: " in ended.stdout
    assert cluster.lab.quiet()
