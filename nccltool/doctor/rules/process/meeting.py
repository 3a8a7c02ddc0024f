"""torchrun's rendezvous: how its address and options are written, and whether all nodes have the same endpoint."""

import re

from nccltool.core.findings import Severity
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_number, for_text, rule

_HOST = re.compile(r"[\w.:-]+", re.ASCII)
_PORT = re.compile(r"\d{1,5}", re.ASCII)
_NUMBERS = (
    "timeout", "join_timeout", "last_call_timeout", "close_timeout", "heartbeat_timeout", "read_timeout",
    "keep_alive_interval", "keep_alive_max_attempt", "rank",
)  # fmt: skip
_BOOLEANS = ("1", "true", "t", "yes", "y", "0", "false", "f", "no", "n")
_SHORT_S = 60
"""A node that pulls an image or reads a large program from a file server begins later than others by more."""


@for_text("RUN007", "error", "PET_RDZV_ENDPOINT", "PET_RDZV_CONF", covers=())
def malformed_rendezvous(_: JudgedHost, variable: Variable, text: str) -> Results:
    """torchrun cannot parse the address or the options of its rendezvous.

    Why: torchrun ends with a ValueError before it starts a rank. An address is a host and a port, without http://;
    options are key=value pairs with commas.
    Example: PET_RDZV_CONF=join_timeout:600
    Instead: PET_RDZV_CONF=join_timeout=600
    Source: pytorch torch/distributed/elastic/rendezvous/utils.py (parse_rendezvous_endpoint,
    _parse_rendezvous_config)
    """
    why = _address(text.strip()) if variable.name == "PET_RDZV_ENDPOINT" else _options(text.strip())
    if why and "$" not in text:
        yield report.about(variable, why, "write HOST:PORT, or KEY=VALUE,...")


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if colon and not (_PORT.fullmatch(port) and int(port) < 2**16):
        return f"{escaped(port[:40])!r} is not a port"
    host = host.strip("[]") if colon else text.strip("[]")
    return (
        ""
        if _HOST.fullmatch(host) and "//" not in host
        else f"{escaped(host[:60])} is not a host name or an address"
    )


def _options(text: str) -> str:
    for pair in text.split(","):
        key, _, value = (part.strip() for part in pair.partition("="))
        shown = escaped(pair.strip()[:60])
        if not key or not value:
            return f"{shown!r} is not KEY=VALUE"
        if key in _NUMBERS and not re.fullmatch(r"[+-]?\d{1,12}", value):
            return f"{shown} needs a whole number"
        if key == "is_host" and value.lower() not in _BOOLEANS:
            return f"{shown} needs true or false"
    return ""


@rule("RUN008", "warning", covers=())
def nodes_without_meeting_point(host: JudgedHost) -> Results:
    """PET_NNODES is more than one, and no variable that the rendezvous reads names a meeting point.

    Why: torchrun then uses an address of the host itself, and each node waits for the others at its own. With
    PET_RDZV_BACKEND=c10d, PET_MASTER_ADDR has no effect; c10d needs PET_RDZV_ENDPOINT.
    Example: PET_NNODES=2, PET_RDZV_BACKEND=c10d, and PET_MASTER_ADDR=node1
    Instead: PET_RDZV_ENDPOINT=node1:29500
    Source: pytorch torch/distributed/run.py (get_rdzv_endpoint, get_args_parser)
    """
    nodes = host.variable("PET_NNODES")
    if nodes is None or not re.fullmatch(r"\d{1,9}(:\d{1,9})?", nodes.value.strip()):
        return
    several = int(nodes.value.rpartition(":")[2]) > 1
    static = (host.get("PET_RDZV_BACKEND") or "static") == "static"
    master = host.get("PET_MASTER_ADDR")
    if not several or host.get("PET_RDZV_ENDPOINT") or (static and master) or _alone(host):
        return
    if master:
        message = "the rendezvous c10d does not read PET_MASTER_ADDR"
    elif host.get("PET_RDZV_BACKEND"):
        message = "no PET_RDZV_ENDPOINT: each node waits for the others at its own address"
    else:
        return  # options of the command line may say the rest
    yield report.about(nodes, message, "export PET_RDZV_ENDPOINT=<host of one node>:29500")


def _alone(host: JudgedHost) -> bool:
    return not isinstance(host.nodes, Unknown) and host.nodes == 1


@for_text("RUN009", "warning", "PET_RDZV_CONF", covers=())
def hasty_rendezvous(host: JudgedHost, variable: Variable, text: str) -> Results:
    """The rendezvous waits for less than a minute for the other nodes.

    Why: Nodes start at different times: an image is pulled, or a file server is slow. The first ones give up with
    RendezvousTimeoutError, and the job never starts. The default is 600 s.
    Example: PET_RDZV_CONF=join_timeout=30
    Instead: PET_RDZV_CONF=join_timeout=600
    Source: pytorch torch/distributed/elastic/rendezvous/dynamic_rendezvous.py (RendezvousTimeout)
    """
    found = re.search(r"\b(join_timeout|timeout)\s*=\s*(\d{1,9})\b", text)
    if found and int(found[2]) < _SHORT_S and host.nodes != 1:
        message = f"{found[1]} is {found[2]} s, and nodes start at different times"
        yield report.about(variable, message, f"{variable.name}={found[1]}=600, or leave it out", part=found[0])


@for_number("RUN010", "warning", "SLURM_JOB_NUM_NODES", covers=())
def nodes_unlike_allocation(host: JudgedHost, variable: Variable, allocated: int) -> Results:
    """PET_NNODES differs from the number of nodes that Slurm allocated.

    Why: With more, torchrun waits for nodes that do not exist until it times out. With fewer, each node may train
    a job of its own, which may be intended.
    Example: PET_NNODES=4 in an allocation of two nodes
    Instead: PET_NNODES=$SLURM_JOB_NUM_NODES
    Source: pytorch documentation, torchrun; Slurm documentation, sbatch, output environment variables
    """
    wanted = (host.get("PET_NNODES") or "").strip()
    step = host.integer("SLURM_STEP_NUM_NODES") or allocated  # a step may have some of the nodes
    if re.fullmatch(r"\d{1,9}", wanted) and allocated > 0 and int(wanted) not in (step, allocated):
        message = f"the allocation has {allocated}, but PET_NNODES is {int(wanted)}"
        severity: Severity | None = "info" if int(wanted) < allocated else None
        yield report.about(variable, message, "export PET_NNODES=$SLURM_JOB_NUM_NODES", part="", severity=severity)
