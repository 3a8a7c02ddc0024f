"""Addresses of the first node that mean another host on each node."""

import ipaddress
import re

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text
from nccltool.hosts.nccl.interfaces import is_inside

_DOCKER = ipaddress.ip_network("172.17.0.0/16")
_INTERFACE = re.compile(r"(eth|ens|eno|ib|bond)\d{1,3}|enp\d+s\d+\w*")


@for_text("LCH014", "warning", "MASTER_ADDR", covers=())
def master_of_another_network(host: JudgedHost, variable: Variable, address: str) -> Results:
    """MASTER_ADDR is an address that each host uses for itself, or the name of an interface.

    Why: Docker gives 172.17.0.0/16 to the containers of every host, and link-local addresses do not leave a link:
    the other nodes connect to themselves, or to nobody. An interface is no host name.
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


@for_text("LCH019", "warning", "VLLM_HOST_IP", covers=())
def own_address_of_loopback(host: JudgedHost, variable: Variable, address: str) -> Results:
    """VLLM_HOST_IP is an address that other nodes cannot reach.

    Why: vLLM publishes it as the address of this node: the others connect to themselves, or wait.
    Example: VLLM_HOST_IP=0.0.0.0
    Instead: set VLLM_HOST_IP on each node to its own address in the network that connects the nodes
    Source: vLLM documentation, distributed serving and environment variables
    """
    try:
        parsed = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        unreachable = address.strip().lower() == "localhost"
    else:
        unreachable = parsed.is_loopback or parsed.is_unspecified or parsed in _DOCKER
    if unreachable and host.nodes != 1:
        yield report.better_unset(variable, "other nodes cannot reach this address")
