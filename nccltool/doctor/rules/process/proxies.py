"""Web proxies that intercept a cluster's own connections."""

import ipaddress

from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, is_loopback_name, rule

_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
"""In gRPC's order, which reads no names in upper case."""
_MEETING_POINTS = ("RAY_ADDRESS", "FQ_RAY_IP", "VLLM_HOST_IP")
_NO_ADDRESS = ("", "auto", "local")


@rule("LCH026", "warning", about=_PROXIES, covers=())
def head_node_through_proxy(host: JudgedHost) -> Results:
    """gRPC connects to the cluster's head node through a proxy, because no_proxy does not contain its address.

    Why: The proxy cannot reach the nodes, or refuses ports other than 443: Ray, and vLLM over Ray, hang or report
    that they cannot connect. gRPC reads grpc_proxy, https_proxy, or http_proxy, and no_grpc_proxy or no_proxy, in
    lower case only. Entries of no_proxy are ends of names, addresses, or subnets such as 10.0.0.0/8.
    Example: https_proxy=http://proxy:3128 and RAY_ADDRESS=ray://10.20.0.5:10001
    Instead: no_proxy=localhost,127.0.0.1,10.20.0.5
    Source: gRPC documentation, default HTTP proxy mapper; src/core/handshaker/http_connect/http_proxy_mapper.cc
    """
    variable = next((one for name in _PROXIES if (one := host.variable(name)) is not None), None)
    if variable is None or not variable.value.startswith("http://") or host.nodes == 1:
        return
    if _without_exceptions(host) is not None:
        return  # LCH028 tells more: all nodes need an exception
    exempt = host.get("no_grpc_proxy") if host.variable("no_grpc_proxy") else host.get("no_proxy")
    for name in _MEETING_POINTS:
        address = _host(host.get(name) or "")
        if address in _NO_ADDRESS or is_loopback_name(address) or _is_exempt(address, exempt or ""):
            continue
        shown = escaped(address[:60])
        upper = _is_exempt(address, host.get("NO_PROXY") or "")
        why = "; gRPC does not read NO_PROXY" if upper else ""
        message = f"gRPC connects to {shown} ({name}) through the proxy{why}"
        yield report.about(variable, message, f"add {shown} to no_proxy")
        return


_WEB_PROXIES = ("http_proxy", "https_proxy")


@rule("LCH028", "warning", about=_WEB_PROXIES, covers=())
def proxy_without_exceptions(host: JudgedHost) -> Results:
    """A multi-node job sets a web proxy, but not no_proxy.

    Why: Programs that connect nodes over HTTP or gRPC, such as Ray and JAX, then connect to the proxy. It cannot
    reach the nodes, so the job hangs at startup or times out. JAX warns about it, and Paddle's launcher removes
    the two variables.
    Example: http_proxy=http://proxy:3128 with two nodes
    Instead: no_proxy=localhost,127.0.0.1,10.0.0.0/8, with the nodes' names and subnet
    Source: gRPC documentation, default HTTP proxy mapper; https://github.com/PaddlePaddle/Paddle/pull/17915;
    https://docs.jax.dev/en/latest/_autosummary/jax.distributed.initialize.html
    """
    if variable := _without_exceptions(host):
        message = "HTTP and gRPC connections between nodes go through the proxy, because no_proxy is not set"
        yield report.about(variable, message, "export no_proxy=localhost,127.0.0.1,<subnet of the nodes>")


def _without_exceptions(host: JudgedHost) -> Variable | None:
    """The variable of a proxy in a job of several nodes, if nothing is exempt from it."""
    exempt = any(host.get(name) for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"))
    if exempt or isinstance(host.nodes, Unknown) or host.nodes == 1:
        return None
    variable = next((one for name in _WEB_PROXIES if (one := host.variable(name)) is not None), None)
    return variable if variable is not None and variable.value.strip() else None


def _host(text: str) -> str:
    """The host of an address such as ray://n1:10001, [::1]:6379, or n1."""
    rest = text.strip().rpartition("://")[2].partition("/")[0]
    if rest.startswith("["):
        return rest[1:].partition("]")[0]
    return rest.partition(":")[0] if rest.count(":") == 1 else rest


def _is_exempt(address: str, entries: str) -> bool:
    return any(_fits(address, entry.strip()) for entry in entries.split(","))


def _fits(address: str, entry: str) -> bool:
    if not entry:
        return False
    if address.lower().endswith(entry.lower()) or entry == "*":
        return True
    try:
        return "/" in entry and ipaddress.ip_address(address) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
