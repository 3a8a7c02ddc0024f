"""Buffers, chunks, channels, and CTAs: how large they are, and how many NCCL makes."""

from nccltool.core.findings import Severity
from nccltool.core.text import counted
from nccltool.core.units import format_bytes
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_number, for_text, for_value
from nccltool.hosts.facts import known, or_none
from nccltool.hosts.nccl import collective_library

_BUFFER, _SMALLEST_BUFFER, _LARGEST_BUFFER = 4 << 20, 64 << 10, 32 << 20
"""NCCL_BUFFSIZE: its default, and what is sensible."""
_COUNTS = (
    *("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"),
    *("NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"),
)
_MOST_CHANNELS, _MOST_BEFORE = 64, 32
_LL128_DATA = 120
_STEPS = {"NET": 128 << 10, "PCI": 128 << 10, "NVL": 512 << 10}
"""Defaults of NCCL_P2P_*_CHUNKSIZE: src/init.cc."""
_FEW_CHANNELS, _MANY_CHANNELS = 4, 32
_MOST = "NCCL_MAX_NCHANNELS"
_WARP_SPEED, _WARPS, _MOST_OF_WARPS = Version(2, 28, 3), 4, 256
"""The first RCCL whose WarpSpeed mode is on by itself, the channels it makes of one, and how many it has."""
_FEW_OF_EIGHT, _EIGHT = 8, 8
"""Channels that are few for this many GPUs of a host, each with a rank."""


@for_number("TUN001", "info", "NCCL_BUFFSIZE")
def uneven_buffer(_: JudgedHost, variable: Variable, size: int) -> Results:
    """NCCL_BUFFSIZE is not a power of two.

    Why: NCCL divides the buffer into steps and slices that are powers of two; the remainder is wasted.
    Example: NCCL_BUFFSIZE=5000000
    Instead: NCCL_BUFFSIZE=4194304
    Source: NCCL user guide, NCCL_BUFFSIZE
    """
    if size >= _SMALLEST_BUFFER and size & (size - 1):
        better = max(1 << (min(size, 1 << 40).bit_length() - 1), _BUFFER)  # not below the default
        yield report.better_set(variable, str(better), f"{size} bytes is not a power of two")


@for_number("TUN002", "error", "NCCL_BUFFSIZE")
def tiny_buffer(_: JudgedHost, variable: Variable, size: int) -> Results:
    """NCCL_BUFFSIZE is below 64 KiB.

    Why: Pipeline steps become tiny. The usual cause is a dropped unit: NCCL reads 4M as 4 bytes.
    Example: NCCL_BUFFSIZE=4M
    Instead: NCCL_BUFFSIZE=4194304
    Source: NCCL user guide, NCCL_BUFFSIZE
    """
    if size < _SMALLEST_BUFFER:
        remedy = "export NCCL_BUFFSIZE=4194304 or unset it"
        yield report.better_unset(variable, f"the buffer size is {size} bytes", remedy)


@for_number("TUN003", "info", "NCCL_BUFFSIZE")
def huge_buffer(_: JudgedHost, variable: Variable, size: int) -> Results:
    """NCCL_BUFFSIZE is above 32 MiB.

    Why: Each channel has one such buffer per connection, so GPU memory runs out as the job grows. From 2 GiB
    on, the size does not fit into NCCL's 32 bits, which is an error.
    Example: NCCL_BUFFSIZE=134217728
    Instead: set NCCL_BUFFSIZE to at most 8388608
    Source: NCCL user guide, NCCL_BUFFSIZE
    """
    if size > _LARGEST_BUFFER:
        message = f"each channel takes {format_bytes(size)} per connection"
        severity: Severity | None = None
        if size >= 2**31:  # ncclComm.buffSizes is an int
            message, severity = f"NCCL keeps sizes in 32 bits, into which {size} does not fit", "error"
        yield report.better_unset(variable, message, "export NCCL_BUFFSIZE=8388608 or unset it", severity=severity)


