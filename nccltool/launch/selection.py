"""Who starts the ranks: the launcher that the options and the environment call for, and our part in it.

In this order: inside a started job this command is a rank; --node-rank joins; --hosts is ssh; a Slurm allocation
is srun; else the nodes are on this host. --launcher asks for one of them.
"""

import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.input_files import contents
from nccltool.hosts.sources import gpu
from nccltool.launch import slurm_ends
from nccltool.launch.job import OF_THE_LIBRARIES
from nccltool.launch.launchers import inside, local, slurm, ssh
from nccltool.launch.launchers.base import RANKS_WITHOUT_GPU, Launch
from nccltool.launch.options import StartOptions

_COUNT_DIGITS = 4
"""No host has more GPUs or cores than this many digits."""
FORWARDED = OF_THE_LIBRARIES
"""Variables whose names begin so go to remote hosts; --remote-env names more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """Where the ranks of a job run, and how they get there."""

    nodes: int | None
    nproc: int | None
    node_ranks: tuple[int, ...]
    emulated: bool
    leads: bool
    ranks_seen: int
    launch: Launch
    part: int = 0
    """Our rank in a launcher's job."""
    node_variable: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    """Each node as --hosts names it; () = hosts are not named."""

    @property
    def ranks(self) -> int | None:
        """Of all nodes; None = not known before they have met."""
        return (self.nodes or 1) * self.nproc if self.nproc else None


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
        rdzv_endpoint=options.rdzv_endpoint or node.endpoint,
        nproc_per_node=options.nproc_per_node or node.nproc_per_node,
    )


def choose(options: StartOptions, env: Mapping[str, str]) -> Where:
    """The launcher for these options in this environment. Raises BadInput."""
    asked = options.launcher
    _check_words(asked, options)
    place = inside.detect(env, options.rdzv_endpoint or "") if asked == "auto" else None
    if place is not None:
        return _inside(place, options, env)
    if options.has_hosts and asked != "slurm":
        return _by_ssh(options, env)
    allocated = slurm.allocation(env) if asked in ("auto", "slurm") and options.node_rank is None else None
    if asked == "slurm" and allocated is None:
        raise BadInput(
            "--launcher slurm needs an allocation", "salloc -N 2, or a script: nccltool sbatch probe ..."
        )
    if allocated is not None and (asked == "slurm" or _can_srun(allocated, options)):
        return _by_srun(allocated, options)
    where = _here(options, env, asked)
    if allocated is None:
        return where
    why = f"there is no srun here, so that job {allocated.job_id} of Slurm is not used"
    return replace(where, launch=replace(where.launch, why=why))


_NOT_STARTED_BY_US = {
    "mpi": "start it with mpirun: mpirun -n 4 nccltool probe ...",
    "kubernetes": "make a manifest: nccltool manifest probe ...",
}


_VARIABLES_TOO = "; NCCLTOOL_HOSTS and NCCLTOOL_HOSTFILE name hosts too"


def _check_words(asked: str, options: StartOptions) -> None:
    if asked in _NOT_STARTED_BY_US:
        raise BadInput(f"--launcher {asked} starts nothing from here", _NOT_STARTED_BY_US[asked])
    if options.remote_python == "":
        raise BadInput("--remote-python is empty", "name a Python: --remote-python /path/to/venv/bin/python")
    if asked == "ssh" and not options.has_hosts:
        raise BadInput("--launcher ssh needs hosts", "name them: --hosts n[01-04] or --hostfile F")
    if asked not in ("auto", "ssh", "slurm") and options.has_hosts:
        raise BadInput(f"--hosts is for ssh, and --launcher is {asked}", f"leave one of them out{_VARIABLES_TOO}")
    if options.hosts is not None and options.hostfile is not None:
        raise BadInput("--hosts and --hostfile cannot be combined", "use one of them")
    if not options.has_hosts and options.keep_going:
        raise BadInput("--keep-going needs --hosts or --hostfile", "it leaves out hosts that cannot take part")


