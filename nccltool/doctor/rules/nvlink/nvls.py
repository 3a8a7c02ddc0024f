"""NVLS: collectives inside of NVSwitch."""

from collections.abc import Sequence

from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, known, rule
from nccltool.doctor.rules.nvlink.base import on_switch
from nccltool.hosts.facts import Gpu, or_none
from nccltool.hosts.nccl import values

_NVLS_SINCE = 9.0
"""Compute capability of Hopper, the first GPU with NVLink SHARP."""

_BLACKWELL = 10.0

_NVLS_LEAST_GPUS = 4

_STRICT = (2, 29)
"""The release from which a failure to get a multicast slot ends the job, whatever NCCL_NVLS_ENABLE is."""

_MANY_COMMUNICATORS = 64
"""A GPU has 128 multicast slots: https://github.com/NVIDIA/nccl/issues/2077."""

_CHUNK = 131072

_AWS_CHUNK = 524288
"""What aws-ofi-nccl sets on p5 and newer: src/platform-aws.cpp."""

_NVLS = ("NVLS", "NVLSTree")


def _capability(gpus: Sequence[Gpu]) -> float:
    """The lowest of all; NVLS needs it everywhere. Raises NotKnown."""
    return min((known(gpu.compute_capability) for gpu in gpus), default=0.0)


@rule("NV001", "info", needs=("nvidia",))
def nvls_forced(host: JudgedHost) -> Results:
    """NCCL_NVLS_ENABLE=1 on GPUs that have no NVLink SHARP.

    Why: It cannot help there: it takes compute capability 9.0 and an NVSwitch.
    Example: NCCL_NVLS_ENABLE=1 on A100
    Instead: unset NCCL_NVLS_ENABLE
    Source: NCCL user guide, NCCL_NVLS_ENABLE
    """
    variable = host.variable("NCCL_NVLS_ENABLE")
    if variable is None or host.integer("NCCL_NVLS_ENABLE") != 1 or not host.gpus:
        return
    gpus = host.gpus
    old = _capability(gpus) < _NVLS_SINCE
    if old or not all(on_switch(gpu) for gpu in gpus):
        yield report.better_unset(
            variable,
            "these GPUs have no NVLink SHARP",
            evidence=(f"compute capability {_capability(gpus)}" if old else "there is no NVSwitch",),
        )


@rule("NV002", "warning", needs=("nvidia", "cloud"))
def nvls_disabled(host: JudgedHost) -> Results:
    """NCCL_NVLS_ENABLE=0 on GPUs that have NVLink SHARP.

    Why: All-reduce inside the node loses up to a third of its bandwidth. It is right only where multicast fails.
    Google's second profile for A3 Mega, the one with NCCL_PROTO=Simple, sets it by design.
    Example: NCCL_NVLS_ENABLE=0 on HGX H100
    Instead: unset NCCL_NVLS_ENABLE, when the fabric manager and NCCL are in order
    Source: https://github.com/NVIDIA/nccl/issues/2077; NCCL user guide, NCCL_NVLS_ENABLE
    """
    variable = host.variable("NCCL_NVLS_ENABLE")
    if variable is None or host.integer("NCCL_NVLS_ENABLE") != 0 or len(host.gpus) < _NVLS_LEAST_GPUS:
        return
    gpus = host.gpus
    if _capability(gpus) >= _NVLS_SINCE and sum(on_switch(gpu) for gpu in gpus) >= _NVLS_LEAST_GPUS:
        profile = host.facts.cloud.provider == "gcp" and host.get("NCCL_PROTO") == "Simple"
        yield report.better_unset(
            variable,
            "all-reduce inside the node goes without NVLink SHARP",
            evidence=(f"{len(gpus)} GPUs on NVSwitch, compute capability {_capability(gpus)}",),
            severity="info" if profile else None,
        )


@rule("NV003", "warning", needs=("nvidia", "process"))
def many_communicators(host: JudgedHost) -> Results:
    """A process has many communicators, and NCCL gives each one of the few multicast slots.

    Why: From 2.29 on initialization fails when there is none left; 2.27 and 2.28 went on without NVLS.
    Example: a hundred process groups with NCCL 2.29
    Instead: NCCL_NVLS_ENABLE=0, or fewer groups
    Source: https://github.com/NVIDIA/nccl/issues/2077; NCCL user guide, NCCL_NVLS_ENABLE
    """
    if host.integer("NCCL_NVLS_ENABLE") == 0 or not host.gpus or not host.nccl_is(since=_STRICT):
        return
    gpus = host.gpus
    if _capability(gpus) < _NVLS_SINCE or not all(on_switch(gpu) for gpu in gpus):
        return
    count = known(host.facts.process.communicators)
    if count > _MANY_COMMUNICATORS:
        yield report.variable(
            "NCCL_NVLS_ENABLE",
            f"{count} communicators in one process; a GPU has 128 multicast slots",
            "export NCCL_NVLS_ENABLE=0, or make fewer process groups",
            evidence=(f"{count} threads are called NCCL Service",),
            fix=report.export("NCCL_NVLS_ENABLE", "0"),
        )


