"""Buffers, chunks, channels, threads, policies: values that NCCL rounds, cuts, or dies of."""

import re
from collections.abc import Sequence

from nccltool.core.units import format_bytes
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, across, escaped, known, rule
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl import values

_BUFFER = 4 << 20
"""The default of NCCL_BUFFSIZE."""
_SMALLEST_BUFFER, _LARGEST_BUFFER = 64 << 10, 32 << 20
_COUNTS = (
    *("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"),
    *("NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"),
)
_MOST_CHANNELS, _MOST_BEFORE = 64, 32
_MANY = (2, 25, 1)
"""The release from which there are 64 channels; 32 before."""
_FEW_CHANNELS, _MANY_CHANNELS = 4, 32
_SYMMETRIC = (
    *("AllReduce_AGxLL_R", "AllReduce_AGxLLMC_R", "AllReduce_RSxLD_AGxST", "AllReduce_RSxLDMC_AGxSTMC"),
    *("AllGather_LL", "AllGather_LLMC", "AllGather_ST", "AllGather_STMC", "AllGather_RailRing_LsaSTMC"),
    *("ReduceScatter_LL", "ReduceScatter_LD", "ReduceScatter_LDMC", "ReduceScatter_RailA2A_LsaLD"),
    *("ReduceScatter_RailA2A_LsaLDMC", "AllReduce_RSxTmaLD_AGxTmaST", "AllGather_TmaST", "AllGather_TmaSTMC"),
    "ReduceScatter_TmaLD",
)
"""Names of src/sym_kernels.cc."""


@rule("TUN001", "uneven-buffer", "warning")
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
            part=variable.value,
            remedy=f"export NCCL_BUFFSIZE={1 << (min(size, 1 << 40).bit_length() - 1)}",
            fix=report.export("NCCL_BUFFSIZE", str(1 << (min(size, 1 << 40).bit_length() - 1))),
        )


@rule("TUN002", "tiny-buffer", "error")
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
            variable, f"the buffer has {size} bytes", remedy="export NCCL_BUFFSIZE=4194304, or unset it"
        )


@rule("TUN003", "huge-buffer", "warning")
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
            remedy="export NCCL_BUFFSIZE=8388608, or unset it",
        )


