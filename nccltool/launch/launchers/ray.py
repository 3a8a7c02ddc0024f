"""A cluster of Ray: its nodes from Ray itself, and on each a process that an actor of Ray starts.

Ray is none of our dependencies: nccltool.launch.reach.ray_driver runs with the Python that has it.
"""

import importlib.util
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from nccltool.core import external_commands
from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding, Subject
from nccltool.core.text import whole
from nccltool.core.unknown import Unknown
from nccltool.launch import finding_kinds
from nccltool.launch.launchers.base import (
    Command,
    EndCause,
    EndWord,
    LauncherTraits,
    LaunchPlan,
    NodeCommands,
    NotChosen,
    last_said,
)
from nccltool.launch.options import StartOptions
from nccltool.launch.reach import allocated_hosts, far_ends, ray_driver
from nccltool.launch.reach.allocated_hosts import AllocatedHosts

TRAITS = LauncherTraits(order=6, takes_hosts=True)
_ANSWERS_S = 60.0
"""Ray connects in 2 to 4 s; to an address where no cluster answers, it gives up after 30 s or more."""
_ENDS_S = 10.0
_REMEDY = "run it in a Ray job: ray job submit -- nccltool probe"


class _RayNode(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ray.nodes()."""

    id: str = msgspec.field(name="NodeID")
    alive: bool = msgspec.field(name="Alive")
    address: str = msgspec.field(name="NodeManagerAddress")
    host: str = msgspec.field(name="NodeManagerHostname")
    resources: dict[str, float] = msgspec.field(name="Resources")

    @property
    def gpus(self) -> int:
        return int(self.resources.get("GPU", 0))


@dataclass(frozen=True, slots=True)
class _RayPython:
    """What runs the driver."""

    program: str
    has_nccltool: bool
    """It is ours: the Python of Ray's workers is like it, with the environment of the job."""

    def argv(self, env: Mapping[str, str], *words: str) -> tuple[str, ...]:
        address = env.get("RAY_ADDRESS") or "auto"
        return (self.program, "-P", ray_driver.__file__, "--address", address, *words)


def _python(env: Mapping[str, str]) -> _RayPython | None:
    """The Python that has Ray; None = there is none."""
    if importlib.util.find_spec("ray") is not None:
        return _RayPython(sys.executable, has_nccltool=True)
    found = shutil.which("ray", path=env.get("PATH"))
    beside = Path(found).resolve().with_name("python") if found else None
    return _RayPython(str(beside), has_nccltool=False) if beside and beside.exists() else None


def of_cluster(text: str) -> tuple[_RayNode, ...]:
    """The nodes to use of what ray.nodes() says: one a host; if some have GPUs, only those. Raises BadInput.

    The head has no GPU at many sites, and no processor where `ray start --num-cpus 0` keeps work off it.
    """
    try:
        nodes = msgspec.json.decode(text, type=tuple[_RayNode, ...])
    except msgspec.DecodeError as error:
        raise BadInput(
            f"ray.nodes() is not understood: {error}", "use --hosts, or another release of Ray"
        ) from error
    alive = {node.address: node for node in sorted(nodes, key=_place) if node.alive}
    with_gpus = [node for node in alive.values() if node.gpus]
    return tuple(with_gpus or [node for node in alive.values() if node.resources.get("CPU", 0)] or alive.values())


def _place(node: _RayNode) -> list[str | int]:
    """In the order of their numbers; Ray lists nodes in any."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"([0-9]{1,18})", node.host)]


def _names(nodes: Sequence[_RayNode]) -> tuple[str, ...]:
    """The hosts as people know them, where that tells them apart."""
    names = [node.host for node in nodes]
    words = names if len(set(names)) == len(names) else [node.address for node in nodes]
    return allocated_hosts.distinct(words, "ray.nodes()")[0]


def _job_id(env: Mapping[str, str]) -> str:
    """Of the job that we are in, else the address of the cluster."""
    match = re.search(r'"job_submission_id": *"([\w.-]{1,80})"', env.get("RAY_JOB_CONFIG_JSON_ENV_VAR", ""))
    return match[1] if match else env.get("RAY_ADDRESS") or "on this host"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Cluster:
    """What Ray says of the cluster that we are in."""

    python: _RayPython
    allocated: AllocatedHosts
    nodes: Mapping[str, _RayNode]
    """By the name of their host."""


def _cluster(env: Mapping[str, str]) -> _Cluster:
    python = _python(env)
    if python is None:
        raise BadInput(
            "Ray was not found: no `ray` in PATH, and this Python lacks it", "install nccltool beside Ray"
        )
    answer = external_commands.run(python.argv(env, "nodes"), _ANSWERS_S, env)
    if isinstance(answer, Unknown) or answer.code:
        said = [answer.reason] if isinstance(answer, Unknown) else last_said(answer.err.splitlines())[-1:]
        why = "".join(said)[:200]
        raise BadInput(f"Ray does not answer: {why}", "check that `ray status` works here")
    nodes = of_cluster(answer.out)
    hosts = _names(nodes)
    allocated = AllocatedHosts(scheduler="Ray", launcher="ray", job_id=_job_id(env), hosts=hosts)
    return _Cluster(python=python, allocated=allocated, nodes=dict(zip(hosts, nodes, strict=True)))


def start(options: StartOptions, env: Mapping[str, str]) -> LaunchPlan | NotChosen:
    """The nodes of the cluster whose job we are in, or with --launcher ray, of the one that runs here."""
    clusters: list[_Cluster] = []

    def allocation(env: Mapping[str, str]) -> AllocatedHosts | None:
        address = env.get("RAY_ADDRESS", "")
        if address.startswith(("http:", "https:")) or not (address or options.launcher == "ray"):
            return None  # the address of a dashboard is for `ray job submit`
        clusters.append(_cluster(env))
        return clusters[0].allocated

    found = allocated_hosts.find("ray", allocation, options, env, _REMEDY)
    if isinstance(found, NotChosen):
        return found

    def commands(hosts: Sequence[str]) -> NodeCommands:
        return _commands(clusters[0], hosts, options, env)

    planned = allocated_hosts.plan(found, clusters[0].python.program, options, env, commands)
    if isinstance(planned, NotChosen):
        return planned
    return replace(planned, node_variable=ray_driver.NODE_VARIABLE)


def _commands(
    cluster: _Cluster, hosts: Sequence[str], options: StartOptions, env: Mapping[str, str]
) -> NodeCommands:
    python = options.remote_python or ("" if cluster.python.has_nccltool else sys.executable)
    words = [f"{cluster.nodes[host].id}:{_gpus(cluster.nodes[host], options)}:{host}" for host in hosts]
    argv = cluster.python.argv(env, "--python", python, "run", *words)
    return NodeCommands(
        launcher="ray",
        why=allocated_hosts.why(cluster.allocated, len(hosts)),
        commands=(Command(argv=argv, nodes=tuple(range(len(hosts)))),),
        remote=True,
        explain=explain,
        end_word=end_word,
        hosts=tuple(hosts),
        ends_by_sigterm_s=_ENDS_S,
        starts_s=ray_driver.COMES_S,
    )


def _gpus(node: _RayNode, options: StartOptions) -> int:
    """How many to ask Ray for, who shows a process no others."""
    if options.backend == "gloo":
        return 0
    wanted = options.nproc_per_node or ""
    count = whole(wanted)
    return node.gpus if count is None else min(node.gpus, count)


_TOLD = re.compile(rf"{ray_driver.COMPLAINT}: (\S+): (.*)")


_NOT_STARTED = EndCause(
    "started no process",
    finding_kinds.HOST_MISCONFIGURED,
    "Ray started no process there in time",
    "see in `ray status` whether other work holds its GPUs; request fewer with --nproc-per-node",
)


def end_word(line: str) -> EndWord | None:
    """The driver says which node has ended, and why, while the others still run."""
    return EndWord.REASON if _TOLD.match(line) else None


def explain(host: str, exit_code: int, lines: Sequence[str]) -> Finding | None:
    """Why nodes ended, by what the driver wrote."""
    told = next((match for line in lines if (match := _TOLD.match(line))), None)
    if told is None:
        return None
    text = "\n".join(lines)
    if re.search(far_ends.PACKAGE_MISSING.pattern, text):
        cause = far_ends.PACKAGE_MISSING
    elif "started no process" in told[2]:
        cause = _NOT_STARTED
    elif "No such file or directory" in told[2]:
        cause = far_ends.NO_PYTHON
    else:
        cause = EndCause("", finding_kinds.HOST_LOST, told[2], "look at the node in `ray list nodes`")
    what = "was lost" if cause.kind is finding_kinds.HOST_LOST else "cannot be used"
    return cause.kind.finding(
        subject=Subject(kind="host", name=told[1]),
        message=f"{told[1]} {what}: {cause.what[:200]}",
        evidence=last_said(lines),
        remedy=cause.remedy,
    )
