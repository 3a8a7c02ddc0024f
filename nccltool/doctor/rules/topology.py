"""Topology files: missing files, dumps, and files from a different machine."""

import re
from collections.abc import Iterator

from nccltool.core.findings import Severity
from nccltool.core.text import counted
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text, known, rule
from nccltool.hosts.facts import or_none
from nccltool.hosts.facts.devices import DISPLAY, NETWORK

_DEFAULT_FILE = "/var/run/nvidia-topologyd/virtualTopology.xml"

_DEV = re.compile(r"<gpu\b[^<>]{0,200}\bdev=[\"'](\d{1,4})[\"']")
_OF_AZURE = {"/opt/microsoft/ncv4/graph.xml": 4}
"""GPUs of a file that could not be read: Azure/azhpc-images 8e9d055f (2026-07-29)."""
_SERIES = re.compile(r"\b(n[cd]v\d)\b")
"""Of Azure's VMs, in /opt/microsoft/ndv4/topo.xml and ndv4-topo.xml."""
_PCI = re.compile(r"<pci\b[^<>]{0,2000}>")
_BUSID = re.compile(r"\bbusid=[\"']([0-9A-Fa-f:.]{1,20})[\"']")
_CLASS = re.compile(r"\bclass=[\"']0x0?(\d)\w*[\"']")


@for_text("TOP001", "warning", "NCCL_TOPO_FILE", covers=("P2P-016",), needs=("files",))
def missing_topology_file(host: JudgedHost, variable: Variable, path: str) -> Results:
    """NCCL_TOPO_FILE names a file that does not exist or cannot be read.

    Why: NCCL reports this only at level INFO and detects the topology itself, which rarely works in a VM.
    Example: NCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml in a container that does not mount it
    Instead: docker run -v /opt/microsoft:/opt/microsoft:ro
    Source: NCCL src/graph/xml.cc (ncclTopoGetXmlFromFile)
    """
    file = host.facts.file("NCCL_TOPO_FILE")
    if file and (file.exists is False or known(file.readable) is False):
        message = f"the topology file {'does not exist' if file.exists is False else 'cannot be read'}"
        yield report.better_unset(
            variable, message, f"mount it or make it readable; check with ls -l {escaped(path[:160])}"
        )