@for_number("TUN004", "info", "NCCL_P2P_NET_CHUNKSIZE", "NCCL_P2P_PCI_CHUNKSIZE", "NCCL_P2P_NVL_CHUNKSIZE")
def chunk_above_buffer(host: JudgedHost, variable: Variable, chunk: int) -> Results:
    """A chunk size is larger than an eighth of the buffer.

    Why: NCCL silently reduces the chunk to an eighth of NCCL_BUFFSIZE.
    Example: NCCL_P2P_NET_CHUNKSIZE=1048576 with the default buffer of 4 MiB
    Instead: set NCCL_BUFFSIZE=8388608 as well
    Source: NCCL src/init.cc
    """
    given = host.integer("NCCL_BUFFSIZE") or 0
    buffer = given if given > 0 else _BUFFER
    most = buffer // 8
    if chunk > most:
        message = f"NCCL reduces it to {most}, an eighth of the {format_bytes(buffer)} buffer"
        remedy = f"export NCCL_BUFFSIZE={chunk * 8} or set it to at most {most}"
        yield report.better_set(variable, str(most), message, remedy)


@for_number("TUN030", "error", "NCCL_LL128_BUFFSIZE", covers=())
def uneven_ll128_buffer(_: JudgedHost, variable: Variable, size: int) -> Results:
    """NCCL_LL128_BUFFSIZE is not a multiple of 120.

    Why: Of each 128 bytes, LL128 uses 120 for data. A buffer that is no multiple of them splits a line between two
    steps: data is wrong, or the job hangs.
    Example: NCCL_LL128_BUFFSIZE=131072
    Instead: unset NCCL_LL128_BUFFSIZE
    Source: NCCL src/include/device.h (NCCL_LL128_DATAELEMS), src/device/primitives.h (calcBytePerStep)
    """
    if size > 0 and size % _LL128_DATA:
        message = f"{size} is not a multiple of {_LL128_DATA}: data is wrong, or the job hangs"
        yield report.better_unset(variable, message)


