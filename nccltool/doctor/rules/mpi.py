"""MPI alongside NCCL: lists of transports and interfaces that it refuses or that connect no hosts."""

import re

from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version, parse
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text, known, rule
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.interfaces import is_inside

_FRAMEWORKS = tuple(f"OMPI_MCA_{name}" for name in ("btl", "pml", "mtl", "coll", "osc", "plm", "oob"))
_INCLUDED = tuple(f"OMPI_MCA_{name}_tcp_if_include" for name in ("btl", "oob"))
_INSIDE_HOST = {"self", "sm", "vader", "smcuda", "cma", "knem"}
_OLD_RUNTIME, _PRRTE = "OMPI_MCA_orte_", Version(5, 0, 0)
_NO_NAME = re.compile(r"[\^*?!=]")
_ADAPTER = re.compile(r"(mlx[45]|bnxt_re|irdma|erdma|rdmap)_?\d+(:\d+)?", re.ASCII)


@for_text("MPI001", "error", *_FRAMEWORKS, covers=())
def caret_inside_list(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A list of Open MPI's components has a ^ that is not its first character.

    Why: One ^ at the beginning excludes all components that follow; a list cannot both include and exclude.
    MPI_Init fails.
    Example: OMPI_MCA_btl=tcp,^openib
    Instead: OMPI_MCA_btl=^openib
    Source: Open MPI documentation, selecting MCA components; opal/mca/base/help-mca-base.txt
    """
    if "^" in text[1:]:
        remedy = "write a single ^, at the beginning, or list only what is to be used"
        yield report.about(variable, "Open MPI fails: ^ may only be the first character", remedy)


@for_text("MPI002", "warning", "OMPI_MCA_btl", covers=())
def no_way_to_itself(host: JudgedHost, variable: Variable, text: str) -> Results:
    """OMPI_MCA_btl lacks `self`, or, with several nodes, everything that leaves the host.

    Why: The list replaces all transports of the messaging layer ob1. Without `self`, a rank cannot send to itself;
    without `tcp` or another network, MPI_Init reports that processes cannot reach each other.
    Example: OMPI_MCA_btl=tcp
    Instead: OMPI_MCA_btl=tcp,self
    Source: Open MPI documentation, general run-time support notes; networking support, TCP
    """
    words = list(values.split(text))
    # ucx and cm do not use these transports
    if not words or "^" in text or (host.get("OMPI_MCA_pml") or "ob1") != "ob1":
        return
    if "self" not in words:
        yield report.better_set(
            variable, f"{text},self", "a rank cannot send to itself: self is missing", "add self"
        )
    elif set(words) <= _INSIDE_HOST and not isinstance(host.nodes, Unknown) and host.nodes > 1:
        yield report.better_set(variable, f"{text},tcp", "no transport of the list connects hosts", "add tcp")


@for_text("MPI003", "warning", *_INCLUDED, covers=())
def unusable_mpi_interface(host: JudgedHost, variable: Variable, text: str) -> Results:
    """A list of interfaces for Open MPI contains a pattern, an adapter, or only interfaces inside the host.

    Why: Open MPI expects whole names or subnets. It ignores others, and over lo or docker0 no other host can be
    reached: the job hangs or ends at startup.
    Example: OMPI_MCA_btl_tcp_if_include=docker0
    Instead: OMPI_MCA_btl_tcp_if_include=eth0 or 10.0.0.0/16
    Source: Open MPI documentation, networking support, TCP
    """
    words = list(values.split(text))
    if odd := next(filter(_NO_NAME.search, words), None):
        message = f"{escaped(odd[:60])} is neither a name nor a subnet"
        yield report.about(variable, message, "list whole names, or subnets such as 10.0.0.0/16", part=odd)
    elif adapter := next(filter(_ADAPTER.fullmatch, words), None):
        message = f"{escaped(adapter[:60])} is an RDMA device, not an interface"
        yield report.about(variable, message, "list interfaces as `ip -br link` shows them", part=adapter)
    elif words and all(map(_is_inner, words)) and host.nodes != 1:
        message = "only ranks of one node can connect over this interface"
        yield report.better_unset(variable, message, f"set {variable.name} to an interface that all nodes reach")


def _is_inner(word: str) -> bool:
    return is_inside(word) or word.startswith("127.")


@for_text("MPI004", "warning", "OMPI_MCA_btl_tcp_if_exclude", covers=())
def loopback_not_excluded(host: JudgedHost, variable: Variable, text: str) -> Results:
    """OMPI_MCA_btl_tcp_if_exclude does not contain the loopback interface.

    Why: The list replaces the default, which excludes it. Open MPI then offers 127.0.0.1 to other hosts, and
    messages do not arrive.
    Example: OMPI_MCA_btl_tcp_if_exclude=docker0
    Instead: OMPI_MCA_btl_tcp_if_exclude=lo,docker0
    Source: Open MPI documentation, general run-time support notes
    """
    words = list(values.split(text))
    if words and not any(word == "lo" or word.startswith("127.") for word in words) and host.nodes != 1:
        message = "lo is missing: this list replaces the default, which excludes it"
        yield report.better_set(variable, f"lo,{text}", message, "add lo")


@for_text("MPI005", "warning", *_INCLUDED, covers=())
def loopback_among_interfaces(host: JudgedHost, variable: Variable, text: str) -> Results:
    """A list of interfaces for Open MPI contains the loopback interface or a container bridge among others.

    Why: Open MPI uses all interfaces of the list. Each host offers 127.0.0.1, or the same address of the bridge,
    and connections to other hosts hang or are refused.
    Example: OMPI_MCA_btl_tcp_if_include=eth0,lo
    Instead: OMPI_MCA_btl_tcp_if_include=eth0
    Source: Open MPI documentation, networking support, TCP
    """
    words = list(values.split(text))
    inner = [word for word in words if _is_inner(word)]
    if inner and len(inner) < len(words) and host.nodes != 1:
        kept = ",".join(word for word in words if not _is_inner(word))
        message = f"{escaped(inner[0][:40])} has the same address on every host"
        yield report.better_set(variable, kept, message, part=inner[0])


@for_text("MPI006", "warning", "I_MPI_FABRICS", covers=())
def intel_mpi_inside_host(host: JudgedHost, variable: Variable, text: str) -> Results:
    """I_MPI_FABRICS allows only shared memory in a multi-node job.

    Why: shm connects only processes on one host. Intel MPI 2019 does not accept it alone, and with Slurm's
    bootstrap the variable has no effect.
    Example: I_MPI_FABRICS=shm with two nodes
    Instead: I_MPI_FABRICS=shm:ofi
    Source: Intel MPI Library developer reference for Linux 2019 to 2021.14, communication fabrics control
    """
    if text.strip().lower() == "shm" and not isinstance(host.nodes, Unknown) and host.nodes > 1:
        yield report.better_set(variable, "shm:ofi", "shared memory does not connect hosts")


@rule("MPI007", "warning", covers=(), needs=("versions",))
def parameters_of_the_old_runtime(host: JudgedHost) -> Results:
    """Parameters of Open MPI's former runtime (OMPI_MCA_orte_*) are set, but Open MPI is 5.0 or newer.

    Why: Open MPI 5 starts processes with PRRTE, which has its own parameters and ignores these. Without the host
    file, for example, mpirun starts all ranks on one node, and the job seems to succeed.
    Example: OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile with Open MPI 5.0
    Instead: PRTE_MCA_prte_default_hostfile=/etc/mpi/hostfile
    Source: https://www.open-mpi.org/software/ompi/major-changes.php; https://docs.open-mpi.org/en/v5.0.x/mca.html;
    https://github.com/kubeflow/trainer/issues/4028
    """
    old = list(host.settings.beginning(_OLD_RUNTIME))
    if not old or host.get("OMPI_MCA_orte_hnp_uri") is not None:  # a rank that the former runtime has started
        return
    version = parse(host.get("OPENMPI_VERSION") or "") or _of_library(host)  # images of NVIDIA set the variable
    if version is None or version < _PRRTE:
        return
    for variable in old:
        name = f"PRTE_MCA_prte_{variable.name.removeprefix(_OLD_RUNTIME)}"
        if host.get(name) is None:
            message = f"Open MPI {version.major}.{version.minor} ignores it"
            yield report.about(variable, message, f"export {name}=...", part="")


def _of_library(host: JudgedHost) -> Version | None:
    packages = {one.name: or_none(one.value) for one in known(host.facts.versions.packages)}
    return parse(packages.get("openmpi") or "")
