"""Inside a job that torchrun, srun, mpirun or flux started: this process is one rank of it.

The variables are those that the launchers document: torch elastic, Slurm's srun, Open MPI, Flux, the mpiexec of
HPE Cray machines (PALS), and the process-management interface of MPICH, Intel MPI and other Hydra launchers.
"""

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from nccltool.core.errors import BadInput
from nccltool.core.text import shortened, whole
from nccltool.launch import gpu_shares
from nccltool.launch.launchers.base import expand_counts
from nccltool.launch.options import StartOptions

_PSEUDO_STEPS = 4294967290
"""Slurm numbers its batch and interactive steps from here: no ranks were started in them."""
UNNUMBERED = -1
_MAY_BIND = ("srun", "mpirun", "mpiexec", "flux run")
"""Launchers that may show each rank other GPUs, so that they are fewer than ranks on the node."""
_DAEMONS = (
    "OMPI_MCA_orte_local_daemon_uri",
    *(f"PMIX_SERVER_URI{version}" for version in ("41", "4", "3", "21", "2")),
)
"""Where Open MPI (4: ORTE, 5: PRRTE) names the daemon of a rank's node: `923926528.1;tcp4://...`,
`prterun-n1-12868@0.1;tcp4://...`. The number after the last dot counts nodes; mpirun itself is 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankPlace:
    """Where a rank is in its job, and where the store of the job is."""

    launcher: str
    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    node_rank: int
    """UNNUMBERED when the launcher does not number the nodes; then a host is a node."""
    store_host: str
    store_port: int
    store_is_hosted: bool
    """Somebody else (the torchrun agent) runs the store; else rank 0 must."""
    nodes_here: int = 1
    """Nodes that are processes of this host, and share out its GPUs."""

    @property
    def may_be_bound(self) -> bool:
        """Whether each rank may see other GPUs: srun --gpus-per-task=1 shows each its own, as number 0."""
        return self.launcher in _MAY_BIND

    def device(self, visible: int) -> int:
        """The GPU of this rank among those that it sees, of which there is at least one."""
        if self.may_be_bound:
            return self.local_rank % visible
        node = self.node_rank if self.nodes_here > 1 else 0
        return gpu_shares.gpu_of(visible, node, self.nodes_here, self.local_rank, self.local_world_size)


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How a launcher calls its variables; the first of them tells that it is the one."""

    name: str
    marker: str
    rank: str = "RANK"
    world_size: str = "WORLD_SIZE"
    local_rank: str = "LOCAL_RANK"
    local_world_size: str = "LOCAL_WORLD_SIZE"
    node_rank: str = "GROUP_RANK"
    job_id: str = ""


_HYDRA = _Dialect(
    "mpiexec", "MPI_LOCALRANKID", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", "PMI_JOBID"
)