@for_text("TOP002", "warning", "NCCL_TOPO_FILE", covers=("P2P-017",), needs=("files", "pci"))
def foreign_topology_file(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_TOPO_FILE lists GPUs or adapters at PCI addresses that this host does not have.

    Why: The file describes a different machine, so NCCL misplaces devices or does not find them.
    Example: the ND A100 v4 file on ND H100 v5
    Instead: use the file for this instance type
    Source: NCCL user guide, NCCL_TOPO_FILE
    """
    file = host.facts.file("NCCL_TOPO_FILE")
    if file is None or file.exists is False:
        return
    named = list(dict.fromkeys(_addresses(known(file.text))))
    here = {device.address for device in known(host.facts.pci.devices)} if named else set()
    missing = [address for address in named if address not in here]
    if missing:
        message = f"{len(missing)} of {len(named)} GPUs and adapters in the topology file are not in this host"
        remedy = "use the file for this instance type or unset NCCL_TOPO_FILE"
        lines = (f"missing from /sys/bus/pci/devices: {', '.join(missing[:4])}",)
        severity: Severity | None = "error" if len(missing) == len(named) else None
        yield report.better_unset(variable, message, remedy, evidence=lines, severity=severity)


def _addresses(text: str) -> Iterator[str]:
    """PCI addresses of GPUs and adapters; switches in these files are often invented."""
    for element in _PCI.findall(text):
        address, kind = _BUSID.search(element), _CLASS.search(element)
        if address and kind and int(kind[1]) in (DISPLAY, NETWORK):
            yield address[1].lower()


@rule("TOP003", "warning", covers=("P2P-018",), needs=("cpu", "pci", "files", "rdma"))
def flat_virtual_machine(host: JudgedHost) -> Results:
    """A VM shows no PCI tree, and no setting tells NCCL which adapter is close to which GPU.

    Why: All devices appear on one bus, so NCCL picks adapters at random and does not use GPUDirect.
    Example: NCCL_TOPO_FILE is not set, and /var/run/nvidia-topologyd/virtualTopology.xml does not exist
    Instead: set NCCL_TOPO_FILE to the vendor's file; Azure ships /opt/microsoft/nd*/topo.xml
    Source: NCCL user guide, troubleshooting, topology detection
    """
    if host.get("NCCL_TOPO_FILE") is not None or not known(host.facts.cpu.hypervisor):
        return
    devices = known(host.facts.pci.devices)
    gpus, adapters = [one for one in devices if one.is_gpu], [one for one in devices if one.kind == NETWORK]
    both = [*gpus, *adapters]
    if len(gpus) < 2 or len(adapters) < 2 or any(one.upstream for one in both):
        return
    # on these, the plugin of AWS brings a file of its own
    if any(device.driver == "efa" for device in or_none(host.facts.rdma.devices) or ()):
        return
    file = host.facts.file(_DEFAULT_FILE)
    if file is None or not known(file.exists):
        message = f"this VM shows {len(gpus)} GPUs and {len(adapters)} adapters on one flat bus"
        remedy = "export NCCL_TOPO_FILE=<vendor's file for this instance type>"
        lines = (f"no bridge above {', '.join(one.address for one in both[:3])}, ...",)
        yield report.variable("NCCL_TOPO_FILE", message, remedy, evidence=lines)


@for_text("TOP004", "info", "NCCL_GRAPH_FILE", covers=("P2P-019",), needs=("cloud",))
def graph_file(host: JudgedHost, variable: Variable, path: str) -> Results:
    """NCCL_GRAPH_FILE is set.

    Why: The file fixes the channels. If the number of GPUs differs from that in the file, NCCL fails with "dev not
    found". Azure's image for NC A100 v4 sets it by design, for all GPUs of the VM.
    Example: NCCL_GRAPH_FILE=/tmp/graph.xml
    Instead: unset NCCL_GRAPH_FILE
    Source: https://github.com/NVIDIA/nccl/issues/1008
    """
    of_image = host.facts.cloud.provider == "azure" and path.startswith("/opt/microsoft/")
    message = "a file fixes the channels and fits only one set of GPUs"
    remedy = "unset NCCL_GRAPH_FILE" + (" for jobs on some of the GPUs" if of_image else "")
    yield report.better_unset(variable, message, remedy)


@for_text("TOP005", "info", "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE", covers=("P2P-020",))
def topology_dumped(_: JudgedHost, variable: Variable, __: str) -> Results:
    """NCCL_TOPO_DUMP_FILE or NCCL_GRAPH_DUMP_FILE is set.

    Why: Each new communicator writes the file again.
    Example: NCCL_TOPO_DUMP_FILE=/tmp/topo.xml
    Instead: unset the variable once the file exists
    Source: NCCL user guide, NCCL_TOPO_DUMP_FILE
    """
    remedy = f"unset {variable.name} once the file exists"
    yield report.better_unset(variable, "each new communicator writes this file again", remedy)


@for_text("TOP006", "error", "NCCL_GRAPH_FILE", covers=(), needs=("files",))
def graph_of_more_gpus(host: JudgedHost, variable: Variable, path: str) -> Results:
    """NCCL_GRAPH_FILE has more GPUs than this host has ranks or may have.

    Why: NCCL looks up every GPU of the file and fails when one has no rank. Azure's image for NC A100 v4 sets a
    file of four GPUs on VMs with one or two as well. Without the number of ranks, this is a warning.
    Example: NCCL_GRAPH_FILE=/opt/microsoft/ncv4/graph.xml with two ranks
    Instead: unset NCCL_GRAPH_FILE
    Source: NCCL src/graph/search.cc (ncclTopoGetChannelFromXml); Azure/azhpc-images topology/ncv4-graph.xml
    """
    file = host.facts.file("NCCL_GRAPH_FILE")
    text = or_none(file.text) if file else None
    gpus = len(set(_DEV.findall(text))) if text else _OF_AZURE.get(path, 0)
    ranks = or_none(host.local_ranks)
    if ranks is None and gpus > 1:
        message = f"the file has {gpus} GPUs: NCCL fails on a host with fewer ranks"
        yield report.better_unset(variable, message, severity="warning")
    elif ranks is not None and ranks < gpus:
        message = f"the file has {gpus} GPUs, but this host has {counted(ranks, 'rank')}: NCCL fails"
        yield report.better_unset(variable, message)


@for_text("TOP007", "warning", "NCCL_GRAPH_FILE", covers=())
def files_of_two_machines(host: JudgedHost, variable: Variable, path: str) -> Results:
    """NCCL_TOPO_FILE and NCCL_GRAPH_FILE are of two different series of Azure VMs.

    Why: One of the two files describes another machine: NCCL misplaces devices or does not find them.
    Example: /opt/microsoft/ndv4/topo.xml with /opt/microsoft/ncv4/graph.xml
    Instead: use the files for this VM, or unset both
    Source: Azure/azhpc-images topology
    """
    graph, topology = _SERIES.search(path), _SERIES.search(host.get("NCCL_TOPO_FILE") or "")
    if graph and topology and graph[1] != topology[1]:
        message = f"the graph is of {graph[1]}, the topology of {topology[1]}"
        yield report.better_unset(variable, message, "unset NCCL_GRAPH_FILE or use the file for this VM")