_HURRIED = ("mpirun", "mpiexec")
"""Open MPI 4 leaves a second after Ctrl-C; torchrun and Slurm (KillWait) leave thirty."""


def _inside(place: inside.Place, options: StartOptions, env: Mapping[str, str]) -> Where:
    if options.node_rank is not None:
        raise BadInput(
            f"--node-rank has no meaning inside a job that {place.launcher} started",
            "leave it out: the launcher has numbered the ranks",
        )
    if options.has_hosts:
        raise BadInput(
            f"--hosts has no meaning inside a job that {place.launcher} started",
            f"leave it out, or say --launcher ssh{_VARIABLES_TOO}",
        )
    leads = place.rank == 0
    launch = local.launch((), f"this is rank {place.rank} of a job that {place.launcher} started")
    launch = replace(launch, is_hurried=place.launcher in _HURRIED)
    if leads and "SLURM_JOB_ID" in env:  # the others keep quiet: a controller is not asked by thousands at once
        launch = replace(launch, scheduler_query=slurm_ends.job_query(env["SLURM_JOB_ID"]))
    return Where(
        nodes=options.nodes,
        nproc=_asked_nproc(options),
        node_ranks=(),
        emulated=False,
        leads=leads,
        ranks_seen=place.world_size if leads else 1,
        part=place.rank,
        launch=launch,
    )


def _by_ssh(options: StartOptions, env: Mapping[str, str]) -> Where:
    hosts = _hosts(options)
    nodes = options.nodes or len(hosts)
    if nodes > len(hosts):
        raise BadInput(f"--nodes {nodes} is more than the hosts that are named: {len(hosts)}", "name more hosts")
    if options.node_rank is not None:
        raise BadInput("--node-rank cannot be combined with --hosts", "ssh starts all nodes from here")
    if options.rdzv_endpoint:
        inside.parse_endpoint(options.rdzv_endpoint)
    words = _words("--ssh", options.ssh)
    if shutil.which(words[0]) is None:
        raise BadInput(f"--ssh {words[0]!r} is not a program here", "install an ssh client, or name one")
    named = "1 host" if len(hosts) == 1 else f"{len(hosts)} hosts"
    why = f"{'--hosts' if options.hosts is not None else '--hostfile'} names {named}"
    if nodes < len(hosts):
        why += f"; --nodes {nodes} takes the first of them"
    launch = ssh.launch(hosts[:nodes], words, options.remote_python or sys.executable, why)
    return Where(
        nodes=nodes,
        nproc=_asked_nproc(options),
        node_ranks=tuple(range(nodes)),
        emulated=False,
        leads=True,
        ranks_seen=0,
        launch=launch,
        env=forwarded(options, env),
        targets=tuple(host.word for host in hosts[:nodes]),
    )


def _can_srun(allocated: slurm.Allocation, options: StartOptions) -> bool:
    """Inside a container there may be the variables of Slurm, and no srun. Raises BadInput when it is needed."""
    if shutil.which("srun") is None and (options.nodes or 1) > 1:
        raise BadInput(
            f"job {allocated.job_id} of Slurm has {len(allocated.nodes)} nodes, and there is no srun here",
            "start a rank in each task (srun nccltool probe), or say --launcher local to emulate nodes here",
        )
    return shutil.which("srun") is not None


def _by_srun(allocated: slurm.Allocation, options: StartOptions) -> Where:
    named = slurm.chosen(allocated, [host.name for host in _hosts(options)]) if options.has_hosts else ()
    given, available = options.nodes, len(named or allocated.nodes)
    if given is not None and given > available:
        what = "--hosts names" if named else f"job {allocated.job_id} of Slurm has"
        raise BadInput(f"--nodes {given}, but {what} {available}", "allocate more, or ask for fewer")
    if options.rdzv_endpoint:
        inside.parse_endpoint(options.rdzv_endpoint)
    nodes = given or available
    nproc = _asked_nproc(options)
    return Where(
        nodes=nodes,
        nproc=nproc if options.nproc_per_node is not None else slurm.ranks_per_node(allocated),
        node_ranks=tuple(range(nodes)),
        emulated=False,
        leads=True,
        ranks_seen=0,
        launch=slurm.launch(allocated, nodes, options.remote_python or sys.executable, named),
        node_variable=slurm.NODE_VARIABLE,
        targets=(named or allocated.nodes)[:nodes],
    )


