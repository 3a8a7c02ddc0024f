"""Slurm: what srun passes to the tasks, and variables that keep it from starting them."""

import re

from nccltool.core.text import counted
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_number, for_text, known, rule

_MEMORY = ("SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE")
_OF_EACH_GPU = ("SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET", "SLURM_NTASKS_PER_NODE")
_EXCLUSIVE = (*_MEMORY, *_OF_EACH_GPU, "SLURM_NTASKS_PER_GPU", "SLURM_TRES_PER_TASK", "SLURM_CPUS_PER_TASK")
_TASKS = ("SLURM_NTASKS_PER_NODE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")


@for_text("LCH015", "warning", "SLURM_EXPORT_ENV", covers=())
def settings_not_exported(host: JudgedHost, variable: Variable, text: str) -> Results:
    """SLURM_EXPORT_ENV keeps NCCL's settings from the tasks that srun starts.

    Why: With NONE or NIL, srun passes no variable of its environment on, and the tasks run with NCCL's defaults.
    `sbatch --export=NONE` sets it in a job.
    Example: SLURM_EXPORT_ENV=NONE and NCCL_DEBUG=INFO
    Instead: SLURM_EXPORT_ENV=ALL
    Source: Slurm documentation, srun, --export
    """
    inside = host.get("SLURM_STEP_ID") is not None  # what arrived here was passed on
    if text.strip().upper() in ("NONE", "NIL") and not inside and next(host.settings.beginning("NCCL_"), None):
        yield report.better_set(variable, "ALL", "srun passes none of these settings on to its tasks")


@rule("LCH016", "error", about=_EXCLUSIVE, covers=())
def exclusive_slurm_variables(host: JudgedHost) -> Results:
    """Two variables of Slurm are set that exclude each other.

    Why: srun ends with "fatal: ... are mutually exclusive". They come from an outer job, from salloc, or from a
    profile of the site.
    Example: SLURM_MEM_PER_CPU=4000 and SLURM_MEM_PER_NODE=64000
    Instead: unset SLURM_MEM_PER_CPU
    Source: SchedMD/slurm src/common/slurm_opt.c (_validate_memory_options)
    """
    memory = [variable for name in _MEMORY if (variable := host.variable(name)) is not None]
    for variable in memory[1:]:
        yield report.better_unset(variable, f"srun ends: {memory[0].name} excludes {variable.name}", part="")
    task, cpus = host.variable("SLURM_TRES_PER_TASK"), host.get("SLURM_CPUS_PER_TASK")
    asked = re.search(r"\bcpu[=:](\d+)", task.value) if task else None
    if task and asked and cpus and cpus != asked[1]:
        message = f"srun ends: SLURM_CPUS_PER_TASK={cpus[:10]} contradicts it"
        yield report.better_unset(task, message, part=asked[0])
    if host.get("SLURM_NTASKS_PER_GPU"):
        for name in _OF_EACH_GPU:
            if variable := host.variable(name):
                yield report.better_unset(variable, f"srun ends: SLURM_NTASKS_PER_GPU excludes {name}", part="")


@for_text("LCH017", "warning", "SLURM_GPU_BIND", "SLURM_GPUS_PER_TASK", covers=())
def one_gpu_a_task(host: JudgedHost, variable: Variable, text: str) -> Results:
    """Slurm shows each task only its own GPUs.

    Why: The other GPUs of the node are hidden from a rank. Direct access between GPUs then fails or is replaced by
    shared memory, and programs that choose the GPU by LOCAL_RANK report an invalid device.
    Example: SLURM_GPU_BIND=single:1
    Instead: SLURM_GPU_BIND=none
    Source: Slurm documentation, srun, --gpu-bind and --gpus-per-task
    """
    each = variable.name == "SLURM_GPUS_PER_TASK"
    hides = (
        text.strip() == "1" if each else re.match(r"(verbose,)?(single|per_task|closest)\b", text.strip().lower())
    )
    if hides and host.local_ranks != 1 and not (each and (host.get("SLURM_GPU_BIND") or "").startswith("none")):
        remedy = "srun --gpus-per-node=N --gpu-bind=none, and let each rank choose its GPU"
        yield report.about(variable, "each task sees only its own GPUs", remedy)


@for_number("LCH018", "warning", "SLURM_NTASKS", covers=())
def fewer_tasks_than_nodes(host: JudgedHost, variable: Variable, tasks: int) -> Results:
    """The job has fewer tasks than nodes.

    Why: srun starts torchrun on as many nodes as there are tasks, and these wait for the others until they time
    out.
    Example: SLURM_NTASKS=1 and SLURM_JOB_NUM_NODES=2
    Instead: sbatch --nodes=2 --ntasks-per-node=1
    Source: Slurm documentation, srun, --ntasks
    """
    nodes = host.integer("SLURM_JOB_NUM_NODES") or host.integer("SLURM_NNODES") or 0
    if 0 < tasks < nodes and host.get("SLURM_STEP_ID") is None:
        message = f"srun starts {tasks} of the {nodes} nodes"
        yield report.about(variable, message, "request at least one task per node: --ntasks-per-node=1")


