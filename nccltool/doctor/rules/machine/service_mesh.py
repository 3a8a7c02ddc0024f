"""Service meshes, whose proxies take over the connections of a pod."""

from collections.abc import Mapping

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, known, rule
from nccltool.hosts.facts import or_none

_MESHES: Mapping[str, frozenset[int]] = {
    "Istio": frozenset({15001, 15006}),
    "Linkerd": frozenset({4140, 4143}),
}
"""The ports to which each redirects what leaves and what enters a pod."""


@rule("HOST013", "warning", covers=(), needs=("network", "container"))
def service_mesh_in_the_way(host: JudgedHost) -> Results:
    """A proxy of a service mesh listens in the network namespace of this container.

    Why: The mesh redirects all TCP connections of the pod to its sidecar, which expects HTTP and its own
    encryption. NCCL, Gloo, and torch's store use ports that the kernel chooses, and ranks hang at the start.
    Example: a namespace with the label istio-injection=enabled
    Instead: set the annotation sidecar.istio.io/inject to false on the pods
    Source: Istio documentation, ports used by Istio; Linkerd documentation, iptables reference;
    https://github.com/NVIDIA/nccl/issues/1638
    """
    if or_none(host.facts.container.inside) is not True:  # a gateway on the host redirects no pod
        known(host.facts.container.inside)
        return
    ports = {one.port for one in known(host.facts.network.listeners)}
    for mesh, own in _MESHES.items():
        if own <= ports:
            remedy = "switch injection off for the pods of the job: sidecar.istio.io/inject or linkerd.io/inject"
            lines = (f"listening: {', '.join(map(str, sorted(own)))}",)
            message = f"the {mesh} proxy takes over the connections between ranks"
            yield report.host("service mesh", message, remedy, evidence=lines)
