"""Addresses of the first node that mean a different host on each node."""

import ipaddress
import re

from nccltool.core.host_lists import unfold
from nccltool.doctor import report
from nccltool.doctor.rules.base import (
    OWN_ADDRESSES,
    JudgedHost,
    Results,
    Variable,
    escaped,
    for_text,
    is_loopback_name,
    known,
    listed,
)
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl.interfaces import is_inside

_FOUND_IF_UNSET = ("VLLM_HOST_IP", "SGLANG_HOST_IP")
_DOCKER = ipaddress.ip_network("172.17.0.0/16")
_MOST_NODES = 20_000
_INTERFACE = re.compile(r"(eth|ens|eno|ib|bond)\d{1,3}|enp\d+s\d+\w*")


@for_text("LCH014", "warning", "MASTER_ADDR", covers=())
def master_of_another_network(host: JudgedHost, variable: Variable, address: str) -> Results:
    """MASTER_ADDR is an address that each host uses for itself, or the name of an interface.

    Why: Docker gives 172.17.0.0/16 to the containers of every host, and link-local addresses do not leave a link:
    the other nodes connect to themselves, or to no host. An interface is not a host name.
    Example: MASTER_ADDR=172.17.0.2
    Instead: set MASTER_ADDR to node 0's address in the network that connects the nodes
    Source: Docker documentation, bridge network driver; RFC 3927; pytorch documentation, torch.distributed
    """
    plain = address.strip("[]").partition("%")[0]
    inside = plain.lower().endswith((".docker.internal", ".containers.internal", ".minikube.internal"))
    try:
        parsed = ipaddress.ip_address(plain)
    except ValueError:
        named = _INTERFACE.fullmatch(plain) or (is_inside(plain) and plain != "localhost" and "." not in plain)
        why = "this is the name of an interface" if named else ""
        why = "a container uses this name for the host that it runs on" if inside else why
    else:
        why = "Docker uses this subnet inside each host" if parsed in _DOCKER else ""
        why = "a link-local address is valid on one link only" if parsed.is_link_local else why
    if why and host.nodes != 1:
        remedy = "export MASTER_ADDR=<address of node 0 in the nodes' network>"
        yield report.about(variable, why, remedy)


@for_text("LCH019", "warning", *OWN_ADDRESSES, "VLLM_DP_MASTER_IP", covers=())
def own_address_of_loopback(host: JudgedHost, variable: Variable, address: str) -> Results:
    """A node publishes an address of its own that other nodes cannot reach.

    Why: vLLM, SGLang, NIXL, and Mooncake hand out this address: the others connect to themselves, or wait. The
    defaults of NIXL's side channel in vLLM and of Mooncake are localhost.
    Example: VLLM_HOST_IP=0.0.0.0, or VLLM_NIXL_SIDE_CHANNEL_HOST=localhost with two nodes
    Instead: set the variable on each node to its own address in the network that connects the nodes
    Source: vLLM documentation, distributed serving, environment variables, and NixlConnector usage guide; SGLang
    documentation, environment variables; Mooncake documentation, integration with SGLang
    """
    plain = address.strip()
    plain = (plain.partition(":")[0] if plain.count(":") == 1 else plain).strip("[]")
    try:
        parsed = ipaddress.ip_address(plain)
    except ValueError:
        unreachable = plain.lower() == "localhost"
    else:
        of_bridge = variable.name == "VLLM_HOST_IP" and parsed in _DOCKER
        unreachable = parsed.is_loopback or parsed.is_unspecified or of_bridge
    # several engines of one node use localhost for what is only between them
    several = host.nodes != 1 if variable.name == "VLLM_HOST_IP" else (or_none(host.nodes) or 0) > 1
    if unreachable and several:
        message = "other nodes cannot reach this address"
        if variable.name in _FOUND_IF_UNSET:
            yield report.better_unset(variable, message)
        else:
            yield report.about(variable, message, f"export {variable.name}=<address of this node>")


