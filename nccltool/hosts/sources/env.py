"""The process whose environment was read: its variables that bear on collectives, its communicators.

An allow-list of names admits variables, so that no secret is kept; those that are probably misspelled pass too.
"""

import os
import re
from collections.abc import Mapping

from nccltool.hosts.facts import ProcessFacts
from nccltool.hosts.facts.leaves import NotKnown, known, or_unknown
from nccltool.hosts.nccl import engine_names, spelling
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

PREFIXES = (
    "NCCL", "TORCH_", "TORCHELASTIC_", "PYTORCH_", "OFI_NCCL_", "GLOO_", "RCCL_", "MSCCL", "CUDA_", "NVIDIA_",
    "UCX_", "FI_", "RDMAV_", "IBV_", "MLX5_", "SHARP_", "HCOLL_", "OMPI_MCA_", "OMPI_COMM_WORLD_", "PMI",
    "PRTE_MCA_", "HYDRA_", "I_MPI_", "MV2_", "MPICH_", "OMP_", "KMP_", "GOMP_", "HSA_", "ROCR_", "HIP_",
    "GPUDIRECTTCPX_", "NVSHMEM_", "DEEPEP_", "EFA_", "PET_", "NIXL_", "VLLM_", "SGLANG_", "MOONCAKE_",
    "ACCELERATE_", "FSDP_", "PARALLELISM_CONFIG_", "DEEPSPEED_", "NVTE_", "HOROVOD_", "GGML_CUDA_",
)  # fmt: skip
"""Names that begin like this are kept, in any letter case: a wrong case is a finding."""
NAMES = frozenset({
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",
    "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "NNODES", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "HOME", "HOSTNAME", "LOGLEVEL", "TMPDIR", "CONDA_PREFIX", "VIRTUAL_ENV", "KUBERNETES_SERVICE_HOST",
    "USE_LIBUV", "TP_SOCKET_IFNAME", "AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY",
    "SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
    "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS_PER_NODE", "SLURM_STEP_ID", "SLURM_JOB_NODELIST",
    "SLURM_NODELIST", "SLURM_STEP_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE",
    "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_CPU_BIND", "SLURM_LAUNCH_NODE_IPADDR", "SLURMD_NODENAME",
    "SLURM_EXPORT_ENV", "SLURM_MPI_TYPE", "SLURM_GPU_BIND", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET",
    "SLURM_NTASKS_PER_GPU", "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE", "AMD_LOG_LEVEL",
    "SLURM_TRES_PER_TASK", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES", "SLURM_SUBMIT_HOST",
    "JOB_COMPLETION_INDEX", "OPAL_PREFIX", "OPENMPI_VERSION", "RAY_ADDRESS", "FQ_RAY_IP",
    "TRTLLM_USE_NIXL_KVCACHE", "HTTP_PROXY", "HTTPS_PROXY", "GRPC_PROXY", "NO_PROXY", "NO_GRPC_PROXY",
    "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "PADDLE_MASTER", "PADDLE_TRAINER_ENDPOINTS",
    "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "DMLC_PS_ROOT_URI", "TF_CONFIG", "MLX4_SINGLE_THREADED",
    "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION", "TF_FORCE_UNIFIED_MEMORY",
})  # fmt: skip
"""SLURM_ is not admitted as a prefix, only a slip in one of its names: clusters put tokens there."""
_SECRET = re.compile(
    r"TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE|API_?KEY|ACCESS_?KEY|SIGNATURE|BEARER|COOKIE", re.IGNORECASE
)
_USER = re.compile(r"((?:^|,)(?:\w+://)?)[^,]*@")
LONGEST = 1 << 20
"""A value is cut here; the kernel itself allows 128 KiB."""
_SERVICE = "NCCL Service"
"""NCCL names the proxy thread of a communicator so: src/proxy.cc."""


def chosen(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that are kept, in order of their names."""
    kept = sorted(name for name in environ if is_kept(name))
    return {_plain(name): _plain(_without_password(name, environ[name][:LONGEST])) for name in kept}


def _without_password(name: str, value: str) -> str:
    """The value, without the user and the password that the address of a proxy may contain."""
    return _USER.sub(r"\1", value) if name.upper().endswith("_PROXY") else value


def is_kept(name: str) -> bool:
    """Whether a variable bears on collectives, and is no secret."""
    upper = name.upper()
    if _SECRET.search(name):
        return False
    return (
        upper in NAMES
        or upper.startswith(PREFIXES)
        or engine_names.is_known(name)
        or ((upper.startswith("SLURM_") or spelling.is_near_prefix(name)) and bool(spelling.meant(name)))
    )


def _plain(text: str) -> str:
    """A byte that is not UTF-8 is written \\xNN."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


@or_unknown
def of_process(tree: Tree, pid: int | str) -> dict[str, str]:
    """The environment that a process was started with: /proc/<pid>/environ."""
    raw = known(tree.raw(f"/proc/{pid}/environ"))
    pairs = [entry.decode(errors="surrogateescape").partition("=") for entry in raw.split(b"\0") if b"=" in entry]
    return chosen({name: value for name, _, value in pairs})


@or_unknown
def changed(tree: Tree, env: Mapping[str, str], pid: str | None, *, itself: bool) -> tuple[str, ...]:
    """Variables NCCL_* of `env` that are not what the process was started with. `itself`: it is this program."""
    if pid is None or not itself:
        raise NotKnown("only the process itself can see changes to its environment")
    start = known(of_process(tree, pid))
    names = [name for name in sorted({*start, *env}) if name.startswith("NCCL_")]
    return tuple(name for name in names if start.get(name) != env.get(name))


def source(environ: str) -> Source:
    """The process that an environment is of; `environ`: where that was read."""

    def read(tree: Tree, env: Mapping[str, str], seconds: float) -> ProcessFacts:
        pid = _pid_of(environ) if tree.live else None
        was_changed = changed(tree, env, pid, itself=environ == "process")
        return ProcessFacts(communicators=communicators(tree, environ), changed=was_changed)

    return Source("process", "process", read)


@or_unknown
def communicators(tree: Tree, environ: str) -> int:
    """Of this process, or of `pid N` when `environ` says so; a file has no process."""
    pid = _pid_of(environ)
    if not tree.live or pid is None:
        raise NotKnown(f"{environ} is not a process" if tree.live else CAPTURED)
    names = [tree.text(f"/proc/{pid}/task/{task}/comm") for task in known(tree.names(f"/proc/{pid}/task"))]
    found = sum(isinstance(name, str) and name.startswith(_SERVICE) for name in names)
    if not found:
        raise NotKnown("no thread named NCCL Service; NCCL names its threads with NCCL_SET_THREAD_NAME=1")
    return found


def _pid_of(environ: str) -> str | None:
    """A child process looks, at its parent."""
    word, _, number = environ.partition(" ")
    if environ == "process":
        return str(os.getppid())
    return number if word == "pid" and number.isdecimal() else None
