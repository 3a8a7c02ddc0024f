"""What a process needs to open RDMA devices."""

from nccltool.core.units import format_bytes
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, escaped, known, rule
from nccltool.doctor.rules.infiniband.base import port_lines

_LEAST_MEMLOCK = 64 << 20
"""Buffers of one rank that are registered when it starts; from the reports in nccl-tests issue 206."""

_IPC_LOCK = 1 << 14


@rule("IB013", "error", needs=("rdma", "container"))
def verbs_device_missing(host: JudgedHost) -> Results:
    """The host has RDMA devices, and their files in /dev/infiniband are missing or may not be opened.

    Why: /sys shows the devices in every container, the character devices are only there when somebody passes them
    on. NCCL goes on over TCP, with a warning at most.
    Example: docker run without --device=/dev/infiniband
    Instead: docker run --device=/dev/infiniband, or the RDMA device plugin of Kubernetes
    Source: NCCL user guide, troubleshooting
    """
    ports = host.active_ports
    for name in dict.fromkeys(port.device.name for port in ports):
        device = next(port.device for port in ports if port.device.name == name)
        path = f"/dev/infiniband/{known(device.uverbs)}"
        file, path = host.facts.container.device(path), escaped(path)
        if file is None or not (known(file.readable) and known(file.writable)):
            yield report.device(
                name,
                f"{path} {'is missing' if file is None else 'may not be opened'}: NCCL cannot use it",
                "pass /dev/infiniband to the container, and read and write permission on uverbs*",
                evidence=port_lines(port for port in ports if port.device.name == name),
                severity=host.if_several_nodes("error", "info", "error"),
            )


@rule("IB014", "error", needs=("rdma", "files"))
def verbs_library_missing(host: JudgedHost) -> Results:
    """Ports are active, and libibverbs.so.1 is not on the loader's path.

    Why: NCCL loads the library when it starts. Without it the job goes on over TCP.
    Example: an image without the package libibverbs1
    Instead: apt-get install libibverbs1 ibverbs-providers
    Source: NCCL src/misc/ibvsymbols.cc
    """
    ports = host.active_ports
    if not ports or known(host.facts.rdma.ibverbs):
        return
    variable = host.variable("NCCL_IBVERBS_LIB")
    file = host.facts.file("NCCL_IBVERBS_LIB")
    if variable and variable.value and (file is None or known(file.exists)):
        if file is None:
            yield Unknown("whether the loader finds what NCCL_IBVERBS_LIB names is not known")
        return
    yield report.file(
        "libibverbs.so.1",
        "the loader finds no libibverbs: NCCL goes on over TCP",
        "apt-get install libibverbs1 ibverbs-providers (or rdma-core) in the image",
        evidence=port_lines(ports),
        severity=host.if_several_nodes("error", "info", "error"),
    )


@rule("IB015", "error", needs=("rdma", "limits", "container"))
def little_locked_memory(host: JudgedHost) -> Results:
    """A process may lock less than 64 MiB of memory, and ports are active.

    Why: Memory that RDMA uses is locked. Registration fails with "Cannot allocate memory" from ibv_reg_mr or
    ibv_create_qp. The limit holds for each process; CAP_IPC_LOCK lifts it.
    Example: ulimit -l 64
    Instead: ulimit -l unlimited; docker run --ulimit memlock=-1; LimitMEMLOCK=infinity for slurmd and containerd
    Source: NCCL user guide, troubleshooting of networks; https://github.com/NVIDIA/nccl-tests/issues/206
    """
    limit = host.facts.limits.memlock_soft_bytes
    if limit is None or (isinstance(limit, int) and limit >= _LEAST_MEMLOCK) or not host.active_ports:
        return
    size = known(limit)
    if size is not None and size < _LEAST_MEMLOCK and not _may_lock(host):
        yield report.host(
            host.facts.host,
            f"a process may lock {format_bytes(size)}: registration of memory fails",
            "ulimit -l unlimited; docker run --ulimit memlock=-1; LimitMEMLOCK=infinity in the unit",
            evidence=(f"Max locked memory: {size} bytes",),
        )


def _may_lock(host: JudgedHost) -> bool:
    """Whether CAP_IPC_LOCK counts: that of a user namespace does not. Raises NotKnown."""
    container = host.facts.container
    return bool(known(container.capabilities) & _IPC_LOCK) and not known(container.user_namespace)
