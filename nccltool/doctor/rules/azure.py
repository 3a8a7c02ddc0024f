"""Azure: ND virtual machines."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import RACK, JudgedHost, Results, escaped, known, rule
from nccltool.hosts.facts import or_none

_FILES = ("/opt/microsoft/ndv5/topo.xml", "/opt/microsoft/ndv4/topo.xml", "/opt/microsoft/ndv2/topo.xml")


@rule("AZ001", "warning", needs=("cloud", "rdma", "nvidia", "files"))
def azure_without_topology(host: JudgedHost) -> Results:
    """An Azure ND VM has InfiniBand, but NCCL_TOPO_FILE is not set.

    Why: The VM hides its PCI tree, so NCCL does not know which adapter is close to which GPU. Azure's image sets
    the variable in /etc/nccl.conf, which containers do not see.
    Example: a container on ND H100 v5 without /etc/nccl.conf and /opt/microsoft
    Instead: mount /opt/microsoft and set NCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml and
    NCCL_IB_PCI_RELAXED_ORDERING=1
    Source: https://github.com/Azure/azhpc-images
    """
    if host.get("NCCL_TOPO_FILE") is not None or known(host.facts.cloud.provider) != "azure":
        return
    gpus = host.gpus
    if not gpus or any(RACK.search(or_none(gpu.name) or "") for gpu in gpus):  # no image has a file for these
        return
    ports = [port for device in known(host.facts.rdma.devices) for port in or_none(device.ports) or ()]
    if any(port.link_layer == "InfiniBand" for port in ports):
        files = [path for path in _FILES if (file := host.facts.file(path)) is not None and file.exists is True]
        path = (*files, *_FILES)[0]
        there = f"{escaped(path)} {'exists' if files else 'does not exist'}"
        message = "this VM hides its PCI tree, and NCCL_TOPO_FILE is not set"
        remedy = f"export NCCL_TOPO_FILE={path}; in a container, mount /opt/microsoft as well"
        lines = (f"{len(gpus)} GPUs, {len(ports)} ports; {there}",)
        fix = report.export("NCCL_TOPO_FILE", path) if files else ()
        yield report.variable("NCCL_TOPO_FILE", message, remedy, evidence=lines, fix=fix)
