"""Variables of a process that say which rank of which job it is. Only these are ever read from it.

Environments hold tokens, so that nothing else of them is looked at or saved.
"""

from collections.abc import Mapping
from dataclasses import dataclass

LOOKED_AT = (
    *("TORCHELASTIC_ERROR_FILE", "TORCH_WORKER_SERVER_SOCKET", "XDG_CACHE_HOME", "HOME", "CUDA_VISIBLE_DEVICES"),
    *("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"),
    *("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE", "NCCL_RAS_ADDR", "NCCL_RAS_ENABLE"),
    *("NCCL_RAS_TIMEOUT_FACTOR", "NCCL_PROFILER_PLUGIN", "NCCL_INSPECTOR_ENABLE", "NCCL_INSPECTOR_DUMP_DIR"),
    *("SLURM_JOB_ID", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
)
"""Variables that say where to look; they go into `RankFound.settings`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LauncherVariables:
    """How a launcher names a rank, its world, and its place on the host."""

    launcher: str
    rank: str
    world: tuple[str, ...]
    local_rank: str
    local_world: str = ""
    node: str = ""
    job: str = ""
    step: str = ""
    """A part of the job that starts ranks: only its processes are ranks, and not the batch script."""


LAUNCHERS = (
    LauncherVariables(
        launcher="torchrun",
        rank="RANK",
        world=("WORLD_SIZE",),
        local_rank="LOCAL_RANK",
        local_world="LOCAL_WORLD_SIZE",
        node="GROUP_RANK",
        job="TORCHELASTIC_RUN_ID",
    ),
    LauncherVariables(
        launcher="mpi",
        rank="OMPI_COMM_WORLD_RANK",
        world=("OMPI_COMM_WORLD_SIZE",),
        local_rank="OMPI_COMM_WORLD_LOCAL_RANK",
        local_world="OMPI_COMM_WORLD_LOCAL_SIZE",
        node="OMPI_COMM_WORLD_NODE_RANK",
        job="OMPI_MCA_ess_base_jobid",
    ),
    LauncherVariables(
        launcher="mpi",
        rank="MV2_COMM_WORLD_RANK",
        world=("MV2_COMM_WORLD_SIZE",),
        local_rank="MV2_COMM_WORLD_LOCAL_RANK",
        local_world="MV2_COMM_WORLD_LOCAL_SIZE",
    ),
    LauncherVariables(
        launcher="slurm",
        rank="SLURM_PROCID",
        world=("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        local_rank="SLURM_LOCALID",
        node="SLURM_NODEID",
        job="SLURM_JOB_ID",
        step="SLURM_STEP_ID",
    ),
    LauncherVariables(
        launcher="mpi",
        rank="PMIX_RANK",
        world=("PMI_SIZE",),
        local_rank="MPI_LOCALRANKID",
        local_world="MPI_LOCALNRANKS",
        job="PMIX_NAMESPACE",
    ),
    LauncherVariables(
        launcher="mpi",
        rank="PMI_RANK",
        world=("PMI_SIZE",),
        local_rank="MPI_LOCALRANKID",
        local_world="MPI_LOCALNRANKS",
        job="PMI_JOBID",
    ),
)
"""The first whose rank is set counts: torchrun's ranks below srun have Slurm's variables, too."""

READ = frozenset(
    (
        *LOOKED_AT,
        *("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT", "KUBERNETES_SERVICE_HOST"),
        *(
            name
            for one in LAUNCHERS
            for name in (one.rank, *one.world, one.local_rank, one.local_world, one.node, one.job, one.step)
            if name
        ),
    )
)


def chosen(raw: bytes) -> dict[str, str]:
    """The variables of /proc/PID/environ that are read; a process may have overwritten that area."""
    pairs = (part.partition(b"=") for part in raw.split(b"\0"))
    found = ((name.decode(errors="replace"), value) for name, sign, value in pairs if sign)
    return {name: value.decode(errors="backslashreplace")[:400] for name, value in found if name in READ}


def of_launcher(env: Mapping[str, str]) -> LauncherVariables | None:
    """Whose variables name a rank here; None where none do."""
    return next(
        (one for one in LAUNCHERS if env.get(one.rank, "").isdecimal() and (not one.step or one.step in env)), None
    )


def number(env: Mapping[str, str], *names: str) -> int | None:
    """The first of these variables that is a number of up to 7 digits."""
    values = (env.get(name, "") for name in names if name)
    return next((int(value) for value in values if value.isdecimal() and len(value) < 8), None)