@for_text("LCH020", "warning", "SLURM_CPU_BIND", covers=())
def inherited_cpu_masks(host: JudgedHost, variable: Variable, text: str) -> Results:
    """SLURM_CPU_BIND has masks with fewer processors than the node has ranks.

    Why: srun passes its binding on in this variable. A job that is submitted from a shell inside another job
    inherits it, and all its ranks and data loaders run on the processors of that shell.
    Example: SLURM_CPU_BIND=quiet,mask_cpu:0xF with eight ranks
    Instead: unset SLURM_CPU_BIND
    Source: https://github.com/goodfire-ai/spd/pull/955; Slurm documentation, srun, --cpu-bind
    """
    masks = re.search(r"mask_cpu:((0[xX])?[0-9a-fA-F]{1,512}(,(0[xX])?[0-9a-fA-F]{1,512})*)$", text.strip())
    if masks is None or host.get("SLURM_STEP_ID") is not None:
        return
    cpus = 0
    for mask in masks[1].split(","):
        cpus |= int(mask, 16)
    if cpus.bit_count() < known(host.local_ranks):
        message = f"{cpus.bit_count()} processors for {host.local_ranks} ranks: another job's shell has set it"
        yield report.better_unset(variable, message, part=masks[0])


@rule("LCH023", "warning", about=_TASKS, covers=())
def torchrun_in_each_task(host: JudgedHost) -> Results:
    """Slurm starts several tasks on a node, each of them a torchrun that starts several ranks.

    Why: All but the first torchrun on a node fail with "Address already in use", ranks share GPUs, or the job
    waits for nodes that do not exist.
    Example: #SBATCH --ntasks-per-node=8, and srun torchrun --nproc-per-node=8
    Instead: srun --ntasks-per-node=1 torchrun --nproc-per-node=8
    Source: Slurm documentation, srun; https://github.com/awslabs/awsome-distributed-ai/pull/1112
    """
    started = host.integer("LOCAL_WORLD_SIZE") if host.get("TORCHELASTIC_RUN_ID") is not None else None
    ranks = started or host.integer("PET_NPROC_PER_NODE") or 1
    in_step = host.get("SLURM_STEP_ID") is not None
    tasks = _tasks_of_a_node(host)
    # without srun, a batch script starts torchrun once
    if tasks is None or ranks < 2 or (started and not in_step):
        return
    variable, count = tasks
    message = f"{count} tasks per node each start a torchrun with {ranks} ranks"
    remedy = "request one task per node: --ntasks-per-node=1"
    severity = None if in_step else host.if_several_nodes("warning", unknown="info")
    yield report.about(variable, message, remedy, part="", severity=severity)


def _tasks_of_a_node(host: JudgedHost) -> tuple[Variable, int] | None:
    """How many tasks Slurm starts on each node, if several, and what tells: the step, if it is known."""
    per_node, of_step = host.number("SLURM_NTASKS_PER_NODE"), host.number("SLURM_STEP_NUM_TASKS")
    if of_step is None and per_node is not None:
        return per_node if per_node[1] > 1 else None
    nodes = host.integer("SLURM_JOB_NUM_NODES" if of_step is None else "SLURM_STEP_NUM_NODES")
    tasks = of_step or host.number("SLURM_NTASKS")
    return (tasks[0], tasks[1] // nodes) if tasks is not None and nodes and tasks[1] >= 2 * nodes > 0 else None


_COUNT = re.compile(r"(?:[\w.-]+:)*(\d{1,3})(?:\(.*\))?")
"""Of --gpus-per-node: 4, gpu:4, or a100:4(S:0-1)."""


@for_text("LCH030", "warning", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE", covers=())
def more_tasks_than_gpus(host: JudgedHost, variable: Variable, text: str) -> Results:
    """Slurm starts more tasks on a node than the job has GPUs there.

    Why: Without torchrun, each task is a rank. Two ranks then share a GPU, which NCCL refuses, or the last ranks
    find an invalid device.
    Example: SLURM_GPUS_PER_NODE=4 and SLURM_NTASKS_PER_NODE=8
    Instead: sbatch --gpus-per-node=8 --ntasks-per-node=8
    Source: https://slurm.schedmd.com/sbatch.html, --gpus-per-node and --ntasks-per-node; NCCL src/init.cc
    (duplicate GPU)
    """
    found = _COUNT.fullmatch(text.strip())
    tasks = _tasks_of_a_node(host)
    if found is None or tasks is None or not 0 < int(found[1]) < tasks[1]:
        return
    message = f"{tasks[1]} tasks per node share {counted(int(found[1]), 'GPU')}"
    yield report.about(tasks[0], message, "request a GPU for each task, or one task for each GPU", part="")
