"""Launcher variables: addresses, ports, ranks, and threads."""

import ipaddress
import re
from collections.abc import Sequence

from nccltool.core.findings import Severity
from nccltool.core.host_lists import fold
from nccltool.core.text import escaped
from nccltool.doctor import report
from nccltool.doctor.rules.base import (
    JudgedHost,
    Results,
    Unknown,
    across,
    by_value,
    for_text,
    for_value,
    is_loopback_name,
    rule,
)
from nccltool.hosts.facts import known, numbers, or_none
from nccltool.hosts.nccl.settings import Variable

_FIRST_FREE_PORT, _LAST_PORT = 1024, 65535
_USUAL_RANGE = (32768, 60999)
"""What the kernel hands out unless told otherwise: ip(7), ip_local_port_range."""
_SIZES = {
    "RANK": "WORLD_SIZE",
    "LOCAL_RANK": "LOCAL_WORLD_SIZE",
    "GROUP_RANK": "GROUP_WORLD_SIZE",
    "NODE_RANK": "NNODES",
}
"""How many ranks there are of each kind."""
_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252}[A-Za-z0-9_.])?")
_MARKS = {"SLURM_NTASKS": "SLURM_PROCID", "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK"}
"""How many tasks a scheduler started, and what it sets in each."""


def _number(host: JudgedHost, name: str) -> int | None:
    """A plain decimal number; None = not set, or no number."""
    text = (host.get(name) or "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _is_first_node(host: JudgedHost) -> bool:
    """The launcher says that this is the node that the others connect to."""
    return any(_number(host, name) == 0 for name in ("NODE_RANK", "GROUP_RANK", "RANK", "SLURM_NODEID"))


@for_text("LCH001", "error", "MASTER_ADDR", needs=("names", "rank"))
def loopback_master(host: JudgedHost, variable: Variable, address: str) -> Results:
    """MASTER_ADDR is, or resolves to, a loopback address in a multi-node job.

    Why: Every node connects to itself and times out. Only the first node may resolve its own name to loopback,
    because its store listens on all addresses.
    Example: MASTER_ADDR=localhost
    Instead: set MASTER_ADDR to node 0's address in the network that connects the nodes
    Source: pytorch documentation, torch.distributed, environment variable initialization
    """
    written = is_loopback_name(address.strip("[]"))
    found = () if written else known(host.facts.names.master_addr)
    if (written or (found and all(map(is_loopback_name, found)))) and host.several_nodes:
        own = not written and _is_first_node(host)
        yield report.about(
            variable,
            "this node resolves its own name to loopback only" if own else "other nodes connect to themselves",
            "export MASTER_ADDR=<address of node 0 in the nodes' network>",
            evidence=() if written else (f"it resolves to {escaped(', '.join(found[:4]))}",),
            severity="warning" if own else None,
        )


@for_text("LCH002", "error", "MASTER_ADDR", needs=("names",))
def unresolvable_master(host: JudgedHost, variable: Variable, address: str) -> Results:
    """MASTER_ADDR does not resolve on this host.

    Why: Ranks cannot reach the store.
    Example: MASTER_ADDR=n001, with no DNS record for n001
    Instead: use an address or a name that every node can resolve
    Source: pytorch documentation, torch.distributed, environment variable initialization
    """
    if not is_loopback_name(address.strip("[]")) and known(host.facts.names.master_addr) == ():
        remedy = f"check with getent hosts {escaped(address[:80])}; use an address or add the name to /etc/hosts"
        yield report.about(variable, "the name does not resolve on this host", remedy)


@for_text("LCH003", "warning", "MASTER_PORT", needs=("container", "network", "kernel", "names", "rank"))
def unsuitable_master_port(host: JudgedHost, variable: Variable, _: str) -> Results:
    """MASTER_PORT is invalid, privileged, in use, or in the ephemeral range.

    Why: Rank 0 cannot listen on it. The kernel may have given an ephemeral port to another process by the time
    rank 0 needs it.
    Example: MASTER_PORT=80
    Instead: MASTER_PORT=29500
    Source: pytorch documentation, torch.distributed; ip(7), ip_local_port_range;
    https://github.com/NVIDIA/enroot/issues/243
    """
    port = _number(host, "MASTER_PORT")
    if port == 0:  # it lets rank 0 choose
        if host.several_nodes:
            yield _port(variable, "rank 0 listens on a port that the other nodes do not learn", "error")
        return
    if port is None or port > _LAST_PORT:
        yield _port(variable, "it is not a valid port", "error")
    elif port < _FIRST_FREE_PORT:
        if or_none(host.facts.container.uid) != 0:
            yield _port(variable, "only root can listen on it")
    else:
        yield from _handed_out(host, variable, port)
        yield from _taken(host, variable, port)


def _port(variable: Variable, why: str, severity: Severity | None = None) -> report.RuleFinding:
    remedy = "export MASTER_PORT=29500 or another free port"
    fix = report.export("MASTER_PORT", "29500") if variable.value != "29500" else ()
    return report.about(variable, f"MASTER_PORT: {why}", remedy, severity=severity, fix=fix)


def _taken(host: JudgedHost, variable: Variable, port: int) -> Results:
    """Something listens on it, here, where rank 0 will be; inside the job that is rank 0 itself."""
    listeners = [one for one in known(host.facts.network.listeners) if one.port == port]
    if not listeners or host.get("RANK") is not None:
        return
    own = {one.address for one in or_none(host.facts.network.addresses) or ()}
    master = or_none(host.facts.names.master_addr) or ()
    if any(address in own or is_loopback_name(address) for address in master):
        yield _port(variable, f"another process already listens on it (uid {listeners[0].uid})")


def _handed_out(host: JudgedHost, variable: Variable, port: int) -> Results:
    given = host.facts.kernel.sysctl("net.ipv4.ip_local_port_range")
    if isinstance(given, Unknown) and not _USUAL_RANGE[0] <= port <= _USUAL_RANGE[1]:
        yield given
        return
    limits = (" ".join(map(str, _USUAL_RANGE)) if isinstance(given, Unknown) else given).split()
    if len(limits) != 2 or not all(word.isdecimal() for word in limits):
        yield Unknown("net.ipv4.ip_local_port_range has an unknown format")
        return
    low, high = map(int, limits)
    reserved = or_none(host.facts.kernel.sysctl("net.ipv4.ip_local_reserved_ports")) or ""
    if low <= port <= high and port not in numbers(reserved):
        yield report.about(
            variable,
            f"MASTER_PORT: the kernel assigns ports {low} to {high} as ephemeral ports",
            f"use a port below {low}, or sysctl -w net.ipv4.ip_local_reserved_ports={port} on node 0",
            # where every port is handed out, none is better than another
            severity="info" if low <= _FIRST_FREE_PORT else None,
        )


@for_value("LCH004", "error", *_SIZES, needs=("rank",))
def rank_out_of_range(host: JudgedHost, variable: Variable, _: str) -> Results:
    """A rank number is negative or no number, or is equal to or higher than the number of ranks.

    Why: Other ranks wait for ranks that do not exist, or init_process_group fails.
    Example: RANK=8 and WORLD_SIZE=8
    Instead: number the ranks from 0 to WORLD_SIZE - 1
    Source: pytorch documentation, torch.distributed, environment variable initialization
    """
    name, size = variable.name, _SIZES[variable.name]
    rank, most = _number(host, name), _number(host, size)
    if rank is None and name != "NODE_RANK":  # of torch alone it is known how it reads them
        yield report.about(variable, f"{name} is not a rank", "let the launcher set it; ranks start at 0")
    elif most is not None and rank is not None and rank >= most:
        remedy = f"let one launcher set both; {name} starts at 0"
        yield report.about(variable, f"{name} is {rank}, and {size} is {most}", remedy)


@across("LCH009", "error", covers=("LCH-004",), needs=("rank",))
def rank_twice(hosts: Sequence[JudgedHost]) -> Results:
    """Two processes of the job have the same rank.

    Why: One of them is rejected, or each overwrites the other's entry and the rendezvous hangs.
    Example: RANK=0 exported on every node
    Instead: let the launcher set the ranks
    Source: pytorch documentation, torch.distributed, environment variable initialization
    """
    ranks = yield from by_value(hosts, lambda host: _number(host, "RANK"))
    for rank, some in ranks.items():
        if len(some) > 1:
            message = f"{len(some)} processes have rank {rank}"
            remedy = "unset RANK; torchrun, srun, or mpirun sets it"
            lines = (f"RANK={rank} on {escaped(fold(host.name for host in some)[:200])}",)
            yield report.finding("rank", str(rank), message, remedy, evidence=lines)


@for_value("LCH010", "error", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NNODES", covers=())
def impossible_size(host: JudgedHost, variable: Variable, _: str) -> Results:
    """A number of ranks or nodes is 0, or is too small for the job.

    Why: init_process_group fails, or the ranks wait for each other until they time out.
    Example: WORLD_SIZE=8 and LOCAL_WORLD_SIZE=16
    Instead: let one launcher set both
    Source: pytorch documentation, torch.distributed, environment variable initialization; torchrun
    """
    name, count, whole = variable.name, _number(host, variable.name), _number(host, "WORLD_SIZE")
    if count == 0:
        yield report.about(variable, f"{name} is 0", "let the launcher set it, or count from 1")
    elif name == "WORLD_SIZE" and count and not isinstance(host.nodes, Unknown) and count < host.nodes:
        message = f"{name} is {count}, and the job has {host.nodes} nodes"
        yield report.about(variable, message, "let the launcher set it")
    elif name == "LOCAL_WORLD_SIZE" and count and whole and count > whole:
        yield report.about(variable, f"{name} is {count}, and WORLD_SIZE is {whole}", "let one launcher set both")


@for_text("LCH011", "error", "MASTER_ADDR", covers=())
def no_master_address(host: JudgedHost, variable: Variable, address: str) -> Results:
    """MASTER_ADDR is not the name or the address of a host that others can connect to.

    Why: It is one host name or one address. A port, a scheme, or a list does not resolve. Each node connects to
    itself at 0.0.0.0, and nothing listens at a multicast or broadcast address.
    Example: MASTER_ADDR=10.0.0.1:29500
    Instead: MASTER_ADDR=10.0.0.1 and MASTER_PORT=29500
    Source: pytorch documentation, torch.distributed, environment variable initialization; getaddrinfo(3)
    """
    plain = address.removeprefix("[").removesuffix("]").partition("%")[0]
    try:
        parsed = ipaddress.ip_address(plain)
    except ValueError:
        if not _HOST_NAME.fullmatch(address) or re.fullmatch(r"[\d.]+", address):
            remedy = "export MASTER_ADDR=<address of node 0 in the nodes' network>, and the port as MASTER_PORT"
            yield report.about(variable, "this is neither a host name nor an address", remedy)
        return
    if parsed.is_multicast or plain == "255.255.255.255" or (parsed.is_unspecified and host.several_nodes):
        remedy = "export MASTER_ADDR=<address of node 0 in the nodes' network>"
        yield report.about(variable, "no other node can connect to this address", remedy)


@rule("LCH005", "error", needs=("nvidia",))
def more_ranks_than_gpus(host: JudgedHost) -> Results:
    """This node has more ranks than visible GPUs.

    Why: Two ranks use the same GPU, so NCCL fails. NCCL 2.30 and newer allow this if NCCL_MULTI_RANK_GPU_ENABLE is
    1.
    Example: torchrun --nproc-per-node 8 with CUDA_VISIBLE_DEVICES=0,1,2,3
    Instead: start as many ranks as there are GPUs
    Source: NCCL src/init.cc (duplicate GPU); user guide, NCCL_MULTI_RANK_GPU_ENABLE
    """
    if host.integer("NCCL_MULTI_RANK_GPU_ENABLE"):
        return
    if isinstance(host.facts.nvidia.driver, Unknown):
        yield from _more_ranks_than_named(host)
    if not known(host.facts.nvidia.driver):
        return
    gpus = known(host.facts.nvidia.visible_gpus)
    # launchers that give each rank its own GPU show one to each
    if gpus > 1 and known(host.local_ranks) > gpus:
        visible = (host.get("CUDA_VISIBLE_DEVICES") or "not set")[:80]
        message = f"{host.local_ranks} ranks on a node share {gpus} GPUs"
        lines = (f"CUDA_VISIBLE_DEVICES={escaped(visible)}",)
        yield report.variable("LOCAL_WORLD_SIZE", message, f"torchrun --nproc-per-node {gpus}", evidence=lines)


def _more_ranks_than_named(host: JudgedHost) -> Results:
    """What the masks of GPUs alone tell; a mask of one GPU is how launchers give each rank its own."""
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
        variable = host.variable(name)
        gpus = len(variable.value.strip(", ").split(",")) if variable else 0
        if variable and gpus > 1 and known(host.local_ranks) > gpus:
            message = f"{host.local_ranks} ranks on a node share {gpus} GPUs"
            yield report.about(variable, message, f"start {gpus} ranks per node, or list more GPUs")
    # tasks of a job may be processors that a script asks for: torchrun alone says how many ranks it starts
    allocated, ranks = host.number("SLURM_GPUS_ON_NODE"), host.integer("PET_NPROC_PER_NODE") or 0
    if allocated is not None and 0 < allocated[1] < ranks:
        message = f"{ranks} ranks on a node share the {allocated[1]} GPUs that Slurm allocated"
        remedy = "request as many GPUs per node as ranks: --gpus-per-node"
        yield report.about(allocated[0], message, remedy, severity="warning")


@for_value("LCH006", "warning", *_MARKS, needs=("rank",))
def two_launchers(host: JudgedHost, variable: Variable, _: str) -> Results:
    """The scheduler and torch disagree on the number of ranks.

    Why: The job mixes two launchers, and processes of one wait for ranks of the other.
    Example: srun -n 16 with WORLD_SIZE=8 and no torchrun
    Instead: use only one launcher
    Source: Slurm, srun(1); Open MPI, mpirun(1)
    """
    size, tasks = _number(host, "WORLD_SIZE"), _number(host, variable.name)
    alone = host.get("TORCHELASTIC_RUN_ID") is None and host.get(_MARKS[variable.name]) is not None
    if alone and size is not None and tasks is not None and tasks != size:
        message = f"{variable.name} is {tasks}, and WORLD_SIZE is {size}"
        yield report.about(variable, message, "let either the scheduler or torchrun set the ranks, not both")


@for_text("LCH007", "info", "OMP_NUM_THREADS", needs=("limits", "cpu"))
def too_many_threads(host: JudgedHost, variable: Variable, _: str) -> Results:
    """OMP_NUM_THREADS times the ranks per node exceeds the number of CPUs.

    Why: NCCL's proxy threads wait for a CPU, which raises latency.
    Example: OMP_NUM_THREADS=32 with eight ranks on 64 CPUs
    Instead: set OMP_NUM_THREADS to the number of CPUs divided by the ranks per node
    Source: pytorch documentation, torchrun; https://github.com/pytorch/pytorch/pull/22501
    """
    threads = _number(host, "OMP_NUM_THREADS")
    if threads is None or threads < 2:
        return
    cpus = numbers(or_none(host.facts.limits.cpuset) or known(host.facts.cpu.allowed))
    if cpus and threads * known(host.local_ranks) > len(cpus):
        better = max(1, len(cpus) // known(host.local_ranks))
        message = f"{host.local_ranks} ranks with {threads} threads each on {len(cpus)} CPUs"
        severity: Severity | None = "warning" if threads * known(host.local_ranks) > 2 * len(cpus) else None
        yield report.better_set(variable, str(better), message, severity=severity)


@for_text("LCH008", "info", "OMP_NUM_THREADS")
def one_thread_by_default(host: JudgedHost, variable: Variable, text: str) -> Results:
    """torchrun has set OMP_NUM_THREADS to 1.

    Why: torchrun does this by default, which slows each rank's CPU work.
    Example: torchrun without OMP_NUM_THREADS
    Instead: set OMP_NUM_THREADS to the number of CPUs divided by the ranks per node
    Source: torch/distributed/run.py
    """
    if text.strip() == "1" and host.get("TORCHELASTIC_RUN_ID") is not None:
        message = "each rank uses one CPU thread, torchrun's default"
        remedy = "export OMP_NUM_THREADS=<CPUs / ranks per node> before torchrun"
        yield report.better_unset(variable, message, remedy)


@for_text("LCH012", "warning", "OMP_NUM_THREADS", covers=())
def no_number_of_threads(_: JudgedHost, variable: Variable, text: str) -> Results:
    """OMP_NUM_THREADS is not a positive number, or a list of them.

    Why: OpenMP ignores it with a message and starts one thread per CPU in each rank, so that the ranks of a node
    compete for CPUs.
    Example: OMP_NUM_THREADS=auto
    Instead: set OMP_NUM_THREADS to the number of CPUs divided by the ranks per node
    Source: OpenMP 5.2, OMP_NUM_THREADS; GNU libgomp, "Invalid value for environment variable"
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and int(word[:9]) > 0 for word in words):
        message = "OpenMP expects a positive number and ignores this value"
        yield report.better_unset(variable, message, "set CPUs / ranks per node, or unset it")


@for_value("LCH013", "warning", "MASTER_ADDR", "MASTER_PORT", covers=())
def empty_master(_: JudgedHost, variable: Variable, text: str) -> Results:
    """MASTER_ADDR or MASTER_PORT is empty.

    Why: Often, a command that should have printed it failed, such as scontrol in a container. Unless the launcher
    sets the variable again, init_process_group fails.
    Example: MASTER_ADDR=$(scontrol show hostnames | head -n 1) where there is no scontrol
    Instead: MASTER_ADDR=node1
    Source: pytorch documentation, torch.distributed, environment variable initialization
    """
    if not text.strip():
        yield report.about(variable, f"{variable.name} is empty", "set it, or leave it to the launcher")
