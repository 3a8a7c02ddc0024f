"""Threads of a block, and the processes that start it."""

from collections.abc import Sequence

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, across, escaped, known, rule
from nccltool.hosts.nccl import values


@rule("TUN005", "warning")
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


@rule("TUN006", "warning")
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


@rule("TUN024", "info")
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


@rule("TUN025", "error")
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
            "export NCCL_GRAPH_MIXING_SUPPORT=0",
            fix=report.export("NCCL_GRAPH_MIXING_SUPPORT", "0"),
            part="",
        )


@rule("TUN026", "warning", needs=("versions",))
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


@across("TUN029", "error", needs=("nvidia", "boot_id", "rank"))
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
                "torch.cuda.set_device(int(os.environ['LOCAL_RANK'])) before the process group is made",
                evidence=(escaped(gpu),),
            )


def _gpu(host: JudgedHost) -> str:
    """The GPU of a rank: that of its place in CUDA_VISIBLE_DEVICES, or the only one there."""
    gpus = [str(known(gpu.uuid)) for gpu in host.gpus]
    words = list(values.split(host.get("CUDA_VISIBLE_DEVICES") or "")) or [
        str(index) for index in range(len(gpus))
    ]
    place = values.atoi(host.get("LOCAL_RANK") or "0") if len(words) > 1 else 0
    word = words[place] if 0 <= place < len(words) else ""
    if word.isascii() and word.isdecimal() and int(word[:9]) < len(gpus):
        return gpus[int(word[:9])]
    return f"{known(host.facts.boot_id)} GPU {word or place}"