_HOST_NAME = re.compile(r"(?=.*[A-Za-z])[\w.-]+", re.ASCII)
_AS_ADDRESS = ("VLLM_HOST_IP", "SGLANG_HOST_IP", "VLLM_DP_MASTER_IP", "VLLM_NIXL_SIDE_CHANNEL_HOST")
_RAY_WORDS = ("auto", "local")


@for_text("LCH027", "warning", *_AS_ADDRESS, "RAY_ADDRESS", covers=())
def malformed_engine_address(_: JudgedHost, variable: Variable, text: str) -> Results:
    """An engine's address contains quotes, a subnet, a placeholder, or an extra port, or lacks its port.

    Why: vLLM and SGLang append a port to the value as it is, so no rank can connect. Ray refuses an address
    without a port.
    Example: VLLM_HOST_IP=10.0.0.1:8000, or RAY_ADDRESS=10.0.0.1
    Instead: VLLM_HOST_IP=10.0.0.1, and RAY_ADDRESS=10.0.0.1:6379
    Source: vLLM vllm/utils/network_utils.py (get_ip); Ray python/ray/_private/services.py (extract_ip_port)
    """
    if "$" in text:
        return
    if variable.name == "RAY_ADDRESS":
        if ":" not in text and text.strip() not in _RAY_WORDS:
            yield report.about(variable, "Ray expects HOST:PORT", "add the port, such as :6379")
    elif why := _no_address(text):
        yield report.about(variable, why, f"export {variable.name}=<address of this node>")


def _no_address(plain: str) -> str:
    try:
        ipaddress.ip_address(plain.strip("[]").partition("%")[0])
    except ValueError:
        pass
    else:
        return ""
    if _INTERFACE.fullmatch(plain):
        return "this is the name of an interface"
    if re.fullmatch(r"[\w.-]+:\d+", plain):
        return "the engine adds the port itself"
    return "" if _HOST_NAME.fullmatch(plain) else "this is not an address"


@for_text("LCH024", "warning", "MASTER_ADDR", covers=(), needs=("names", "network", "rank"))
def first_rank_elsewhere(host: JudgedHost, variable: Variable, _: str) -> Results:
    """Rank 0 runs on this host, but MASTER_ADDR is the address of another one.

    Why: Rank 0 listens here, while all other ranks try to connect to MASTER_ADDR until they time out.
    Example: RANK=0 on n2, and MASTER_ADDR=n1
    Instead: set MASTER_ADDR to an address of rank 0's host
    Source: pytorch documentation, torch.distributed, environment variable initialization
    """
    if host.get("RANK") != "0" or host.get("KUBERNETES_SERVICE_HOST") is not None:  # behind a service
        return
    master = known(host.facts.names.master_addr)
    own = {one.address for one in known(host.facts.network.addresses)}
    if master and host.several_nodes and not any(one in own or is_loopback_name(one) for one in master):
        message = f"rank 0 listens on this host, which is not at {escaped(', '.join(master[:3]))}"
        remedy = f"export MASTER_ADDR={escaped(host.name[:60])}, or start rank 0 there"
        yield report.about(variable, message, remedy)


@for_text("LCH025", "warning", "MASTER_ADDR", covers=())
def master_outside_the_job(host: JudgedHost, variable: Variable, text: str) -> Results:
    """MASTER_ADDR is the host from which the job was submitted, not one of its nodes.

    Why: The script set it to its own hostname on the login node, where no rank listens.
    Example: MASTER_ADDR=login1 with SLURM_SUBMIT_HOST=login1 and SLURM_JOB_NODELIST=n[1-2]
    Instead: MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    Source: Slurm documentation, sbatch, output environment variables; pytorch documentation, torch.distributed
    """
    submitted, nodes = host.get("SLURM_SUBMIT_HOST") or "", host.get("SLURM_JOB_NODELIST") or ""
    name = text.partition(".")[0]
    if not nodes or name != submitted.partition(".")[0]:
        return
    try:
        names = unfold(nodes, _MOST_NODES)
    except ValueError:
        return
    if len(names) <= _MOST_NODES and name not in {one.partition(".")[0] for one in names}:
        remedy = 'MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
        yield report.about(variable, f"the job runs on {listed(names, 3)}, not on {escaped(name[:60])}", remedy)