def _asked_nproc(options: StartOptions) -> int | None:
    nproc = options.nproc_per_node
    return None if nproc in (None, "auto") else _count("--nproc-per-node", nproc)


def _words(option: str, text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BadInput(f"{option} {text[:60]!r}: {error}", "for example --ssh 'ssh -F ./ssh_config'") from error
    if not words:
        raise BadInput(f"{option} is empty", "for example --ssh 'ssh -F ./ssh_config'")
    return words


def _hosts(options: StartOptions) -> tuple[ssh.Host, ...]:
    if options.hosts is not None:
        return ssh.parse_hosts(options.hosts)
    file = Path(options.hostfile or "")
    try:
        text = contents(file, "--hostfile").decode("utf-8-sig")  # some editors begin files with a mark
    except UnicodeDecodeError as error:
        raise BadInput(f"--hostfile {file}: it is not text", "a file with one host a line") from error
    return ssh.parse_hostfile(text, f"--hostfile {file}")


def forwarded(options: StartOptions, env: Mapping[str, str]) -> dict[str, str]:
    """Variables that remote hosts get. Raises BadInput for one that is named and not set here."""
    named = [word.strip() for word in (options.remote_env or "").split(",") if word.strip()]
    for name in named:
        if "=" in name:
            raise BadInput(f"--remote-env {name[:60]!r} is more than a name", "names only: the values of here go")
        if name not in env:
            raise BadInput(f"--remote-env {name}: it is not set here", f"export {name}=..., or leave it out")
    return {name: value for name, value in env.items() if name.startswith(FORWARDED) or name in named}


def _here(options: StartOptions, env: Mapping[str, str], asked: str) -> Where:
    nodes = options.nodes or 1
    nproc = _nproc(options.nproc_per_node, nodes, env)
    node_rank, endpoint = options.node_rank, options.rdzv_endpoint
    if node_rank is None and not endpoint:
        every = tuple(range(nodes))
        why = f"--launcher {asked}" if asked != "auto" else "no hosts are named and no scheduler is around"
        return Where(
            nodes=nodes,
            nproc=nproc,
            node_ranks=every,
            emulated=nodes > 1,
            leads=True,
            ranks_seen=nodes * nproc,
            launch=local.launch(every, why),
        )
    if node_rank is None or not endpoint:
        given, lacking = ("--node-rank", "--rdzv-endpoint") if not endpoint else ("--rdzv-endpoint", "--node-rank")
        raise BadInput(f"{given} needs {lacking} too", "on every host: --node-rank R --rdzv-endpoint HOST:PORT")
    inside.parse_endpoint(endpoint)
    if node_rank >= nodes:
        raise BadInput(f"--node-rank {node_rank} is not under --nodes {nodes}", "node ranks go from 0 to N-1")
    leads = node_rank == 0
    return Where(
        nodes=nodes,
        nproc=nproc,
        node_ranks=(node_rank,),
        emulated=False,
        leads=leads,
        ranks_seen=nodes * nproc if leads else nproc,
        launch=local.launch((node_rank,), f"--node-rank {node_rank} joins {endpoint}"),
    )


def _nproc(text: str | None, nodes: int, env: Mapping[str, str]) -> int:
    if text not in (None, "auto"):
        assert text is not None
        return _count("--nproc-per-node", text)
    return gpu.count(env) or (1 if nodes > 1 else RANKS_WITHOUT_GPU)


def _count(option: str, text: str) -> int:
    if not text.isdecimal() or len(text) > _COUNT_DIGITS or int(text) < 1:
        raise BadInput(f"{option} {text[:20]!r} is not a number of ranks", f"{option} 8, or {option} auto")
    return int(text)
