"""torchrun's own variables, PET_*: values that it refuses, and endpoints that other nodes cannot reach."""

import re

from nccltool.core.findings import Severity
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import (
    JudgedHost,
    Results,
    Variable,
    escaped,
    for_text,
    is_loopback_name,
    is_unspecified,
    known,
    rule,
)
from nccltool.hosts.facts import or_none

_RANKS = ("auto", "gpu", "cpu", "xpu", "mps", "hpu", "npu", "mtia", "privateuse1")
_BACKENDS = ("static", "c10d", "etcd", "etcd-v2", "zeus-adapter", "mast", "_etcd")
_RANGE = re.compile(r"[1-9]\d{0,8}(:[1-9]\d{0,8})?", re.ASCII)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_SWITCH = re.compile(r"[+-]?\d{1,9}", re.ASCII)
_EXPECTED = {
    "PET_NNODES": (_RANGE, "a number of nodes, or two as in 2:4"),
    "PET_NODE_RANK": (_NUMBER, "a number from 0"),
    "PET_MAX_RESTARTS": (_NUMBER, "a number from 0"),
    "PET_MASTER_PORT": (_NUMBER, "a port"),
    "PET_STANDALONE": (_SWITCH, "0 or 1"),
    "PET_NO_PYTHON": (_SWITCH, "0 or 1"),
}
"""What torchrun converts, and what it expects."""


@for_text("RUN001", "error", *_EXPECTED, "PET_NPROC_PER_NODE", "PET_RDZV_BACKEND", covers=())
def refused_by_torchrun(_: JudgedHost, variable: Variable, text: str) -> Results:
    """torchrun refuses the value of one of its variables.

    Why: torchrun ends with an error before it starts a rank. PET_NPROC_PER_NODE is a number, or a kind of device.
    Example: PET_NPROC_PER_NODE=all
    Instead: PET_NPROC_PER_NODE=gpu
    Source: pytorch torch/distributed/run.py (determine_local_world_size, parse_min_max_nnodes),
    torch/distributed/argparse_util.py
    """
    pattern, expected = _EXPECTED.get(variable.name, (None, ""))
    if variable.name == "PET_NPROC_PER_NODE" and not _NUMBER.fullmatch(text) and text not in _RANKS:
        expected = "a number, auto, gpu, or cpu"
    elif variable.name == "PET_RDZV_BACKEND" and text not in _BACKENDS:
        expected = "c10d, static, or etcd, unless a package adds another"
    elif pattern is None or pattern.fullmatch(text):
        return
    severity: Severity | None = "warning" if variable.name == "PET_RDZV_BACKEND" else None
    yield report.better_unset(variable, f"torchrun expects {expected}", severity=severity)


@for_text("RUN002", "error", "PET_RDZV_ENDPOINT", "PET_MASTER_ADDR", "PET_LOCAL_ADDR", covers=())
def nodes_meet_at_loopback(host: JudgedHost, variable: Variable, text: str) -> Results:
    """torchrun's meeting point, or a node's own address, is a loopback address in a job of several nodes.

    Why: Each node waits for the others at its own address until torchrun times out.
    Example: PET_RDZV_ENDPOINT=localhost:29500
    Instead: PET_RDZV_ENDPOINT=node1:29500
    Source: pytorch documentation, torchrun, rendezvous endpoint
    """
    address = re.sub(r":\d*$", "", text) if text.count(":") == 1 or text.startswith("[") else text
    own = is_loopback_name(address.strip("[]")) or is_unspecified(address.strip("[]"))
    if own and host.several_nodes:
        remedy = f"set {variable.name} to the address of one node, with which the others can connect"
        yield report.about(variable, "each node waits for the others at its own address", remedy)


