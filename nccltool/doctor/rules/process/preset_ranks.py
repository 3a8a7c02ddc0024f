"""Rank numbers set by hand that only a launcher can know."""

from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, for_text
from nccltool.hosts.nccl.settings import Variable

_COMPANIONS = (
    "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
    "SLURM_PROCID", "SLURM_LOCALID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "JOB_COMPLETION_INDEX",
)  # fmt: skip
"""A launcher that sets a rank sets one of these too."""
_OF_NODES = ("MASTER_ADDR", "NNODES", "PET_NNODES", "PET_NODE_RANK", "GROUP_WORLD_SIZE", "PET_RDZV_ENDPOINT")


@for_text("LCH022", "warning", "LOCAL_RANK", "RANK", "NODE_RANK", covers=(), needs=("rank",))
def rank_set_by_hand(host: JudgedHost, variable: Variable, _: str) -> Results:
    """LOCAL_RANK, RANK, or NODE_RANK is set, but nothing else that a launcher sets.

    Why: Lightning, accelerate, and others conclude that a launcher has started all ranks, start none, and wait
    for the others forever. In a batch script, one exported value holds for all ranks.
    Example: export LOCAL_RANK=0 in a batch script
    Instead: unset LOCAL_RANK; under srun, scripts read SLURM_LOCALID
    Source: PyTorch Lightning, lightning/fabric/plugins/environments; pytorch documentation, torchrun
    """
    if any(host.variable(name) for name in _COMPANIONS):
        return
    if variable.name == "NODE_RANK":
        several = not isinstance(host.nodes, Unknown) and host.nodes > 1
        if several or any(host.variable(name) for name in _OF_NODES):
            return
    message = "programs take this for the work of a launcher, and wait for ranks that are never started"
    yield report.better_unset(variable, message)
