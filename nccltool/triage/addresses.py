"""Which interfaces and addresses lead to no other host."""

import re

_NOT_FABRICS = re.compile(
    r"^(?:lo\d*|docker|virbr|veth|br-|br\d|cni|flannel|cali|cilium|tun|tap|ip6tnl|tunl|sit|kube|cbr|podman|vmnet|lxc|lxd|"
    r"tailscale|wg|zt|nerdctl|dummy|pod-|vxlan|geneve|ipvs|nodelocaldns|azv|weave|ovs|genev|gre|usb|wl|idrac|bmc)"
)
"""Interfaces that no fabric ends in: loopback, bridges and tunnels of containers and VPNs, management."""
_NOT_ROUTED = re.compile(r"^\[?(?:127\.|::1\b|fe80:|169\.254\.|0\.0\.0\.0)")
_DOCKER = re.compile(r"^172\.1[7-9]\.|^172\.2\d\.0\.|^192\.168\.122\.|^10\.88\.0\.")
"""Default networks of Docker, libvirt and Podman."""
_OF_EVERY_HOST = re.compile(r"^(?:172\.17\.0\.1|192\.168\.122\.1)(?::\d+)?$")
"""What docker0 has on every host where nobody changed it, and virbr0, the bridge of libvirt's network `default`
(https://wiki.libvirt.org/VirtualNetworking.html)."""
_OF_LIBVIRT = re.compile(r"^192\.168\.122\.")


def is_virtual(interface: str) -> bool:
    """Whether an interface leads to no other host, by its name."""
    return bool(_NOT_FABRICS.match(interface))


def is_unreachable(address: str) -> bool:
    """Whether an address means something on its own host only."""
    return bool(_NOT_ROUTED.match(address))


def is_of_containers(address: str) -> bool:
    """Whether an address is in a network that container engines make by default."""
    return bool(_DOCKER.match(address))


def is_of_every_host(address: str) -> bool:
    """Whether every host has this address itself, on a bridge to its own containers or virtual machines."""
    return bool(_OF_EVERY_HOST.match(address))


def is_of_libvirt(address: str) -> bool:
    """Whether an address is in libvirt's network `default`, which ends at its host."""
    return bool(_OF_LIBVIRT.match(address))
