"""Threads of a block, the processes that start it, policies and kernels that are chosen by name."""

import re
from collections.abc import Sequence

from nccltool.core.findings import Severity
from nccltool.core.text import escaped
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, across, for_number, for_text, for_value, rule
from nccltool.hosts.facts import known
from nccltool.hosts.nccl import values

_SYMMETRIC = (
    *("AllReduce_AGxLL_R", "AllReduce_AGxLLMC_R", "AllReduce_RSxLD_AGxST", "AllReduce_RSxLDMC_AGxSTMC"),
    *("AllGather_LL", "AllGather_LLMC", "AllGather_ST", "AllGather_STMC", "AllGather_RailRing_LsaSTMC"),
    *("ReduceScatter_LL", "ReduceScatter_LD", "ReduceScatter_LDMC", "ReduceScatter_RailA2A_LsaLD"),
    *("ReduceScatter_RailA2A_LsaLDMC", "AllReduce_RSxTmaLD_AGxTmaST", "AllGather_TmaST", "AllGather_TmaSTMC"),
    "ReduceScatter_TmaLD",
)
"""Names of src/sym_kernels.cc."""


_FEWEST_THREADS = 128
"""NCCL_MIN_NTHREADS of src/include/device.h: the fewest threads of a block that NCCL starts by itself."""


@for_number("TUN005", "warning", "NCCL_NTHREADS")
def bad_thread_count(_: JudgedHost, variable: Variable, count: int) -> Results:
    """NCCL_NTHREADS is not 128, 256, or 512.

    Why: NCCL replaces a value that is not a multiple of 32 with the maximum and clamps others. It accepts 64, but
    by itself never runs blocks of fewer than 128 threads; its default is 256 or 512.
    Example: NCCL_NTHREADS=100
    Instead: unset NCCL_NTHREADS
    Source: NCCL user guide, NCCL_NTHREADS; src/graph/tuning.cc; src/include/device.h (NCCL_MIN_NTHREADS)
    """
    if count == _FEWEST_THREADS // 2:
        message = f"{count} threads are fewer than NCCL runs by itself: a channel moves less data"
        yield report.better_unset(variable, message)
    elif count not in (_FEWEST_THREADS, 256, 512, -2):
        yield report.better_unset(variable, f"NCCL does not run blocks of {count} threads")


@for_number("TUN006", "warning", "NCCL_LL128_NTHREADS")
def bad_ll128_thread_count(_: JudgedHost, variable: Variable, count: int) -> Results:
    """NCCL_LL128_NTHREADS is not a multiple of 32 or is outside the range 160 to 640.

    Why: NCCL replaces or clamps the value.
    Example: NCCL_LL128_NTHREADS=100
    Instead: unset NCCL_LL128_NTHREADS
    Source: NCCL src/graph/tuning.cc
    """
    if count != -2 and (count % 32 or not 160 <= count <= 640):
        yield report.better_unset(variable, f"NCCL does not run LL128 with {count} threads")


@for_number("TUN016", "info", "NCCL_CGA_CLUSTER_SIZE")
def large_cluster(_: JudgedHost, variable: Variable, size: int) -> Results:
    """NCCL_CGA_CLUSTER_SIZE is above 8.

    Why: NCCL uses 8.
    Example: NCCL_CGA_CLUSTER_SIZE=16
    Instead: unset NCCL_CGA_CLUSTER_SIZE
    Source: NCCL user guide, NCCL_CGA_CLUSTER_SIZE
    """
    if size > 8:
        yield report.better_unset(variable, f"a cluster has at most 8 blocks, not {size}")