@rule("TUN004", "chunk-above-buffer", "warning")
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
                part=variable.value,
                remedy=f"export NCCL_BUFFSIZE={chunk * 8}, or a chunk of {size // 8}",
                fix=report.export(name, str(size // 8)),
            )


@rule("TUN005", "bad-thread-count", "warning")
def bad_thread_count(host: JudgedHost) -> Results:
    """NCCL_NTHREADS is none of 64, 128, 256, 512.

    Why: What is no multiple of 32 becomes the maximum, the rest is clamped.
    Example: NCCL_NTHREADS=100
    Instead: unset NCCL_NTHREADS
    Source: NCCL user guide, NCCL_NTHREADS; src/graph/tuning.cc
    """
    variable, count = host.variable("NCCL_NTHREADS"), host.integer("NCCL_NTHREADS")
    if variable and count is not None and count not in (64, 128, 256, 512, -2):
        yield report.better_unset(variable, f"NCCL does not run blocks of {count} threads")


@rule("TUN006", "bad-ll128-thread-count", "warning")
def bad_ll128_thread_count(host: JudgedHost) -> Results:
    """NCCL_LL128_NTHREADS is no multiple of 32, or not in 160 to 640.

    Why: NCCL replaces or clamps it.
    Example: NCCL_LL128_NTHREADS=100
    Instead: unset NCCL_LL128_NTHREADS
    Source: NCCL src/graph/tuning.cc
    """
    variable, count = host.variable("NCCL_LL128_NTHREADS"), host.integer("NCCL_LL128_NTHREADS")
    if variable and count is not None and count != -2 and (count % 32 or not 160 <= count <= 640):
        yield report.better_unset(variable, f"NCCL does not run LL128 with {count} threads")


def _crossed(host: JudgedHost, least: str, most: str, what: str) -> Results:
    low, high = host.integer(least), host.integer(most)
    variable = host.variable(least)
    if variable and low is not None and high is not None and high > 0 and low > high:
        yield report.better_unset(
            variable,
            f"{least} is above {most}: {what}",
            remedy=f"unset both, or make {least} at most {high}",
            evidence=(f"{most}={high}",),
        )


@rule("TUN007", "crossed-channel-limits", "error")
def crossed_channel_limits(host: JudgedHost) -> Results:
    """NCCL_MIN_NCHANNELS is above NCCL_MAX_NCHANNELS.

    Why: NCCL applies one after the other, and the result is what neither says.
    Example: NCCL_MIN_NCHANNELS=16 and NCCL_MAX_NCHANNELS=8
    Instead: a minimum that is not above the maximum
    Source: NCCL src/graph/connect.cc
    """
    yield from _crossed(host, "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "neither holds")


@rule("TUN008", "crossed-cta-limits", "error")
def crossed_cta_limits(host: JudgedHost) -> Results:
    """NCCL_MIN_CTAS is above NCCL_MAX_CTAS.

    Why: NCCL sets both to the maximum.
    Example: NCCL_MIN_CTAS=16 and NCCL_MAX_CTAS=8
    Instead: a minimum that is not above the maximum
    Source: NCCL src/init.cc
    """
    yield from _crossed(host, "NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL takes the maximum for both")


@rule("TUN009", "channels-and-ctas", "warning")
def channels_and_ctas(host: JudgedHost) -> Results:
    """A limit is set under its old and its new name, to different values.

    Why: The narrower one wins: the lower maximum, the higher minimum.
    Example: NCCL_MAX_NCHANNELS=16 and NCCL_MAX_CTAS=8
    Instead: NCCL_MAX_CTAS alone
    Source: NCCL user guide, NCCL_MAX_CTAS
    """
    for kind in ("MIN", "MAX"):
        variable = host.variable(f"NCCL_{kind}_NCHANNELS")
        old, new = host.integer(f"NCCL_{kind}_NCHANNELS"), host.integer(f"NCCL_{kind}_CTAS")
        if variable and old is not None and new is not None and old != new:
            yield report.better_unset(
                variable,
                f"{variable.name} and NCCL_{kind}_CTAS differ: the narrower one wins",
                part="",
                evidence=(f"NCCL_{kind}_CTAS={new}",),
            )


@rule("TUN010", "ring-limits", "warning")
def ring_limits(host: JudgedHost) -> Results:
    """A limit is set under its oldest name, that of rings.

    Why: NCCL does not look at it when the name with NCHANNELS is set.
    Example: NCCL_MIN_NRINGS=8
    Instead: NCCL_MIN_CTAS=8
    Source: NCCL user guide, NCCL_MIN_NCHANNELS
    """
    for kind in ("MIN", "MAX"):
        variable = host.variable(f"NCCL_{kind}_NRINGS")
        if variable:
            yield report.better_unset(
                variable,
                f"{variable.name} is a name of NCCL 2.4",
                remedy=f"use NCCL_{kind}_CTAS, or unset it",
                part="",
            )


@rule("TUN011", "too-many-channels", "warning")
def too_many_channels(host: JudgedHost) -> Results:
    """More channels are asked for than there are.

    Why: NCCL cuts the number to 64, and to 32 before 2.25.
    Example: NCCL_MIN_NCHANNELS=128
    Instead: NCCL_MIN_NCHANNELS=64 at most
    Source: NCCL user guide; MAXCHANNELS in src/include/device.h
    """
    for name in _COUNTS:
        variable, count = host.variable(name), host.integer(name)
        if not variable or count is None or count <= _MOST_BEFORE:
            continue
        most = _MOST_CHANNELS if count > _MOST_CHANNELS or host.nccl_is(since=_MANY) else _MOST_BEFORE
        if count > most:
            yield report.better_unset(
                variable, f"NCCL has {most} channels, not {count}", remedy=f"at most {most}; better unset {name}"
            )


@rule("TUN012", "no-channels", "warning")
def no_channels(host: JudgedHost) -> Results:
    """A limit of channels is zero or negative.

    Why: NCCL takes a maximum of 1 for it, or ignores it.
    Example: NCCL_MAX_NCHANNELS=0
    Instead: unset NCCL_MAX_NCHANNELS
    Source: NCCL src/graph/connect.cc, src/init.cc
    """
    for name in _COUNTS:
        variable, count = host.variable(name), host.integer(name)
        if variable and count is not None and count <= 0 and count != -2:
            yield report.better_unset(variable, f"{count} channels cannot be had")


@rule("TUN013", "few-channels", "warning", needs=("rdma", "nvidia"))
def few_channels(host: JudgedHost) -> Results:
    """At most four channels are allowed on a host with many links.

    Why: A channel moves 10 to 20 GB/s; four cannot fill NVSwitch, nor four adapters.
    Example: NCCL_MAX_CTAS=4 on a host with 8 adapters
    Instead: unset NCCL_MAX_CTAS
    Source: NCCL user guide, NCCL_MAX_CTAS
    """
    for name in ("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"):
        variable, count = host.variable(name), host.integer(name)
        if variable and count is not None and 0 < count <= _FEW_CHANNELS:
            links = _links(host)
            if links:
                yield report.better_unset(
                    variable, f"{count} channels cannot fill the links of this host", evidence=(links,)
                )


def _links(host: JudgedHost) -> str:
    """Why this host needs many channels; '' = it does not."""
    devices, gpus = host.facts.rdma.devices, host.facts.nvidia.gpus
    if not isinstance(devices, Unknown) and len(devices) >= _FEW_CHANNELS:
        return f"{len(devices)} RDMA devices"
    if any(link.remote == "switch" for gpu in known(gpus) for link in (or_none(gpu.nvlinks) or ())):
        return "its GPUs are connected by NVSwitch"
    known(devices)
    return ""


@rule("TUN014", "many-channels", "warning")
def many_channels(host: JudgedHost) -> Results:
    """At least 32 channels are asked for.

    Why: Each collective takes so many multiprocessors from the computation that runs beside it.
    Example: NCCL_MIN_NCHANNELS=32
    Instead: unset NCCL_MIN_NCHANNELS, except for a benchmark
    Source: NCCL user guide, NCCL_MIN_CTAS
    """
    for name in ("NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS"):
        variable, count = host.variable(name), host.integer(name)
        if variable and count is not None and count >= _MANY_CHANNELS:
            yield report.better_unset(
                variable, f"each collective takes at least {count} multiprocessors from the computation"
            )


@rule("TUN015", "crossed-p2p-limits", "error")
def crossed_p2p_limits(host: JudgedHost) -> Results:
    """NCCL_MIN_P2P_NCHANNELS is above NCCL_MAX_P2P_NCHANNELS.

    Why: The minimum wins, and the maximum does not hold.
    Example: NCCL_MIN_P2P_NCHANNELS=16 and NCCL_MAX_P2P_NCHANNELS=8
    Instead: a minimum that is not above the maximum
    Source: NCCL src/graph/paths.cc
    """
    yield from _crossed(host, "NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS", "the maximum does not hold")


@rule("TUN016", "large-cluster", "warning")
def large_cluster(host: JudgedHost) -> Results:
    """NCCL_CGA_CLUSTER_SIZE is above 8.

    Why: NCCL takes 8.
    Example: NCCL_CGA_CLUSTER_SIZE=16
    Instead: unset NCCL_CGA_CLUSTER_SIZE
    Source: NCCL user guide, NCCL_CGA_CLUSTER_SIZE
    """
    variable, size = host.variable("NCCL_CGA_CLUSTER_SIZE"), host.integer("NCCL_CGA_CLUSTER_SIZE")
    if variable and size is not None and size > 8:
        yield report.better_unset(variable, f"a cluster has at most 8 blocks, not {size}")


@rule("TUN017", "unknown-policy", "warning")
def unknown_policy(host: JudgedHost) -> Results:
    """A word in NCCL_CTA_POLICY is no policy.

    Why: NCCL ignores it. Words are separated by |, and blanks are not removed.
    Example: NCCL_CTA_POLICY=EFFICIENCY,ZERO
    Instead: NCCL_CTA_POLICY=EFFICIENCY
    Source: NCCL src/init.cc (getEnvCtaPolicyOnce)
    """
    variable = host.variable("NCCL_CTA_POLICY")
    if variable is None or not variable.value:
        return
    if variable.value[0].isascii() and variable.value[0].isdigit():
        wrong = [] if re.fullmatch("[0-2]", variable.value) else [variable.value]
    else:
        words = values.split(variable.value, "|")
        wrong = [word for word in words if word.upper() not in ("DEFAULT", "EFFICIENCY", "ZERO")]
    if wrong:
        yield report.better_unset(
            variable,
            f"{escaped(wrong[0][:40])!r} is no policy; NCCL ignores it",
            remedy="correct the word, or unset NCCL_CTA_POLICY",
            part=wrong[0],
            evidence=("known: DEFAULT, EFFICIENCY, ZERO, separated by |",),
        )


@rule("TUN018", "contrary-policies", "warning")
def contrary_policies(host: JudgedHost) -> Results:
    """NCCL_CTA_POLICY has both ZERO and EFFICIENCY.

    Why: NCCL drops EFFICIENCY.
    Example: NCCL_CTA_POLICY=ZERO|EFFICIENCY
    Instead: NCCL_CTA_POLICY=ZERO
    Source: NCCL src/init.cc
    """
    variable = host.variable("NCCL_CTA_POLICY")
    words = {word.upper() for word in values.split(variable.value, "|")} if variable else set()
    if variable and {"ZERO", "EFFICIENCY"} <= words:
        yield report.about(
            variable,
            "NCCL drops EFFICIENCY when ZERO is there",
            part=variable.value,
            remedy="export NCCL_CTA_POLICY=ZERO",
            fix=report.export("NCCL_CTA_POLICY", "ZERO"),
        )


@rule("TUN019", "division-by-zero", "error")
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


@rule("TUN020", "uneven-work-fifo", "warning")
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


@rule("TUN021", "unknown-device-policy", "warning")
def unknown_device_policy(host: JudgedHost) -> Results:
    """NCCL_NETDEVS_POLICY is not AUTO, ALL or MAX:N.

    Why: NCCL takes AUTO.
    Example: NCCL_NETDEVS_POLICY=MAX
    Instead: NCCL_NETDEVS_POLICY=MAX:2
    Source: NCCL user guide, NCCL_NETDEVS_POLICY
    """
    variable = host.variable("NCCL_NETDEVS_POLICY")
    if variable and variable.value and not re.fullmatch(r"auto|all|max:0*[1-9]\d*", variable.value.lower()):
        yield report.better_unset(
            variable,
            "NCCL does not know this policy, and takes AUTO",
            remedy="use AUTO, ALL or MAX:N, or unset it",
        )


@rule("TUN022", "unknown-symmetric-kernel", "error")
def unknown_symmetric_kernel(host: JudgedHost) -> Results:
    """NCCL_SYM_KERNEL names a kernel that there is not.

    Why: No symmetric kernel is left then, without a message. The name is compared exactly.
    Example: NCCL_SYM_KERNEL=AllGather
    Instead: unset NCCL_SYM_KERNEL
    Source: NCCL src/sym_kernels.cc
    """
    variable = host.variable("NCCL_SYM_KERNEL")
    if variable and variable.value not in ("^", *_SYMMETRIC):
        yield report.better_unset(
            variable,
            "NCCL knows no such kernel, and does without symmetric kernels",
            evidence=(f"known to 2.30: {', '.join(_SYMMETRIC[:4])}, ...",),
        )


@rule("TUN023", "thresholds-with-commas", "warning")
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
            part=",",
            remedy="separate the numbers by blanks",
            fix=report.export(variable.name, " ".join(variable.value.replace(",", " ").split())),
        )


@rule("TUN024", "group-launch-mode", "info")
def group_launch_mode(host: JudgedHost) -> Results:
    """NCCL_LAUNCH_MODE is set to something else than PARALLEL.

    Why: GROUP is out of use since 2.9, and everything else means PARALLEL.
    Example: NCCL_LAUNCH_MODE=GROUP
    Instead: unset NCCL_LAUNCH_MODE
    Source: NCCL user guide, NCCL_LAUNCH_MODE
    """
    variable = host.variable("NCCL_LAUNCH_MODE")
    if variable and variable.value != "PARALLEL":
        yield report.better_unset(variable, "this launch mode is out of use")


@rule("TUN025", "unordered-mixed-graphs", "error")
def unordered_mixed_graphs(host: JudgedHost) -> Results:
    """Graphs shall not be ordered, and may be mixed with other launches.

    Why: This is not supported; NCCL warns, and orders them after all.
    Example: NCCL_GRAPH_STREAM_ORDERING=0 alone
    Instead: NCCL_GRAPH_MIXING_SUPPORT=0 as well
    Source: NCCL user guide, NCCL_GRAPH_STREAM_ORDERING
    """
    variable = host.variable("NCCL_GRAPH_STREAM_ORDERING")
    mixing = host.integer("NCCL_GRAPH_MIXING_SUPPORT")
    if variable and host.integer("NCCL_GRAPH_STREAM_ORDERING") == 0 and mixing != 0:
        yield report.about(
            variable,
            "NCCL orders graphs as long as NCCL_GRAPH_MIXING_SUPPORT is on",
            remedy="export NCCL_GRAPH_MIXING_SUPPORT=0",
            fix=report.export("NCCL_GRAPH_MIXING_SUPPORT", "0"),
        )


@rule("TUN026", "blocking-overridden", "warning", needs=("versions",))
def blocking_overridden(host: JudgedHost) -> Results:
    """NCCL_COMM_BLOCKING is set where torch makes the communicators.

    Why: It overrides what torch asked for; 0 breaks calls that expect to block.
    Example: NCCL_COMM_BLOCKING=0
    Instead: unset NCCL_COMM_BLOCKING
    Source: NCCL user guide, NCCL_COMM_BLOCKING
    """
    variable = host.variable("NCCL_COMM_BLOCKING")
    if variable and variable.value and known(host.facts.versions.torch):
        yield report.better_unset(variable, "it overrides what torch asks NCCL for", part="")


@rule("TUN027", "checks-left-on", "warning")
def checks_left_on(host: JudgedHost) -> Results:
    """NCCL checks the arguments of every call.

    Why: It costs time at each call; DEBUG_GLOBAL also talks to the other ranks.
    Example: NCCL_CHECK_MODE=DEBUG_GLOBAL
    Instead: unset NCCL_CHECK_MODE
    Source: NCCL user guide, NCCL_CHECK_MODE and NCCL_CHECK_POINTERS
    """
    mode, pointers = host.variable("NCCL_CHECK_MODE"), host.variable("NCCL_CHECK_POINTERS")
    if mode and mode.value.upper() in ("DEBUG_LOCAL", "DEBUG_GLOBAL"):
        yield report.better_unset(mode, "NCCL checks every call", part="")
    if pointers and host.integer("NCCL_CHECK_POINTERS") == 1:
        yield report.better_unset(pointers, "NCCL checks every pointer", part="")


@rule("TUN028", "graph-registration", "warning", needs=("nvidia",))
def graph_registration(host: JudgedHost) -> Results:
    """CUDA graphs register their buffers, in a process that drives several GPUs.

    Why: With CUDA graphs this can deadlock. One rank on a host with several visible GPUs may be such a process.
    Example: LOCAL_WORLD_SIZE=1 on 8 GPUs, NCCL_GRAPH_REGISTER=1
    Instead: NCCL_GRAPH_REGISTER=0, or a process for each GPU
    Source: NCCL user guide, NCCL_GRAPH_REGISTER
    """
    variable = host.variable("NCCL_GRAPH_REGISTER")
    if variable is None or host.integer("NCCL_GRAPH_REGISTER") in (0, None):
        return
    if known(host.local_ranks) == 1 and known(host.facts.nvidia.visible_gpus) > 1:
        yield report.about(
            variable,
            "one process sees several GPUs: with CUDA graphs their registration can deadlock",
            remedy="export NCCL_GRAPH_REGISTER=0",
            fix=report.export("NCCL_GRAPH_REGISTER", "0"),
        )


@across("TUN029", "shared-gpu", "error", needs=("nvidia", "boot_id", "rank"))
def shared_gpu(hosts: Sequence[JudgedHost]) -> Results:
    """Two ranks use one GPU.

    Why: Initialization fails, or hangs with older releases. Mostly LOCAL_RANK was not given to cuda.set_device.
    Example: CUDA_VISIBLE_DEVICES=0 for every rank of a host
    Instead: another GPU for each rank
    Source: NCCL user guide, NCCL_MULTI_RANK_GPU_ENABLE
    """
    users: dict[str, list[str]] = {}
    for host in hosts:
        rank = host.get("RANK")
        if rank is not None and host.integer("NCCL_MULTI_RANK_GPU_ENABLE") != 1:
            users.setdefault(_gpu(host), []).append(rank)
    for gpu, ranks in users.items():
        if len(set(ranks)) > 1:
            yield report.device(
                gpu,
                f"ranks {', '.join(escaped(rank[:12]) for rank in ranks[:6])} use one GPU",
                remedy="torch.cuda.set_device(int(os.environ['LOCAL_RANK'])) before the process group is made",
                evidence=(escaped(gpu),),
            )


def _gpu(host: JudgedHost) -> str:
    """The GPU of a rank: that of its place in CUDA_VISIBLE_DEVICES, or the only one there."""
    gpus = [str(known(gpu.uuid)) for gpu in known(host.facts.nvidia.gpus)]
    words = list(values.split(host.get("CUDA_VISIBLE_DEVICES") or "")) or [
        str(index) for index in range(len(gpus))
    ]
    place = values.atoi(host.get("LOCAL_RANK") or "0") if len(words) > 1 else 0
    word = words[place] if 0 <= place < len(words) else ""
    if word.isascii() and word.isdecimal() and int(word[:9]) < len(gpus):
        return gpus[int(word[:9])]
    return f"{known(host.facts.boot_id)} GPU {word or place}"