@for_number("TUN031", "error", "NCCL_CHUNK_SIZE", covers=())
def chunk_above_step(host: JudgedHost, variable: Variable, chunk: int) -> Results:
    """NCCL_CHUNK_SIZE is larger than a step of send and receive.

    Why: NCCL does not check this undocumented value: kernels write beyond their slot of the buffer. Data is wrong,
    or the GPU reports a memory fault.
    Example: NCCL_CHUNK_SIZE=1048576
    Instead: unset NCCL_CHUNK_SIZE
    Source: https://github.com/NVIDIA/nccl/pull/2410; NCCL src/enqueue.cc (addP2pToPlan), src/init.cc
    """
    given = host.integer("NCCL_BUFFSIZE") or 0
    nodes = or_none(host.nodes)
    links = [link for link in _STEPS if nodes is None or (link == "NET") == (nodes > 1)]
    steps = [host.integer(f"NCCL_P2P_{link}_CHUNKSIZE") or _STEPS[link] for link in links]
    step = min(max(steps), (given if given > 0 else _BUFFER) // 8)
    if chunk > step:
        message = f"a chunk of {chunk} bytes does not fit into a step of {step}: data is wrong"
        yield report.better_unset(variable, message)


@for_number("TUN019", "error", "NCCL_P2P_PER_CHANNEL_NET_BW")
def division_by_zero(_: JudgedHost, variable: Variable, bandwidth: int) -> Results:
    """NCCL_P2P_PER_CHANNEL_NET_BW is 0 or negative.

    Why: NCCL divides by this value: with 0, the process dies with SIGFPE; with a negative value, each peer gets
    one channel and one adapter.
    Example: NCCL_P2P_PER_CHANNEL_NET_BW=auto
    Instead: unset NCCL_P2P_PER_CHANNEL_NET_BW
    Source: NCCL src/graph/paths.cc; https://github.com/meta-pytorch/torchcomms/issues/1433
    """
    if bandwidth == 0:
        yield report.better_unset(variable, "NCCL divides by it and dies with SIGFPE")
    elif bandwidth < 0:
        yield report.better_unset(variable, "send and receive use one channel per peer", severity="warning")


@for_number("TUN020", "warning", "NCCL_WORK_FIFO_BYTES")
def uneven_work_fifo(_: JudgedHost, variable: Variable, size: int) -> Results:
    """NCCL_WORK_FIFO_BYTES is not a power of two.

    Why: NCCL logs a warning and ignores the value.
    Example: NCCL_WORK_FIFO_BYTES=1000000
    Instead: NCCL_WORK_FIFO_BYTES=1048576
    Source: NCCL src/init.cc
    """
    if size <= 0 or size & (size - 1):
        yield report.better_unset(variable, f"{size} is not a power of two; NCCL ignores it")


@for_text("TUN023", "warning", "NCCL_THREAD_THRESHOLDS")
def thresholds_with_commas(_: JudgedHost, variable: Variable, numbers: str) -> Results:
    """NCCL_THREAD_THRESHOLDS contains a comma.

    Why: NCCL reads numbers separated by spaces and stops at the comma: only the first number counts.
    Example: NCCL_THREAD_THRESHOLDS=8,8,64,8,8,64
    Instead: NCCL_THREAD_THRESHOLDS="8 8 64 8 8 64"
    Source: NCCL src/graph/tuning.cc
    """
    if "," in numbers:
        better = " ".join(numbers.replace(",", " ").split())
        message = "NCCL stops at the comma: only the first number counts"
        yield report.better_set(variable, better, message, "separate the numbers with spaces", part=",")


@for_number("TUN007", "warning", "NCCL_MIN_NCHANNELS")
def crossed_channel_limits(host: JudgedHost, variable: Variable, least: int) -> Results:
    """NCCL_MIN_NCHANNELS is above NCCL_MAX_NCHANNELS.

    Why: NCCL applies one limit after the other, and the result matches neither.
    Example: NCCL_MIN_NCHANNELS=16 and NCCL_MAX_NCHANNELS=8
    Instead: set a minimum that is no larger than the maximum
    Source: NCCL src/graph/connect.cc
    """
    yield from _crossed(host, variable, least, "neither takes effect")


@for_number("TUN008", "warning", "NCCL_MIN_CTAS")
def crossed_cta_limits(host: JudgedHost, variable: Variable, least: int) -> Results:
    """NCCL_MIN_CTAS is above NCCL_MAX_CTAS.

    Why: NCCL sets both to the maximum.
    Example: NCCL_MIN_CTAS=16 and NCCL_MAX_CTAS=8
    Instead: set a minimum that is no larger than the maximum
    Source: NCCL src/init.cc
    """
    yield from _crossed(host, variable, least, "NCCL uses the maximum for both")


@for_number("TUN015", "warning", "NCCL_MIN_P2P_NCHANNELS")
def crossed_p2p_limits(host: JudgedHost, variable: Variable, least: int) -> Results:
    """NCCL_MIN_P2P_NCHANNELS is above NCCL_MAX_P2P_NCHANNELS.

    Why: The minimum wins, and the maximum has no effect.
    Example: NCCL_MIN_P2P_NCHANNELS=16 and NCCL_MAX_P2P_NCHANNELS=8
    Instead: set a minimum that is no larger than the maximum
    Source: NCCL src/graph/paths.cc
    """
    yield from _crossed(host, variable, least, "the maximum has no effect")


def _crossed(host: JudgedHost, variable: Variable, least: int, what: str) -> Results:
    other = variable.name.replace("_MIN_", "_MAX_")
    most = host.integer(other)
    if most is not None and 0 < most < least:
        message = f"{variable.name} is above {other}: {what}"
        remedy = f"unset both or set {variable.name} to at most {most}"
        yield report.better_unset(variable, message, remedy, evidence=(f"{other}={most}",))


@for_number("TUN009", "info", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS")
def channels_and_ctas(host: JudgedHost, variable: Variable, old: int) -> Results:
    """A limit is set under its old and its new name, with different values.

    Why: The stricter one wins: the lower maximum or the higher minimum.
    Example: NCCL_MAX_NCHANNELS=16 and NCCL_MAX_CTAS=8
    Instead: set only NCCL_MAX_CTAS
    Source: NCCL user guide, NCCL_MAX_CTAS
    """
    other = variable.name.replace("NCHANNELS", "CTAS")
    new = host.integer(other)
    if new is not None and old != new:
        message = f"{variable.name} and {other} differ: the stricter one wins"
        yield report.better_unset(variable, message, part="", evidence=(f"{other}={new}",))


@for_value("TUN010", "info", "NCCL_MIN_NRINGS", "NCCL_MAX_NRINGS")
def ring_limits(_: JudgedHost, variable: Variable, limit: str) -> Results:
    """A limit is set under its oldest name, which counts rings.

    Why: NCCL ignores it when the NCHANNELS variable is set.
    Example: NCCL_MIN_NRINGS=8
    Instead: NCCL_MIN_CTAS=8
    Source: NCCL user guide, NCCL_MIN_NCHANNELS
    """
    remedy = f"use {variable.name.replace('NRINGS', 'CTAS')} or unset it"
    yield report.better_unset(variable, f"{variable.name} is a name from NCCL 2.4", remedy, part="")


@for_number("TUN011", "warning", *_COUNTS, library="NCCL")
def too_many_channels(host: JudgedHost, variable: Variable, count: int) -> Results:
    """A limit asks for more channels than NCCL supports.

    Why: NCCL reduces the number to 64 or to 32 before 2.25.
    Example: NCCL_MIN_NCHANNELS=128
    Instead: set NCCL_MIN_NCHANNELS to at most 64
    Source: NCCL user guide; MAXCHANNELS in src/include/device.h
    """
    if count > _MOST_BEFORE and (count > _MOST_CHANNELS or host.nccl_is(before=(2, 25, 1))):
        most = _MOST_CHANNELS if count > _MOST_CHANNELS else _MOST_BEFORE
        remedy = f"unset {variable.name} or set it to at most {most}"
        yield report.better_unset(variable, f"NCCL supports at most {most} channels, not {count}", remedy)


@for_number("TUN032", "warning", "NCCL_MIN_NCHANNELS", covers=(), library="RCCL", needs=collective_library.PARTS)
def channels_refused_by_rccl(host: JudgedHost, variable: Variable, count: int) -> Results:
    """RCCL is set to use more than 64 channels, but the job has fewer than eight ranks.

    Why: RCCL then warns and uses its default minimum of 2. gfx1250 GPUs may use more.
    Example: NCCL_MIN_NCHANNELS=112 with four ranks
    Instead: NCCL_MIN_NCHANNELS=64
    Source: RCCL src/graph/connect.cc (ncclTopoPostset); https://github.com/ROCm/rocm-systems/pull/11255
    """
    if count <= _MOST_CHANNELS or host.library != "RCCL":  # where it is not known, TUN011 tells
        return
    ranks = known(host.nodes) * known(host.local_ranks)
    newest = any(or_none(gpu.gfx) == "gfx1250" for gpu in or_none(host.facts.amd.gpus) or ())
    if ranks < _EIGHT and not newest:
        message = f"RCCL ignores more than {_MOST_CHANNELS} with fewer than {_EIGHT} ranks"
        yield report.better_set(variable, str(_MOST_CHANNELS), message)


@for_number("TUN012", "warning", *_COUNTS)
def no_channels(_: JudgedHost, variable: Variable, count: int) -> Results:
    """A channel limit is zero or negative.

    Why: NCCL uses a maximum of 1 or ignores the value.
    Example: NCCL_MAX_NCHANNELS=0
    Instead: unset NCCL_MAX_NCHANNELS
    Source: NCCL src/graph/connect.cc, src/init.cc
    """
    if count <= 0 and count != -2:
        yield report.better_unset(variable, f"{count} is not a valid number of channels")


@for_number("TUN013", "warning", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", needs=("rdma", "nvidia"))
def few_channels(host: JudgedHost, variable: Variable, count: int) -> Results:
    """A limit allows at most four channels on a host with many links, or eight between nodes of eight GPUs.

    Why: A channel moves 10 to 20 GB/s; four cannot saturate NVSwitch or four adapters, and eight cannot saturate
    eight adapters of 400 Gbit/s. Google publishes eight for a network plugin of its own, GPUDirect-TCPX.
    Example: NCCL_MAX_CTAS=4 on a host with 8 adapters
    Instead: unset NCCL_MAX_CTAS
    Source: NCCL user guide, NCCL_MAX_CTAS
    """
    if count == 1:
        yield report.better_unset(variable, "a single channel cannot saturate any link: NCCL has at least two")
        return
    links = _many_ranks(host) if 0 < count <= _FEW_OF_EIGHT else ""
    if links or (0 < count <= _FEW_CHANNELS and (links := _links(host))):
        message = f"{counted(count, 'channel')} cannot saturate the links of this host"
        yield report.better_unset(variable, message, evidence=(links,))


def _many_ranks(host: JudgedHost) -> str:
    """The nodes and the GPUs of each where eight channels are few; '' = they are not, or it is not known."""
    nodes, ranks = or_none(host.nodes), or_none(host.local_ranks)
    large = nodes is not None and nodes > 1 and ranks is not None and ranks >= _EIGHT
    of_plugin = (host.get("NCCL_NET") or "").startswith("GPUDirectTCPX")
    return f"{nodes} nodes of {ranks} ranks" if large and not of_plugin else ""


def _links(host: JudgedHost) -> str:
    """Why this host needs many channels; '' = it does not."""
    devices, gpus = host.facts.rdma.devices, host.facts.nvidia.gpus
    if not isinstance(devices, Unknown) and len(devices) >= _FEW_CHANNELS:
        return f"{len(devices)} RDMA devices"
    if any(link.remote == "switch" for gpu in known(gpus) for link in (or_none(gpu.nvlinks) or ())):
        return "NVSwitch connects its GPUs"
    known(devices)
    return ""


@for_number("TUN033", "warning", _MOST, covers=(), needs=("amd", "versions", "nvidia"), library="RCCL")
def channels_beyond_warp_speed(host: JudgedHost, variable: Variable, count: int) -> Results:
    """NCCL_MAX_NCHANNELS is above 64 on a single node with gfx950 GPUs: RCCL's WarpSpeed mode multiplies it by 4.

    Why: On one node with MI350X or MI355X, RCCL 2.28.3 and newer multiply channels by four, but support at most
    256. Beyond that, RCCL of ROCm 7.12 hangs; newer releases fail with an error.
    Example: NCCL_MAX_NCHANNELS=112 on one node with MI355X
    Instead: unset NCCL_MAX_NCHANNELS, or RCCL_WARP_SPEED_AUTO=0
    Source: https://github.com/ROCm/rocm-systems/pull/3577; RCCL changelog, ROCm 7.11 to 7.13
    """
    is_off = host.integer("RCCL_WARP_SPEED_AUTO") == 0
    is_older = not isinstance(host.nccl, Unknown) and host.nccl < _WARP_SPEED
    if count * _WARPS <= _MOST_OF_WARPS or is_off or is_older or host.nodes != 1:
        return
    if any(gpu.gfx == "gfx950" for gpu in known(host.facts.amd.gpus)):
        message = f"RCCL's WarpSpeed mode makes {count * _WARPS} channels of these; its limit is {_MOST_OF_WARPS}"
        remedy = f"unset {variable.name}, or export RCCL_WARP_SPEED_AUTO=0"
        yield report.better_unset(variable, message, remedy)


@for_number("TUN014", "info", "NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS", library="NCCL")
def many_channels(_: JudgedHost, variable: Variable, count: int) -> Results:
    """A limit asks for at least 32 channels.

    Why: Each collective takes that many streaming multiprocessors (SMs) from concurrent computation.
    Example: NCCL_MIN_NCHANNELS=32
    Instead: unset NCCL_MIN_NCHANNELS, except in benchmarks
    Source: NCCL user guide, NCCL_MIN_CTAS
    """
    if count >= _MANY_CHANNELS:
        message = f"each collective takes at least {count} SMs from concurrent computation"
        yield report.better_unset(variable, message)