@rule("NV004", "error")
def nvls_on_shared_gpus(host: JudgedHost) -> Results:
    """NCCL_NVLS_ENABLE=1 while several ranks may share a GPU.

    Why: Making a communicator fails.
    Example: NCCL_MULTI_RANK_GPU_ENABLE=1 and NCCL_NVLS_ENABLE=1
    Instead: NCCL_NVLS_ENABLE=2, the default
    Source: NCCL src/transport/nvls.cc (ncclNvlsInit)
    """
    variable = host.variable("NCCL_NVLS_ENABLE")
    if variable is None or host.integer("NCCL_NVLS_ENABLE") != 1 or not host.integer("NCCL_MULTI_RANK_GPU_ENABLE"):
        return
    version = or_none(host.nccl)
    if version is None or version >= Version(2, 30):
        yield report.better_unset(
            variable,
            "ranks that share a GPU cannot make a communicator with NVLS forced on",
            evidence=("NCCL_MULTI_RANK_GPU_ENABLE is on",),
        )


@rule("NV005", "error", needs=("nvidia",))
def nvls_demanded_and_impossible(host: JudgedHost) -> Results:
    """NCCL_ALGO leaves only NVLS, and NVLS is off or not possible.

    Why: No algorithm remains: calls fail.
    Example: NCCL_ALGO=NVLS and NCCL_NVLS_ENABLE=0
    Instead: one of the two
    Source: NCCL user guide, NCCL_ALGO; src/graph/tuning.cc
    """
    variable = host.variable("NCCL_ALGO")
    if variable is None:
        return
    left = values.selection(variable.value, values.ALGORITHMS, or_none(host.nccl)).left
    only = [function for function, words in left.items() if words and set(words) <= set(_NVLS)]
    if not only:
        return
    why = "NCCL_NVLS_ENABLE is 0" if host.integer("NCCL_NVLS_ENABLE") == 0 else ""
    if not why and host.gpus and _capability(host.gpus) < _NVLS_SINCE:
        why = f"compute capability {_capability(host.gpus)}; NVLS needs 9.0"
    if why:
        yield report.better_unset(
            variable, f"no algorithm is left for {only[0]}: NVLS is not to be had", evidence=(why,)
        )


@rule("NV006", "warning", needs=("cloud", "nvidia"))
def tree_chunk_above_chunk(host: JudgedHost) -> Results:
    """NCCL_NVLSTREE_MAX_CHUNKSIZE is larger than NCCL_NVLS_CHUNKSIZE.

    Why: NCCL takes the smaller one of the two.
    Example: NCCL_NVLSTREE_MAX_CHUNKSIZE=524288 alone, where the other is 131072
    Instead: NCCL_NVLS_CHUNKSIZE=524288, too
    Source: NCCL src/enqueue.cc, src/transport/nvls.cc (ncclNvlsTuning); aws-ofi-nccl src/platform-aws.cpp
    """
    variable = host.variable("NCCL_NVLSTREE_MAX_CHUNKSIZE")
    tree = host.integer("NCCL_NVLSTREE_MAX_CHUNKSIZE")
    if variable is None or tree is None:
        return
    chunk = host.integer("NCCL_NVLS_CHUNKSIZE")
    if chunk is None and tree > _CHUNK:
        chunk = _default_chunk(host)
    if chunk is not None and tree > chunk:
        yield report.about(
            variable,
            f"the chunk stays {chunk}: NCCL_NVLS_CHUNKSIZE is smaller",
            f"export NCCL_NVLS_CHUNKSIZE={tree}",
            fix=report.export("NCCL_NVLS_CHUNKSIZE", str(tree)),
        )


def _default_chunk(host: JudgedHost) -> int:
    """Where NCCL_NVLS_CHUNKSIZE is not set: AWS's plugin has its own; newer NCCL tunes Blackwell by network."""
    if host.facts.cloud.provider == "aws":
        return _AWS_CHUNK
    gpus = or_none(host.facts.nvidia.gpus) or ()
    blackwell = any((or_none(gpu.compute_capability) or 0) >= _BLACKWELL for gpu in gpus)
    return 2 * _CHUNK if blackwell else _CHUNK
