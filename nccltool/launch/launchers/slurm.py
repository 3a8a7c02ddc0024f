"""A Slurm allocation: what its variables say, and the srun that starts a node process on each node.

srun is one process here; it carries our standard input to all nodes and their events back.
"""

import json
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nccltool.core.errors import BadInput
from nccltool.core.host_lists import has_wide_range, unfold
from nccltool.core.text import listed, whole
from nccltool.launch import inside
from nccltool.launch.launchers.base import (
    MOST_NODES,
    WORKER,
    Command,
    LauncherTraits,
    LaunchPlan,
    NodeCommands,
    NotChosen,
    asked_nproc,
    expand_counts,
    refused,
)
from nccltool.launch.named_hosts import named_hosts
from nccltool.launch.options import StartOptions
from nccltool.launch.reach.slurm_ends import end_word, explain, job_query

NODE_VARIABLE = "SLURM_NODEID"
"""It numbers the nodes of a step, in the order of their list."""
TRAITS = LauncherTraits(order=2, takes_hosts=True)
ENDS_S = 10.0
"""srun asks the controller to end a step, and waits for its nodes: milliseconds, unless one of them is stuck."""
_OPTIONS = (
    "--ntasks-per-node=1",
    "--overlap",  # an interactive step, or a training, may hold the same nodes: we would wait for ever
    "--export=ALL",  # sbatch --export=NONE reaches srun too
    "--cpu-bind=none",
    "--mpi=none",
    "--kill-on-bad-exit=0",  # one node that fails must not take away what the others have to say
    "--wait=0",
    "--label",  # see Labels
)
_NOT_OURS = (
    *("SLURM_LABELIO", "SLURM_UNBUFFEREDIO", "SLURM_STDINMODE", "SLURM_STDOUTMODE", "SLURM_STDERRMODE"),
    *("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_NTASKS_PER_GPU", "SLURM_NTASKS_PER_SOCKET"),
    *("SLURM_NTASKS_PER_CORE", "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_TRES_PER_TASK"),
    *("SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND", "SLURM_TRES_BIND"),
    *("SLURM_DISTRIBUTION", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_HINT", "SLURM_IMMEDIATE", "SLURM_STEP_GRES"),
)
"""Options of srun that the user gave for tasks of another step: ours has one task on a node, with all its GPUs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Allocation:
    """The nodes that Slurm gave to the job that we are in."""

    job_id: str
    nodes: tuple[str, ...]
    tasks_per_node: tuple[int, ...] | None
    """Of each node; None where the user did not ask for tasks."""
    gpus_per_node: int | None
    """None where the user did not ask for GPUs in a way that says so here."""
    end_time: int | None
    """Seconds since the epoch; None where Slurm does not say."""


def allocation(env: Mapping[str, str]) -> Allocation | None:
    """The allocation that we are in; None when in none. Raises BadInput when its variables are damaged."""
    job_id, nodelist = env.get("SLURM_JOB_ID", ""), env.get("SLURM_JOB_NODELIST", "")
    if not job_id or not nodelist:
        return None
    nodes = expand_nodes(nodelist)
    tasks = _tasks_per_node(env, len(nodes))
    end = env.get("SLURM_JOB_END_TIME", "")
    return Allocation(
        job_id=job_id,
        nodes=nodes,
        tasks_per_node=tasks,
        gpus_per_node=_gpus_per_node(env, tasks, len(nodes)),
        end_time=whole(end),
    )


def expand_nodes(nodelist: str) -> tuple[str, ...]:
    """The nodes of a Slurm node list, in its order. Raises BadInput."""
    words = re.findall(r"(?:\[[^\]]*\]|[^,\[\]])+", nodelist)
    # to ClusterShell, @ begins the name of a group, and -, ! and & subtract and intersect
    is_plain = ",".join(words) == nodelist and re.fullmatch(r"[A-Za-z0-9_.,\[\]-]+", nodelist)
    problem, remedy = (
        f"SLURM_JOB_NODELIST={nodelist[:80]!r} is not a node list",
        "check that the allocation still exists",
    )
    if not is_plain or has_wide_range(nodelist, MOST_NODES):
        raise BadInput(problem, remedy)
    try:
        return tuple(node for word in words for node in unfold(word, MOST_NODES))
    except ValueError as error:
        raise BadInput(f"{problem}: {error}", remedy) from error


def _tasks_per_node(env: Mapping[str, str], nodes: int) -> tuple[int, ...] | None:
    """Where tasks were not asked for, Slurm says a count too, and it may be that of the processors."""
    if "SLURM_NTASKS" not in env and "SLURM_NTASKS_PER_NODE" not in env:
        return None
    text = env.get("SLURM_TASKS_PER_NODE", "")
    counts = expand_counts(text)
    if counts is None:
        raise BadInput(f"SLURM_TASKS_PER_NODE={text[:80]!r} is not a list of counts", "start the job again")
    return counts if len(counts) == nodes else None  # else a step on other nodes than those of the allocation


def _gpus_per_node(env: Mapping[str, str], tasks: tuple[int, ...] | None, nodes: int) -> int | None:
    for name in ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"):
        if name in env:
            return _gpus(env[name])
    per_task = _gpus(env.get("SLURM_GPUS_PER_TASK", ""))
    if per_task is not None and tasks is not None and len(set(tasks)) == 1:
        return per_task * tasks[0]
    total = _gpus(env.get("SLURM_GPUS", ""))
    return total // nodes if total is not None and total % nodes == 0 else None


def _gpus(text: str) -> int | None:
    """8, h100:8 and a:4,b:4 are 8."""
    counts = [re.fullmatch(r"(?:[\w.-]+:)?(\d{1,4})", word, re.ASCII) for word in text.split(",")]
    return sum(int(match[1]) for match in counts if match) if all(counts) else None


def ranks_per_node(allocated: Allocation) -> int | None:
    """How many ranks the user wants on each node; None = no wish. Raises BadInput when they are not equally many.

    One task a node is no wish: it is how programs are started that start their ranks themselves, as we do.
    """
    tasks = allocated.tasks_per_node or (1,)
    if len(set(tasks)) > 1:
        told = listed(map(str, tasks))
        raise BadInput(
            f"job {allocated.job_id} has {told} tasks on its nodes; every node must have the same number of ranks",
            "set --nproc-per-node N or allocate with --ntasks-per-node=N",
        )
    return tasks[0] if tasks[0] > 1 else None


def why(allocated: Allocation, now: float) -> str:
    nodes = len(allocated.nodes)
    words = [f"job {allocated.job_id}: {nodes} node{'s' if nodes > 1 else ''}"]
    if allocated.gpus_per_node:
        words.append(f"{allocated.gpus_per_node} GPUs each")
    if allocated.end_time is not None:
        words.append(f"{max(int(allocated.end_time - now) // 60, 0)} min left")
    return ", ".join(words)


def chosen(allocated: Allocation, names: Sequence[str]) -> tuple[str, ...]:
    """Nodes of the allocation by their names, in its order, in which Slurm numbers them. Raises BadInput."""
    unknown = [name for name in names if name not in allocated.nodes]
    if unknown:
        raise BadInput(
            f"--hosts: {unknown[0]} is not a node of Slurm job {allocated.job_id}",
            f"its nodes: {listed(allocated.nodes)}",
        )
    return tuple(node for node in allocated.nodes if node in names)


def launch(allocated: Allocation, nodes: int, python: str, only: Sequence[str] = ()) -> NodeCommands:
    """One srun for the first `nodes` nodes of the allocation, or of those that are chosen."""
    gpus = (f"--gpus-per-node={allocated.gpus_per_node}",) if allocated.gpus_per_node else ()
    clean = ("env", *(word for name in _NOT_OURS for word in ("-u", name)))
    hosts = (only or allocated.nodes)[:nodes]
    where = (f"--nodes={nodes}", f"--ntasks={nodes}", *((f"--nodelist={','.join(hosts)}",) if only else ()))
    argv = (*clean, "srun", *where, *_OPTIONS, *gpus, "--", python, *WORKER)
    return NodeCommands(
        launcher="slurm",
        why=why(allocated, time.time()),
        commands=(Command(argv=argv, nodes=tuple(range(nodes))),),
        remote=True,
        explain=explain,
        end_word=end_word,
        scheduler_query=job_query(allocated.job_id),
        unwrapper=Labels,
        hosts=tuple(hosts),
        ends_by_sigterm_s=ENDS_S,
    )


def stand_in(options: StartOptions) -> tuple[StartOptions, dict[str, str]]:
    """Options and an environment in which a command's words are read as on so many nodes that are elsewhere."""
    nodes = options.nodes or 1
    there = {"SLURM_JOB_ID": "0", "SLURM_JOB_NODELIST": f"n[1-{nodes}]" if nodes > 1 else "n1"}
    return replace(options, nodes=nodes, launcher="slurm"), there


def start(options: StartOptions, env: Mapping[str, str]) -> LaunchPlan | NotChosen:
    """The allocation that we are in; where one is, --hosts names nodes of it."""
    is_asked = options.launcher == "slurm"
    if options.has_hosts and not is_asked:
        return NotChosen()
    try:
        allocated = allocation(env) if options.node_rank is None else None
    except BadInput as error:
        if is_asked:
            raise
        return refused(error)
    if allocated is None:
        if is_asked:
            raise BadInput(
                "--launcher slurm needs an allocation",
                "run salloc -N 2 or print a batch script: nccltool sbatch probe ...",
            )
        return NotChosen()
    if is_asked or shutil.which("srun") is not None:
        return _by_srun(allocated, options)
    return _without_srun(allocated, options)


def _without_srun(allocated: Allocation, options: StartOptions) -> NotChosen:
    """Inside a container there may be the variables of Slurm, and no srun."""
    count = len(allocated.nodes)
    if max(count, options.nodes or 1) == 1:
        return NotChosen(f"srun not found; Slurm job {allocated.job_id} has this node alone")
    nodes = f"{count} node{'s' if count > 1 else ''}"
    lacking = f"Slurm job {allocated.job_id} has {nodes}, but srun was not found in PATH"
    return refused(BadInput(lacking, "start a rank in each task: srun nccltool probe"))


def _by_srun(allocated: Allocation, options: StartOptions) -> LaunchPlan:
    named = chosen(allocated, [host.name for host in named_hosts(options)]) if options.has_hosts else ()
    given, available = options.nodes, len(named or allocated.nodes)
    if given is not None and given > available:
        what = "--hosts names" if named else f"Slurm job {allocated.job_id} has"
        raise BadInput(f"--nodes {given}, but {what} {available}", "allocate more or request fewer")
    if options.rdzv_endpoint:
        inside.parse_endpoint(options.rdzv_endpoint)
    nodes = given or available
    nproc = asked_nproc(options)
    return LaunchPlan(
        nodes=nodes,
        nproc=nproc if options.nproc_per_node is not None else ranks_per_node(allocated),
        node_ranks=tuple(range(nodes)),
        launch=launch(allocated, nodes, options.remote_python or sys.executable, named),
        node_variable=NODE_VARIABLE,
        targets=(named or allocated.nodes)[:nodes],
    )


_LABEL = re.compile(rb" *(\d+): ", re.ASCII)
_EVENT = b"\x1e"
_LONGEST = 8192
"""No event is longer than 4 KiB."""


class Labels:
    """Reads what `srun --label` writes: `3: line`.

    Slurm carries lines in pieces of 1 KiB, and without labels the pieces of several tasks mix.
    """

    def __init__(self) -> None:
        self._begun: dict[bytes, bytes] = {}

    def __call__(self, line: bytes) -> tuple[bytes, ...]:
        match = _LABEL.match(line)
        if match is None:
            return (line,)
        task, piece = match[1], line[match.end() :]
        begun = self._begun.pop(task, b"")
        if begun and piece.startswith(_EVENT):  # the rest of the other one is lost
            return (begun, *self(line))
        whole = begun + piece
        if not whole.startswith(_EVENT) or len(whole) > _LONGEST or _is_complete(whole):
            return (whole,)
        self._begun[task] = whole
        return ()


def _is_complete(event: bytes) -> bool:
    if not event.endswith(b"}"):
        return False
    try:
        json.loads(event[1:])
    except ValueError:
        return False
    return True