@rule("RUN003", "warning", covers=(), needs=("rank",))
def contradicting_nodes(host: JudgedHost) -> Results:
    """PET_STANDALONE is on, or PET_NODE_RANK is too large, for the number of nodes in PET_NNODES.

    Why: A standalone torchrun joins no other: each node trains alone. Node ranks begin at 0: with a rank equal to
    the number of nodes, no node has rank 0.
    Example: PET_STANDALONE=1 and PET_NNODES=2
    Instead: unset PET_STANDALONE
    Source: pytorch documentation, torchrun; torch/distributed/run.py (config_from_args)
    """
    nodes = host.get("PET_NNODES") or ""
    most = int(nodes.rpartition(":")[2]) if _RANGE.fullmatch(nodes) else None
    alone, rank = host.variable("PET_STANDALONE"), host.variable("PET_NODE_RANK")
    if alone and _SWITCH.fullmatch(alone.value) and int(alone.value) and (most or 1) > 1:
        yield report.better_unset(alone, f"each of the {most} nodes starts a job of its own")
    if rank and most and _NUMBER.fullmatch(rank.value) and int(rank.value) >= most:
        message = f"the node rank is {escaped(rank.value)}, and PET_NNODES is {escaped(nodes)}"
        yield report.about(rank, message, "count node ranks from 0")


@for_text("RUN004", "warning", "PET_NNODES", covers=())
def elastic_without_meeting(host: JudgedHost, variable: Variable, text: str) -> Results:
    """PET_NNODES is a range of nodes, but the rendezvous is static.

    Why: A static rendezvous has a fixed number of nodes: torchrun raises an error, or never starts.
    Example: PET_NNODES=1:4 and PET_RDZV_BACKEND=static
    Instead: PET_RDZV_BACKEND=c10d
    Source: pytorch torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py
    """
    least, _, most = text.partition(":")
    if most and least != most and host.get("PET_RDZV_BACKEND") == "static":
        yield report.about(
            variable, "a static rendezvous has a fixed number of nodes", "use PET_RDZV_BACKEND=c10d"
        )


@for_text("RUN005", "error", "PET_RDZV_ENDPOINT", covers=())
def static_meeting_without_port(host: JudgedHost, variable: Variable, text: str) -> Results:
    """The meeting point of a static rendezvous, or of several nodes, has the port 0.

    Why: With port 0, the kernel chooses a port that the other processes do not learn: torchrun hangs. Only c10d
    on one node passes the port on.
    Example: PET_RDZV_BACKEND=static and PET_RDZV_ENDPOINT=localhost:0
    Instead: PET_RDZV_ENDPOINT=localhost:29500
    Source: https://github.com/pytorch/pytorch/issues/130656
    """
    several = not isinstance(host.nodes, Unknown) and host.nodes > 1
    static = (host.get("PET_RDZV_BACKEND") or "static") == "static"
    if re.search(r":0+$", text.strip()) and (several or static):
        yield report.about(variable, "port 0 is a port that the others do not learn", "name a port, such as 29500")


@for_text("RUN006", "warning", "PET_RDZV_ENDPOINT", covers=(), needs=("network", "rank"))
def meeting_port_taken(host: JudgedHost, variable: Variable, text: str) -> Results:
    """Another process already listens on the port of torchrun's meeting point.

    Why: A second run on the host cannot listen there: "Address already in use". It may also join the first run.
    Example: PET_RDZV_ENDPOINT=localhost:29400 while another torchrun uses this port
    Instead: PET_RDZV_ENDPOINT=localhost:29401, or torchrun --standalone
    Source: https://github.com/pytorch/pytorch/issues/126510
    """
    address, _, port = text.strip().rpartition(":")
    own = {one.address for one in or_none(host.facts.network.addresses) or ()}
    here = is_loopback_name(address.strip("[]")) or address.strip("[]") in own
    if here and _NUMBER.fullmatch(port) and host.get("RANK") is None:
        taken = next((one for one in known(host.facts.network.listeners) if one.port == int(port)), None)
        if taken:
            yield report.about(variable, f"another process listens on it (uid {taken.uid})", "choose a free port")
