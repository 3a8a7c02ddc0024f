"""Interfaces and adapters that libraries alongside NCCL are told to use: missing ones, and beginnings of names."""

import re

from nccltool.core.findings import Severity
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, Variable, escaped, for_text, known
from nccltool.hosts.nccl import values

_INTERFACES = (
    *("OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include", "FI_TCP_IFACE", "FI_SOCKETS_IFACE"),
    *("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "TP_SOCKET_IFNAME"),
)
_NAME = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_INTERFACE = re.compile(r"(eth|ib|ens|eno|bond|hsn)\d+|enp\d+s\d+\w*", re.ASCII)
_PORT = re.compile(r"((mlx[45]|bnxt_re|irdma|erdma|rocep|ibp|rdmap)\w*):(\d+)", re.ASCII)


@for_text("NETIF041", "warning", *_INTERFACES, "UCX_NET_DEVICES", covers=(), needs=("network", "rdma"))
def neighbor_without_interface(host: JudgedHost, variable: Variable, text: str) -> Results:
    """A library alongside NCCL is told to use an interface or an adapter that this host does not have.

    Why: Open MPI and libfabric ignore the name or fail, and UCX reports that the device is not available. If no
    other one is listed, no connection leaves the host.
    Example: OMPI_MCA_btl_tcp_if_include=eth0 on a host with enp6s0
    Instead: OMPI_MCA_btl_tcp_if_include=10.0.0.0/16
    Source: Open MPI documentation, networking support, TCP; UCX documentation, FAQ, network devices
    """
    if text.startswith("^"):
        return
    words = list(values.split(text.removeprefix("=")))
    if variable.name == "UCX_NET_DEVICES":
        ports = [match for word in words if (match := _PORT.fullmatch(word))]
        there = {one.name for one in known(host.facts.rdma.devices)} if ports else set()
        missing = next((match[0] for match in ports if match[1] not in there), None)
        names = [word for word in words if _INTERFACE.fullmatch(word)]
        if missing is None and names:
            own = {one.name for one in known(host.facts.network.interfaces)}
            missing = next((word for word in names if word not in own), None)
    else:
        names = [word for word in words if _NAME.fullmatch(word)]
        there = {one.name for one in known(host.facts.network.interfaces)} if names else set()
        missing = next((word for word in names if word not in there), None)
    if missing:
        message = f"this host has no {escaped(missing[:40])}"
        remedy = "compare with `ip -br link` and `rdma link`"
        yield report.about(variable, message, remedy, part=missing)


_PREFIX = re.compile(r"eth|en|em|ens|eno|enp|enx|ib|ibs|ibp|bond|br|hsn|team|wl|wlp|wlan", re.ASCII)


@for_text("NETIF043", "warning", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", covers=(), needs=("network",))
def prefix_for_gloo(host: JudgedHost, variable: Variable, text: str) -> Results:
    """GLOO_SOCKET_IFNAME or TP_SOCKET_IFNAME contains the beginning of a name, as NCCL allows.

    Why: Gloo and TensorPipe look for an interface of exactly this name: "Unable to find address for: eth".
    Example: GLOO_SOCKET_IFNAME=eth
    Instead: GLOO_SOCKET_IFNAME=eth0
    Source: pytorch torch/csrc/distributed/c10d/ProcessGroupGloo.cpp (createDeviceForInterface)
    """
    if not isinstance(host.facts.network.interfaces, Unknown):
        return  # NETIF018 compares with the host
    for word in text.split(","):
        if _PREFIX.fullmatch(word.strip()):
            message = f"{escaped(word)} is the beginning of a name; Gloo and TensorPipe need all of it"
            yield report.about(variable, message, "write the whole name, such as eth0", part=word)


@for_text("NETIF044", "error", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", covers=(), needs=("network",))
def gloo_interface_without_address(host: JudgedHost, variable: Variable, text: str) -> Results:
    """GLOO_SOCKET_IFNAME or TP_SOCKET_IFNAME names an interface that has no address.

    Why: Gloo and TensorPipe need an address to listen on: "Unable to find address for: enp1s0f1np1". A port
    without a cable, or without configuration, is often named because another host uses it.
    Example: GLOO_SOCKET_IFNAME=enp1s0f1np1, which has no carrier
    Instead: name the interface that `ip -br address` shows with an address
    Source: pytorch torch/csrc/distributed/c10d/ProcessGroupGloo.cpp (createDeviceForInterface)
    """
    network = host.facts.network
    there = {one.name for one in known(network.interfaces)}
    with_address = {one.interface for one in known(network.addresses)} if there else set()
    for word in text.split(","):
        if word in there and word not in with_address:
            message = f"{escaped(word)} has no address, so that Gloo and TensorPipe cannot listen on it"
            severity: Severity | None = "info" if variable.name.startswith("TP_") else None  # of RPC alone
            yield report.about(variable, message, "compare with `ip -br address`", part=word, severity=severity)
