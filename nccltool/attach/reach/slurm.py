"""The nodes of a Slurm job, reached by a step that shares them with the job's own steps."""

import re
import shutil
import sys

from nccltool.attach.reach.asking import FarCommand
from nccltool.attach.reach.far_end import MODULE
from nccltool.core import external_commands
from nccltool.core.errors import BadInput, NotJudged
from nccltool.core.unknown import Unknown

_JOB = re.compile(r"\d{1,12}(?:_\d{1,9})?(?:\+\d{1,5})?")
_OPTIONS = ("--overlap", "--ntasks-per-node=1", "--cpu-bind=none", "--mpi=none", "--kill-on-bad-exit=0", "--quiet")
_ASK_S = 10.0
_MOST_TASKS = 8


def commands(job: str, remote_python: str | None, *, is_one: bool = False) -> tuple[FarCommand, ...]:
    """One srun for all nodes of the job, or for its first. Raises BadInput, NotJudged."""
    if not _JOB.fullmatch(job):
        raise BadInput(f"--job {job[:40]!r} is not the number of a Slurm job", "for example --job 4711")
    if shutil.which("srun") is None or shutil.which("squeue") is None:
        raise BadInput(f"--job {job}: srun or squeue not found", "run this on a login node of the cluster")
    number, count = _running(job)
    nodes = 1 if is_one else count
    python = remote_python or sys.executable
    return (
        FarCommand(
            argv=("srun", f"--jobid={number}", f"--nodes={nodes}", *_OPTIONS, python, *MODULE),
            name=f"Slurm job {job}",
            hosts=nodes,
            slurm_job=number,
            remedy="run it as the owner of the job; if a node is down, name the others with --hosts",
        ),
    )


def _running(job: str) -> tuple[str, int]:
    """Its own number, which a task of an array has too, and how many nodes it has. Raises BadInput, NotJudged."""
    argv = ("squeue", "--noheader", f"--jobs={job}", "--states=RUNNING", "--format=%A %D %i")
    done = external_commands.run(argv, _ASK_S)
    if isinstance(done, Unknown):
        raise NotJudged(f"--job {job}: {done.reason}", "check the controller: scontrol ping")
    rows = [words for line in done.out.splitlines() if len(words := line.split()) == 3]
    if done.code or not rows or not all(number.isdecimal() and nodes.isdecimal() for number, nodes, _ in rows):
        said = done.err.strip().splitlines()
        why = f": {said[-1][:200]}" if said else ""
        if done.code and "nvalid job id" not in why:
            failed = why or f": exit code {done.code}"
            raise NotJudged(f"--job {job}: squeue failed{failed}", "check the controller: scontrol ping")
        raise NotJudged(f"--job {job} does not run{why}", "squeue --me lists your jobs")
    if len(rows) > 1:
        names = [name for _, _, name in rows]
        more = ", ..." if len(names) > _MOST_TASKS else ""
        told = f"{', '.join(names[:_MOST_TASKS])}{more}"
        raise BadInput(f"--job {job} has {len(rows)} parts that run: {told}", f"choose one: --job {names[0]}")
    [(number, nodes, _)] = rows
    return number, int(nodes)