@for_text("TUN017", "warning", "NCCL_CTA_POLICY")
def unknown_policy(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_CTA_POLICY contains a name that is not a policy.

    Why: NCCL ignores it. Names are separated by |, and NCCL does not remove spaces.
    Example: NCCL_CTA_POLICY=EFFICIENCY,ZERO
    Instead: NCCL_CTA_POLICY=EFFICIENCY
    Source: NCCL src/init.cc (getEnvCtaPolicyOnce)
    """
    if text[0].isascii() and text[0].isdigit():
        wrong = [] if re.fullmatch("[0-2]", text) else [text]
    else:
        words = values.split(text, "|")
        wrong = [word for word in words if word.upper() not in ("DEFAULT", "EFFICIENCY", "ZERO")]
    if wrong:
        message = f"{wrong[0][:40]!r} is not a policy; NCCL ignores it"
        remedy = "correct the name or unset NCCL_CTA_POLICY"
        lines = ("known: DEFAULT, EFFICIENCY, ZERO, separated by |",)
        yield report.better_unset(variable, message, remedy, part=wrong[0], evidence=lines)


@for_text("TUN018", "info", "NCCL_CTA_POLICY")
def contrary_policies(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_CTA_POLICY names both ZERO and EFFICIENCY.

    Why: NCCL drops EFFICIENCY.
    Example: NCCL_CTA_POLICY=ZERO|EFFICIENCY
    Instead: NCCL_CTA_POLICY=ZERO
    Source: NCCL src/init.cc
    """
    if {"ZERO", "EFFICIENCY"} <= {word.upper() for word in values.split(text, "|")}:
        yield report.better_set(variable, "ZERO", "NCCL drops EFFICIENCY when ZERO is set")


@for_text("TUN021", "warning", "NCCL_NETDEVS_POLICY")
def unknown_device_policy(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NETDEVS_POLICY is not AUTO, ALL, or MAX:N.

    Why: NCCL uses AUTO.
    Example: NCCL_NETDEVS_POLICY=MAX
    Instead: NCCL_NETDEVS_POLICY=MAX:2
    Source: NCCL user guide, NCCL_NETDEVS_POLICY
    """
    if not re.fullmatch(r"auto|all|max:0*[1-9]\d*", text.lower()):
        message = "NCCL does not know this policy and uses AUTO"
        yield report.better_unset(variable, message, "set AUTO, ALL, or MAX:N, or unset it")


@for_value("TUN022", "warning", "NCCL_SYM_KERNEL")
def unknown_symmetric_kernel(_: JudgedHost, variable: Variable, name: str) -> Results:
    """NCCL_SYM_KERNEL names a kernel that does not exist.

    Why: NCCL then uses no symmetric kernel, without a message. The name must match exactly.
    Example: NCCL_SYM_KERNEL=AllGather
    Instead: unset NCCL_SYM_KERNEL
    Source: NCCL src/sym_kernels.cc
    """
    if name not in ("^", *_SYMMETRIC):
        message = "NCCL has no kernel of this name and uses no symmetric kernels"
        lines = (f"in 2.30: {', '.join(_SYMMETRIC[:4])}, ...",)
        yield report.better_unset(variable, message, evidence=lines)


@for_value("TUN024", "info", "NCCL_LAUNCH_MODE")
def group_launch_mode(_: JudgedHost, variable: Variable, mode: str) -> Results:
    """NCCL_LAUNCH_MODE is not PARALLEL.

    Why: GROUP has been obsolete since 2.9, and any other value means PARALLEL.
    Example: NCCL_LAUNCH_MODE=GROUP
    Instead: unset NCCL_LAUNCH_MODE
    Source: NCCL user guide, NCCL_LAUNCH_MODE
    """
    if mode != "PARALLEL":
        yield report.better_unset(variable, "this launch mode is obsolete")


@for_number("TUN025", "warning", "NCCL_GRAPH_STREAM_ORDERING")
def unordered_mixed_graphs(host: JudgedHost, variable: Variable, ordering: int) -> Results:
    """Graph ordering is off, but graphs may be mixed with other launches.

    Why: NCCL does not support this; it logs a warning and orders graphs anyway.
    Example: NCCL_GRAPH_STREAM_ORDERING=0 without NCCL_GRAPH_MIXING_SUPPORT=0
    Instead: set NCCL_GRAPH_MIXING_SUPPORT=0 as well
    Source: NCCL user guide, NCCL_GRAPH_STREAM_ORDERING
    """
    mixing = "NCCL_GRAPH_MIXING_SUPPORT"
    if ordering == 0 and host.integer(mixing) != 0:
        message = f"NCCL orders graphs as long as {mixing} is on"
        yield report.about(variable, message, f"export {mixing}=0", fix=report.export(mixing, "0"), part="")


@for_text("TUN026", "info", "NCCL_COMM_BLOCKING", needs=("versions",))
def blocking_overridden(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_COMM_BLOCKING is set in a job where torch creates the communicators.

    Why: The variable overrides what torch requests; 0 breaks calls that expect to block.
    Example: NCCL_COMM_BLOCKING=0
    Instead: unset NCCL_COMM_BLOCKING
    Source: NCCL user guide, NCCL_COMM_BLOCKING
    """
    if known(host.facts.versions.torch):
        severity: Severity | None = "warning" if host.integer(variable.name) == 0 else None
        message = "it overrides what torch requests from NCCL"
        yield report.better_unset(variable, message, part="", severity=severity)


@rule("TUN027", "info")
def checks_left_on(host: JudgedHost) -> Results:
    """NCCL checks the arguments of every call.

    Why: The checks add time to every call; DEBUG_GLOBAL also communicates with the other ranks.
    Example: NCCL_CHECK_MODE=DEBUG_GLOBAL
    Instead: unset NCCL_CHECK_MODE
    Source: NCCL user guide, NCCL_CHECK_MODE and NCCL_CHECK_POINTERS
    """
    mode, pointers = host.variable("NCCL_CHECK_MODE"), host.variable("NCCL_CHECK_POINTERS")
    if mode and mode.value.upper() in ("DEBUG_LOCAL", "DEBUG_GLOBAL"):
        severity: Severity | None = "warning" if mode.value.upper() == "DEBUG_GLOBAL" else None
        yield report.better_unset(mode, "NCCL checks every call", part="", severity=severity)
    if pointers and host.integer("NCCL_CHECK_POINTERS") == 1:
        yield report.better_unset(pointers, "NCCL checks every pointer", part="")


@for_number("TUN028", "warning", "NCCL_GRAPH_REGISTER", needs=("nvidia",))
def graph_registration(host: JudgedHost, variable: Variable, is_on: int) -> Results:
    """CUDA graphs register their buffers in a process that uses several GPUs.

    Why: In such a process, registration with CUDA graphs can deadlock. One rank on a host with several visible
    GPUs may be such a process.
    Example: NCCL_GRAPH_REGISTER=1 and LOCAL_WORLD_SIZE=1 on a host with 8 GPUs
    Instead: set NCCL_GRAPH_REGISTER=0 or use one process per GPU
    Source: NCCL user guide, NCCL_GRAPH_REGISTER
    """
    if is_on and known(host.local_ranks) == 1 and known(host.facts.nvidia.visible_gpus) > 1:
        message = "one process sees several GPUs: buffer registration with CUDA graphs can deadlock"
        yield report.better_set(variable, "0", message, part="")


@across("TUN029", "error", needs=("nvidia", "boot_id", "rank"))
def shared_gpu(hosts: Sequence[JudgedHost]) -> Results:
    """Two ranks use one GPU.

    Why: Initialization fails, or hangs with older releases. The usual cause is a missing
    torch.cuda.set_device(LOCAL_RANK).
    Example: CUDA_VISIBLE_DEVICES=0 for every rank on a host
    Instead: use a different GPU for each rank
    Source: NCCL user guide, NCCL_MULTI_RANK_GPU_ENABLE
    """
    users: dict[str, list[str]] = {}
    for host in hosts:
        rank = host.get("RANK")
        if rank is not None and host.integer("NCCL_MULTI_RANK_GPU_ENABLE") != 1:
            users.setdefault(_gpu(host), []).append(rank)
    for gpu, ranks in users.items():
        if len(set(ranks)) > 1:
            message = f"ranks {', '.join(escaped(rank[:12]) for rank in ranks[:6])} use one GPU"
            remedy = "torch.cuda.set_device(int(os.environ['LOCAL_RANK'])) before creating the process group"
            yield report.device(gpu, message, remedy, evidence=(escaped(gpu),))


def _gpu(host: JudgedHost) -> str:
    """The GPU of a rank: that of its place in CUDA_VISIBLE_DEVICES, or the only one there."""
    gpus = [str(known(gpu.uuid)) for gpu in host.gpus]
    words = list(values.split(host.get("CUDA_VISIBLE_DEVICES") or "")) or list(map(str, range(len(gpus))))
    place = values.atoi(host.get("LOCAL_RANK") or "0") if len(words) > 1 else 0
    word = words[place] if 0 <= place < len(words) else ""
    if word.isascii() and word.isdecimal() and int(word[:9]) < len(gpus):
        return gpus[int(word[:9])]
    return f"{known(host.facts.boot_id)} GPU {word or place}"
