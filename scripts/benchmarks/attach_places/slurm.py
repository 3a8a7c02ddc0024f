"""Two nodes of a real Slurm; `attach --job` runs on the first one.

In turns, the job is a batch job with one step, a task of a job array whose other task trains on the same nodes,
and a batch job with a second step that monitors the first.
"""

import contextlib
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.attach_far_job import STORE_PORT, FarJob
from benchmarks.attach_places import base
from benchmarks.attach_places.base import Sight
from benchmarks.attach_places.machines import machines
from tests.lab import lab, slurm
from tests.support.commands import until

_NODES = 2
_SHAPES = ("a batch job", "an array task", "beside a second step")
_TEN_MINUTES = "import time; time.sleep(600)"


class InSlurm:
    """The laboratory is up as long as the stack."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._lab = stack.enter_context(machines(_NODES))
        self._slurm = stack.enter_context(slurm.Slurm(self._lab))
        self._count = 0
        self._number = ""

    @staticmethod
    def missing() -> str:
        return lab.missing() or slurm.missing()

    def hosts(self) -> tuple[str, ...]:
        return tuple(host.name for host in self._lab.hosts)

    @property
    def _shape(self) -> str:
        return _SHAPES[self._count % len(_SHAPES)]

    @contextmanager
    def started(self, job: FarJob) -> Iterator[None]:
        is_array = self._shape == "an array task"
        script = job.folder / "batch"
        script.write_text("#!/bin/bash\n" + (_array(job) if is_array else _step(job) + self._second()) + "wait\n")
        env = [f"{name}={value}" for name, value in self._slurm.env.items()]
        more = ["--array=0-1"] if is_array else []
        argv = ["sbatch", "--wait", f"--nodes={_NODES}", f"--ntasks-per-node={job.per_host}", *more]
        with ExitStack() as stack:
            stack.callback(self._end, job)
            job.start(
                [*self._lab.hosts[0].inside, "env", *env, *argv, f"--output={job.folder}/log.%a", str(script)]
            )
            assert until(lambda: bool(self._running(is_array)), 30.0), self._slurm.logs()
            self._number = self._running(is_array)
            yield

    def _running(self, is_array: bool) -> str:
        """The number of the job; of an array, that of its second task."""
        ended = ("COMPLETED", "CANCELLED", "FAILED")
        names = [name for name, state in self._slurm.jobs("JobArrayID", "State") if state not in ended]
        return next((name for name in names if name.endswith("_1") or not is_array), "")

    def _end(self, job: FarJob) -> None:
        self._count += 1
        with contextlib.suppress(subprocess.CalledProcessError):
            self._slurm.run("scancel", "--user=root")
        job.end()
        self._slurm.wait_until_idle()

    def _second(self) -> str:
        if self._shape != "beside a second step":
            return ""
        return f"srun --overlap -N1 -n1 {sys.executable} -c {shlex.quote(_TEN_MINUTES)} &\n"

    def act(self, job: FarJob) -> None:
        base.signalled(job)

    def sights(self, job: FarJob) -> Iterator[Sight]:
        env = [f"{name}={value}" for name, value in self._slurm.env.items()]
        argv = (*self._lab.hosts[0].inside, "env", *env, sys.executable, "-m", "nccltool", "attach")
        yield base.looked((*argv, "--job", self._number, "--format", "json"), self._shape)


def _step(job: FarJob, *, port: int = STORE_PORT, words: str = "") -> str:
    """torchrun on each node, or a task for each rank."""
    master = "10.77.0.1"
    if job.launcher == "torchrun":
        command = " ".join(job.torchrun("$SLURM_NODEID", master)).replace(str(STORE_PORT), str(port))
        tasks = 1
    else:
        names = {"RANK": "$SLURM_PROCID", "LOCAL_RANK": "$SLURM_LOCALID", "MASTER_PORT": str(port)}
        given = job.variables(0, master) | names
        command = " ".join(("env", *(f"{name}={value}" for name, value in given.items())))
        command += " " + " ".join((sys.executable, *job.words()))
        tasks = job.per_host
    line = f"srun --overlap --kill-on-bad-exit=0 --ntasks-per-node={tasks} --ntasks={_NODES * tasks}"
    return f"{line} bash -c {shlex.quote(f'exec {command}{words}')} &\n"


def _array(job: FarJob) -> str:
    """The first task is a healthy job of the same program, in another folder; the second one is looked at."""
    healthy = f"{job.folder}/other"
    other = _step(job, port=STORE_PORT + 1, words=f" --fault '' --dir {healthy}")
    plain = 'if [ "$SLURM_ARRAY_TASK_ID" = 0 ]; then\n'
    return f"mkdir -p {healthy}\n{plain}unset ATTACH_TRIAL\n{other}else\n{_step(job)}fi\n"
