"""From options to an order: who starts the ranks, and this command's part in it.

Inside a started job this command is a rank; --node-rank joins; --hosts is ssh; a Slurm allocation is srun; else
the nodes are on this host. --launcher asks for one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from nccltool.core.errors import BadInput
from nccltool.hosts import gpu
from nccltool.hosts.facts import or_none
from nccltool.launch import gpu_shares, inside, launchers, run_secret
from nccltool.launch.job import Job
from nccltool.launch.launchers.base import (
    Launcher,
    LauncherTraits,
    LaunchPlan,
    NodeCommands,
    asked_nproc,
    worker_here,
)
from nccltool.launch.options import StartOptions
from nccltool.launch.reach import slurm_ends

AnyJob = TypeVar("AnyJob", bound=Job, covariant=True)
Placed = TypeVar("Placed", bound=Job)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaunchOrder(Generic[AnyJob]):
    """A job, and this command's part in it."""

    job: AnyJob
    leads: bool
    """Rank 0 is ours: we judge and show."""
    ranks_seen: int
    """Ranks whose events reach us; 0 = not known before remote nodes have met."""
    launch: NodeCommands
    """How its nodes are started."""
    part: int = 0
    """Our rank in a launcher's job."""
    keep_going: bool = False
    """Measure with the hosts that can take part when others cannot."""
    max_restarts: int = 0
    """How often all ranks may be started anew after one has failed."""


def ordered(job: Placed, options: StartOptions, plan: LaunchPlan, max_restarts: int = 0) -> LaunchOrder[Placed]:
    """A job put where it runs, and what that makes of this command."""
    placed = replace(
        job,
        backend=options.backend,
        timeout_s=options.timeout,
        join_timeout_s=options.join_timeout,
        deadline_s=options.deadline,
        endpoint=options.rdzv_endpoint or "",
        nodes=plan.nodes,
        nproc_per_node=plan.nproc,
        emulated=plan.emulated,
        node_ranks=plan.node_ranks,
        node_variable=plan.node_variable,
        env=dict(plan.env),
        secret=run_secret.read(options.rdzv_secret_file),
    )
    return LaunchOrder(
        job=placed,
        leads=plan.leads,
        ranks_seen=plan.ranks_seen,
        launch=plan.launch,
        part=plan.part,
        keep_going=options.keep_going,
        max_restarts=max_restarts,
    )


def joined(options: StartOptions, env: Mapping[str, str]) -> StartOptions:
    """The options, with what the operator of a job of Kubeflow says of this node in place of what was left out."""
    is_said = options.launcher != "auto" or options.node_rank is not None
    node = None if is_said or options.has_hosts else inside.node(env)
    if node is None:
        return options
    if options.nodes not in (None, node.nodes):
        raise BadInput(f"--nodes {options.nodes}, but this job has PET_NNODES={node.nodes}", "make them the same")
    return replace(
        options,
        nodes=node.nodes,
        node_rank=node.node_rank,
        rdzv_endpoint=options.rdzv_endpoint or node.rdzv_endpoint,
        nproc_per_node=options.nproc_per_node or node.nproc_per_node,
    )


def likely_backend(options: StartOptions, plan: LaunchPlan) -> str | None:
    """The backend that the ranks will agree on; None = other hosts have other devices, and only they can tell."""
    if options.backend != "auto":
        return options.backend
    if plan.launch.remote or plan.on_gpus is None:
        return None
    return "nccl" if plan.on_gpus else "gloo"


_VARIABLES_TOO = "; NCCLTOOL_HOSTS and NCCLTOOL_HOSTFILE also name hosts"


def plan_launch(options: StartOptions, env: Mapping[str, str]) -> LaunchPlan:
    """The launcher for these options in this environment. Raises BadInput."""
    is_asked = options.launcher != "auto"
    asked = launchers.get(options.launcher) if is_asked else None
    _check_words(asked, options)
    place = None if is_asked else inside.detect(env, options.rdzv_endpoint or "")
    if place is not None:
        return _inside(place, options, env)
    why_not, refusal = "", None
    for launcher in (asked,) if asked else launchers.in_order():
        answer = launcher.start(options, env)
        if isinstance(answer, LaunchPlan):
            if refusal and answer.launch.launcher == "local":
                raise refusal
            return replace(answer, launch=replace(answer.launch, why=why_not)) if why_not else answer
        why_not, refusal = why_not or answer.why, refusal or answer.refusal
    raise BadInput("no launcher can start the nodes", "use --launcher local")


def _check_words(asked: Launcher | None, options: StartOptions) -> None:
    traits = asked.TRAITS if asked else LauncherTraits(takes_hosts=True)
    if traits.instead:
        raise BadInput(f"--launcher {options.launcher} cannot start a run from here", traits.instead)
    if options.remote_python == "":
        raise BadInput("--remote-python is empty", "name a Python: --remote-python /path/to/venv/bin/python")
    if traits.needs_hosts and not options.has_hosts:
        raise BadInput(f"--launcher {options.launcher} needs hosts", "name them: --hosts n[01-04] or --hostfile F")
    if not traits.takes_hosts and options.has_hosts:
        raise BadInput(
            f"--hosts cannot be combined with --launcher {options.launcher}", f"omit one of them{_VARIABLES_TOO}"
        )
    if options.hosts is not None and options.hostfile is not None:
        raise BadInput("--hosts and --hostfile cannot be combined", "use one or the other")
    if not options.has_hosts and options.keep_going:
        raise BadInput("--keep-going needs --hosts or --hostfile", "it skips hosts that cannot take part")


_HURRIED = ("mpirun", "mpiexec")
"""Open MPI 4 leaves a second after Ctrl-C; torchrun and Slurm (KillWait) leave thirty."""


def _inside(place: inside.RankPlace, options: StartOptions, env: Mapping[str, str]) -> LaunchPlan:
    no_meaning = f"has no meaning in a job started by {place.launcher}"
    if options.node_rank is not None:
        raise BadInput(f"--node-rank {no_meaning}", "leave it out: the launcher numbers the ranks")
    if options.has_hosts:
        raise BadInput(f"--hosts {no_meaning}", f"leave it out or use --launcher ssh{_VARIABLES_TOO}")
    if place.store_is_hosted and options.rdzv_secret_file is not None:
        raise BadInput(
            "--rdzv-secret-file has no effect in a job of torchrun: its own store asks nobody for a secret",
            "leave it out, or use --node-rank on every host instead of torchrun",
        )
    leads, gpus = place.rank == 0, or_none(gpu.count(env))
    # the other ranks keep quiet: a controller is not asked by thousands at once
    query = slurm_ends.job_query(env["SLURM_JOB_ID"]) if leads and "SLURM_JOB_ID" in env else None
    here = worker_here((), f"rank {place.rank} of a job started by {place.launcher}")
    launch = replace(here, is_hurried=place.launcher in _HURRIED, scheduler_query=query)
    return LaunchPlan(
        nodes=options.nodes,
        nproc=asked_nproc(options),
        node_ranks=(),
        leads=leads,
        ranks_seen=place.world_size if leads else 1,
        part=place.rank,
        launch=launch,
        on_gpus=gpu_shares.suffice(gpus, 1 if place.may_be_bound else place.local_world_size, env),
    )