_PALS = _Dialect(  # of HPE Cray machines, where mpiexec of PBS is PALS: Polaris, Aurora
    *("mpiexec", "PALS_RANKID", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"),
    *("PALS_NODEID", "PALS_APID"),
)
_FLUX = _Dialect(  # it does not say how many tasks a node has
    "flux run", "FLUX_TASK_RANK", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "", "", "FLUX_JOB_ID"
)

_DIALECTS = (
    _Dialect("torchrun", "LOCAL_RANK", job_id="TORCHELASTIC_RUN_ID"),
    _Dialect(
        *("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        *("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "", "OMPI_MCA_ess_base_jobid"),
    ),
    _PALS,  # before Hydra and srun, as is Flux: both set PMI_RANK too
    _FLUX,
    _HYDRA,  # before srun: Hydra may start its helpers with srun, and the ranks inherit their variables
    _Dialect(
        *("srun", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
        *("SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID", "SLURM_JOB_ID"),
    ),
    replace(_HYDRA, marker="PMI_RANK"),  # after srun: with --mpi=pmi2 it sets PMI_RANK, but not the local rank
    # what Kubernetes operators set for PyTorch, and people by hand: one rank for each of the hosts
    _Dialect("a launcher", "MASTER_ADDR"),
)


def node(env: Mapping[str, str]) -> StartOptions | None:
    """This container's place in a job of Kubeflow (TrainJob, PyTorchJob); None when it is not in one.

    Its operator starts one container on each node, and leaves the ranks to it. The variables are those that
    torchrun takes in place of options. Raises BadInput when one is damaged.
    """
    if "PET_NODE_RANK" not in env or "PET_MASTER_ADDR" not in env or "LOCAL_RANK" in env:
        return None  # with a local rank: torchrun was started there, and this is one of its ranks
    nproc = env.get("PET_NPROC_PER_NODE", "auto")
    if nproc != "gpu" and nproc != "auto" and not nproc.isdecimal():
        raise BadInput(f"PET_NPROC_PER_NODE={nproc!r} is not a number of ranks", "set --nproc-per-node")
    host, port = env["PET_MASTER_ADDR"], _number(env, "PET_MASTER_PORT", 29500)
    return StartOptions(
        nodes=_number(env, "PET_NNODES", 1),
        node_rank=_number(env, "PET_NODE_RANK"),
        rdzv_endpoint=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        nproc_per_node="auto" if nproc == "gpu" else nproc,
    )


def detect(env: Mapping[str, str], endpoint: str = "") -> RankPlace | None:
    """This process's place in a started job, or None when no launcher started it.

    Raises BadInput when a variable is damaged or the address of the store cannot be known.
    """
    for dialect in _DIALECTS:
        if {dialect.marker, dialect.rank, dialect.world_size} <= env.keys() and _has_ranks(dialect, env):
            return _place(dialect, env, endpoint)
    return None


def _has_ranks(dialect: _Dialect, env: Mapping[str, str]) -> bool:
    """Not a step such as `srun --pty bash`, which is one task, and nobody's rank; nor a node of Kubeflow."""
    if dialect.name == "srun":
        return _number(env, "SLURM_STEP_ID") < _PSEUDO_STEPS and _number(env, "SLURM_STEP_NUM_TASKS") > 1
    if dialect is _FLUX:  # as `flux run --pty bash`
        return _number(env, "FLUX_JOB_SIZE") > 1
    return dialect.marker != "MASTER_ADDR" or node(env) is None


def _place(dialect: _Dialect, env: Mapping[str, str], endpoint: str) -> RankPlace:
    rank, world_size = _number(env, dialect.rank), _number(env, dialect.world_size)
    if rank >= world_size:
        raise BadInput(
            f"inconsistent launcher variables: {dialect.rank}={rank} but {dialect.world_size}={world_size}",
            "start the job again",
        )
    local_rank = _number(env, dialect.local_rank, 0)
    local_world_size, node_rank = _local_world_size(dialect, env), _node_rank(dialect, env)
    if node_rank == UNNUMBERED and local_world_size == world_size:
        node_rank = 0
    host, port = _store(dialect, env, endpoint, rank, world_size == local_world_size)
    return RankPlace(
        launcher=dialect.name,
        rank=rank,
        world_size=world_size,
        local_rank=local_rank,
        local_world_size=local_world_size,
        node_rank=node_rank,
        store_host=host,
        store_port=port,
        store_is_hosted=env.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
    )


def _local_world_size(dialect: _Dialect, env: Mapping[str, str]) -> int:
    if dialect is _FLUX:  # it spreads tasks evenly where it can
        return -(-_number(env, "FLUX_JOB_SIZE") // max(_number(env, "FLUX_JOB_NNODES", 1), 1))
    if dialect.name != "srun" or dialect.local_world_size not in env:
        return _number(env, dialect.local_world_size, 1)
    counts, node = expand_counts(env[dialect.local_world_size]), _number(env, dialect.node_rank, 0)
    if counts is None or node >= len(counts):
        raise BadInput(
            f"the launcher set {dialect.local_world_size}={env[dialect.local_world_size]!r} on node {node}",
            "start the job again",
        )
    return counts[node]


def _node_rank(dialect: _Dialect, env: Mapping[str, str]) -> int:
    """Not rank / ranks per node: mpirun --map-by node deals the ranks out like cards."""
    if dialect.node_rank in env:
        return _number(env, dialect.node_rank)
    if dialect is _FLUX:
        return UNNUMBERED
    if dialect.local_world_size not in env:
        return _number(env, dialect.rank)  # as in Kubernetes: a container for each rank
    uri = next((env[name] for name in _DAEMONS if name in env), "") if dialect.name == "mpirun" else ""
    match = re.match(r"[^;]*\.(\d+)(?:;|$)", uri)
    number = whole(match[1]) if match else None
    return UNNUMBERED if number is None else number


def _mpirun_host(env: Mapping[str, str]) -> str:
    """Where mpirun itself runs; '' when it does not say."""
    address = re.search(
        r";tcp(?:://|6://\[)([0-9a-fA-F.:]+?)(?:[\],]|:\d+$|:\d+;)", env.get("OMPI_MCA_orte_hnp_uri", "")
    )
    namespace = re.fullmatch(r"prterun-(.+)-\d+@\d+", env.get("PMIX_NAMESPACE", ""))
    return address[1] if address else namespace[1] if namespace else ""


def _store(dialect: _Dialect, env: Mapping[str, str], endpoint: str, rank: int, one_node: bool) -> tuple[str, int]:
    if endpoint:
        return parse_endpoint(endpoint)
    if "MASTER_ADDR" in env:
        port = _number(env, "MASTER_PORT", 29500)
        if not 0 < port < 65536:
            raise BadInput(f"MASTER_PORT={port} is not a port", "set it to a number from 1 to 65535")
        return env["MASTER_ADDR"], port
    port = _port(dialect, env)
    if one_node:
        return "127.0.0.1", port
    if dialect.name == "srun" and "SLURM_STEP_NODELIST" in env:
        return first_host(env["SLURM_STEP_NODELIST"]), port
    host = _mpirun_host(env) if dialect.name == "mpirun" else ""
    if rank == 0 and host and _node_rank(dialect, env) != 0:
        host = ""  # it ends here, and mpirun ends the others, who cannot know this
    if host:
        return host, port
    raise BadInput(
        f"{dialect.name} does not report the address of rank 0",
        "set --rdzv-endpoint HOST:PORT to an address of rank 0's host and use the same on all ranks",
    )


def _port(dialect: _Dialect, env: Mapping[str, str]) -> int:
    """The same on all ranks, and not that of another job."""
    job_id = env.get(dialect.job_id) or env.get("PMIX_NAMESPACE", "")  # Open MPI 5 has only the latter
    if dialect.name == "srun":
        job_id += f".{env['SLURM_STEP_ID']}"  # an allocation may have several steps at a time
    return 20000 + zlib.crc32(job_id.encode()) % 20000


def parse_endpoint(text: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[v6]:port`."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    number = whole(port) or 0
    if not host or not 0 < number < 65536:
        raise BadInput(
            f"--rdzv-endpoint {shortened(text, 80)!r} is not HOST:PORT", "for example --rdzv-endpoint node1:29500"
        )
    return host, number


def first_host(nodelist: str) -> str:
    """The first host of a Slurm node list: n[3-7,9] -> n3."""
    match = re.match(r"([^\[,]+)(?:\[([0-9]+))?", nodelist)
    if match is None:
        raise BadInput(f"{nodelist!r} is not a node list", "set --rdzv-endpoint HOST:PORT")
    return match[1] + (match[2] or "")


def _number(env: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = env.get(name)
    if text is None and default is not None:
        return default
    number = whole(text or "")
    if number is None:
        told = repr(shortened(text, 80)) if text is not None else "(not set)"
        raise BadInput(f"the launcher's variable {name}={told} is not a number", "start the job again")
    return number
