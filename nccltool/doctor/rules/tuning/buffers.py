"""Buffers, chunks and queues of work."""

from nccltool.core.units import format_bytes
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, rule

_BUFFER = 4 << 20
"""The default of NCCL_BUFFSIZE."""

_SMALLEST_BUFFER, _LARGEST_BUFFER = 64 << 10, 32 << 20


@rule("TUN001", "warning")
def uneven_buffer(host: JudgedHost) -> Results:
    """NCCL_BUFFSIZE is no power of two.

    Why: NCCL divides the buffer into steps and slices of powers of two; what is left over is wasted.
    Example: NCCL_BUFFSIZE=5000000
    Instead: NCCL_BUFFSIZE=4194304
    Source: NCCL user guide, NCCL_BUFFSIZE
    """
    variable, size = host.variable("NCCL_BUFFSIZE"), host.integer("NCCL_BUFFSIZE")
    if variable and size is not None and size >= _SMALLEST_BUFFER and size & (size - 1):
        yield report.about(
            variable,
            f"{size} bytes are no power of two",
            f"export NCCL_BUFFSIZE={1 << (min(size, 1 << 40).bit_length() - 1)}",
            fix=report.export("NCCL_BUFFSIZE", str(1 << (min(size, 1 << 40).bit_length() - 1))),
        )


@rule("TUN002", "error")
def tiny_buffer(host: JudgedHost) -> Results:
    """NCCL_BUFFSIZE is under 64 KiB.

    Why: Pipelines become tiny. Mostly a unit was dropped: NCCL reads 4M as 4 bytes.
    Example: NCCL_BUFFSIZE=4M
    Instead: NCCL_BUFFSIZE=4194304
    Source: NCCL user guide, NCCL_BUFFSIZE
    """
    variable, size = host.variable("NCCL_BUFFSIZE"), host.integer("NCCL_BUFFSIZE")
    if variable and size is not None and size < _SMALLEST_BUFFER:
        yield report.better_unset(
            variable, f"the buffer has {size} bytes", "export NCCL_BUFFSIZE=4194304, or unset it"
        )


@rule("TUN003", "warning")
def huge_buffer(host: JudgedHost) -> Results:
    """NCCL_BUFFSIZE is above 32 MiB.

    Why: Each channel has such a buffer for each connection: memory of the GPU runs out when the job grows.
    Example: NCCL_BUFFSIZE=134217728
    Instead: NCCL_BUFFSIZE=8388608 at most
    Source: NCCL user guide, NCCL_BUFFSIZE
    """
    variable, size = host.variable("NCCL_BUFFSIZE"), host.integer("NCCL_BUFFSIZE")
    if variable and size is not None and size > _LARGEST_BUFFER:
        yield report.better_unset(
            variable,
            f"each channel takes {format_bytes(size)} for each connection",
            "export NCCL_BUFFSIZE=8388608, or unset it",
        )


@rule("TUN004", "warning")
def chunk_above_buffer(host: JudgedHost) -> Results:
    """A chunk is larger than an eighth of the buffer.

    Why: NCCL cuts the chunk to an eighth of NCCL_BUFFSIZE without a message.
    Example: NCCL_P2P_NET_CHUNKSIZE=1048576 with the default buffer of 4 MiB
    Instead: NCCL_BUFFSIZE=8388608 as well
    Source: NCCL src/init.cc
    """
    buffer = host.integer("NCCL_BUFFSIZE")
    size = buffer if buffer is not None and buffer > 0 else _BUFFER
    for name in ("NCCL_P2P_NET_CHUNKSIZE", "NCCL_P2P_PCI_CHUNKSIZE", "NCCL_P2P_NVL_CHUNKSIZE"):
        variable, chunk = host.variable(name), host.integer(name)
        if variable and chunk is not None and chunk > size // 8:
            yield report.about(
                variable,
                f"NCCL cuts it to {size // 8}: an eighth of a buffer of {format_bytes(size)}",
                f"export NCCL_BUFFSIZE={chunk * 8}, or a chunk of {size // 8}",
                fix=report.export(name, str(size // 8)),
            )


@rule("TUN019", "error")
def division_by_zero(host: JudgedHost) -> Results:
    """NCCL_P2P_PER_CHANNEL_NET_BW is 0.

    Why: NCCL divides by it: the process dies of SIGFPE.
    Example: NCCL_P2P_PER_CHANNEL_NET_BW=auto
    Instead: unset NCCL_P2P_PER_CHANNEL_NET_BW
    Source: NCCL src/graph/paths.cc
    """
    variable = host.variable("NCCL_P2P_PER_CHANNEL_NET_BW")
    if variable and host.integer("NCCL_P2P_PER_CHANNEL_NET_BW") == 0:
        yield report.better_unset(variable, "NCCL divides by it, and dies")


@rule("TUN020", "warning")
def uneven_work_fifo(host: JudgedHost) -> Results:
    """NCCL_WORK_FIFO_BYTES is no power of two.

    Why: NCCL ignores it, and warns.
    Example: NCCL_WORK_FIFO_BYTES=1000000
    Instead: NCCL_WORK_FIFO_BYTES=1048576
    Source: NCCL src/init.cc
    """
    variable, size = host.variable("NCCL_WORK_FIFO_BYTES"), host.integer("NCCL_WORK_FIFO_BYTES")
    if variable and size is not None and (size <= 0 or size & (size - 1)):
        yield report.better_unset(variable, f"{size} is no power of two; NCCL ignores it")


@rule("TUN023", "warning")
def thresholds_with_commas(host: JudgedHost) -> Results:
    """NCCL_THREAD_THRESHOLDS has a comma.

    Why: NCCL reads numbers that are separated by blanks, and stops at the comma: only the first one counts.
    Example: NCCL_THREAD_THRESHOLDS=8,8,64,8,8,64
    Instead: NCCL_THREAD_THRESHOLDS="8 8 64 8 8 64"
    Source: NCCL src/graph/tuning.cc
    """
    variable = host.variable("NCCL_THREAD_THRESHOLDS")
    if variable and "," in variable.value:
        yield report.about(
            variable,
            "NCCL stops at the comma: only the first number counts",
            "separate the numbers by blanks",
            fix=report.export(variable.name, " ".join(variable.value.replace(",", " ").split())),
            part=",",
        )
