"""CUDA: visible GPUs and kernel launches."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from nccltool.core.findings import Severity
from nccltool.core.host_lists import fold
from nccltool.core.text import counted, escaped
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, across, by_value, for_text, for_value, rule
from nccltool.hosts import hip_mask
from nccltool.hosts.facts import Gpu, known, or_none

_BLACKWELL = 10.0
_NOTHING = ("", "-1", "NoDevFiles")
"""Values that hide every GPU."""


def _newest(gpus: Sequence[Gpu]) -> float:
    return max((known(gpu.compute_capability) for gpu in gpus), default=0.0)


@for_value("CUD001", "info", "CUDA_DEVICE_MAX_CONNECTIONS", needs=("nvidia",))
def one_hardware_queue(host: JudgedHost, variable: Variable, queues: str) -> Results:
    """CUDA_DEVICE_MAX_CONNECTIONS is 1 on Blackwell or newer GPUs.

    Why: Independent streams wait for each other in one hardware queue. Megatron's communication overlap needs this
    setting on Hopper and older GPUs; FSDP, torchtitan, and newer GPUs do not.
    Example: CUDA_DEVICE_MAX_CONNECTIONS=1 on B200
    Instead: unset CUDA_DEVICE_MAX_CONNECTIONS
    Source: https://github.com/pytorch/torchtitan/issues/1147; https://github.com/NVIDIA/Megatron-LM/issues/533
    """
    if queues.strip() == "1" and _newest(host.gpus) >= _BLACKWELL:
        message = "independent streams wait for each other in one hardware queue"
        remedy = "unset CUDA_DEVICE_MAX_CONNECTIONS, unless the framework requires 1"
        lines = (f"compute capability {_newest(host.gpus)}",)
        yield report.better_unset(variable, message, remedy, evidence=lines)


@rule("CUD002", "info", needs=("nvidia", "versions"))
def several_queues_for_megatron(host: JudgedHost) -> Results:
    """Megatron is installed on a host with GPUs older than Blackwell, and CUDA_DEVICE_MAX_CONNECTIONS is not 1.

    Why: With tensor- or sequence-parallel overlap, Megatron refuses to start or loses the kernel order that it
    needs. The doctor cannot see whether a job uses this overlap.
    Example: megatron-core on H100 without CUDA_DEVICE_MAX_CONNECTIONS
    Instead: CUDA_DEVICE_MAX_CONNECTIONS=1
    Source: https://github.com/NVIDIA/Megatron-LM/issues/533
    """
    if (host.get("CUDA_DEVICE_MAX_CONNECTIONS") or "").strip() == "1" or not host.gpus:
        return
    installed = any(one.name == "megatron-core" for one in known(host.facts.versions.packages))
    if installed and _newest(host.gpus) < _BLACKWELL:
        message = "Megatron's tensor-parallel overlap needs a single hardware queue on these GPUs"
        remedy = "export CUDA_DEVICE_MAX_CONNECTIONS=1 for Megatron jobs"
        lines = (f"megatron-core is installed; compute capability {_newest(host.gpus)}",)
        fix = report.export("CUDA_DEVICE_MAX_CONNECTIONS", "1")
        yield report.variable("CUDA_DEVICE_MAX_CONNECTIONS", message, remedy, evidence=lines, fix=fix)


@for_text(
    *("CUD003", "warning", "CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL"),
    "AMD_SERIALIZE_COPY",
)
def synchronous_launches(_: JudgedHost, variable: Variable, text: str) -> Results:
    """CUDA_LAUNCH_BLOCKING, or one of ROCm's variables for the same, is on.

    Why: Every launch waits for its kernel to finish; NCCL with several GPUs per process can deadlock.
    Example: CUDA_LAUNCH_BLOCKING=1
    Instead: unset CUDA_LAUNCH_BLOCKING
    Source: NCCL src/misc/cudawrap.cc; HIP documentation, debugging, environment variables
    """
    if text != "0":
        yield report.better_unset(variable, "every launch waits for its kernel to finish")


@across("CUD004", "error", needs=("boot_id", "names", "rank"))
def gpu_shared_by_ranks(hosts: Sequence[JudgedHost]) -> Results:
    """Two ranks on a node have the same first visible GPU.

    Why: Both ranks use this GPU, so NCCL fails or runs out of memory.
    Example: CUDA_VISIBLE_DEVICES=0 for all ranks
    Instead: give every rank the whole list and choose by LOCAL_RANK, or give each rank its own GPU
    Source: NCCL src/init.cc (duplicate GPU)
    """
    nodes = yield from by_value(hosts, _node)
    for (_, name), ranks in nodes.items():
        for device, owners in _first(ranks).items():
            numbers = sorted({host.get("RANK") or "" for host in owners})
            if len(numbers) > 1:
                gpu = f"GPU {escaped(device[:60])}"
                message = f"{len(owners)} ranks use {gpu}"
                remedy = "give all ranks the whole list and choose by LOCAL_RANK, or give each rank its own GPU"
                lines = (f"first in CUDA_VISIBLE_DEVICES of ranks {escaped(', '.join(numbers[:6])[:80])}",)
                yield report.device(f"{gpu} of {escaped(name[:60])}", message, remedy, evidence=lines)


def _node(host: JudgedHost) -> tuple[str, str] | Unknown | None:
    """Boot and name of the node of a rank that names its GPUs."""
    unnamed = host.get("CUDA_VISIBLE_DEVICES") in (None, *_NOTHING)
    if unnamed or host.get("RANK") is None or host.integer("NCCL_MULTI_RANK_GPU_ENABLE"):
        return None
    boot = host.facts.boot_id
    return boot if isinstance(boot, Unknown) else (boot, or_none(host.facts.names.hostname) or host.name)


def _first(ranks: Sequence[JudgedHost]) -> dict[str, list[JudgedHost]]:
    """GPU -> the ranks that take it. Where all have one and the same list, LOCAL_RANK chooses."""
    lists = [(host.get("CUDA_VISIBLE_DEVICES") or "").split(",") for host in ranks]
    found = defaultdict[str, list[JudgedHost]](list)
    if len(lists[0]) == 1 or any(words != lists[0] for words in lists):
        for host, words in zip(ranks, lists, strict=True):
            found[words[0].strip()].append(host)
    return found


@across("CUD005", "info", needs=("rank",))
def other_gpu_order(hosts: Sequence[JudgedHost]) -> Results:
    """The order of CUDA_VISIBLE_DEVICES differs between nodes.

    Why: Ranks with the same local number use different GPUs and adapters, so rings cross rails.
    Example: CUDA_VISIBLE_DEVICES=0,1,2,3 on one node and 3,2,1,0 on another
    Instead: use the same order on all nodes
    Source: NCCL user guide, NCCL_CROSS_NIC
    """
    orders = defaultdict[tuple[str, ...], dict[tuple[str, ...], list[str]]](dict)
    for host in hosts:
        words = tuple((host.get("CUDA_VISIBLE_DEVICES") or "").split(","))
        if len(words) > 1:
            orders[tuple(sorted(words))].setdefault(words, []).append(host.name)
    for variants in orders.values():
        if len(variants) > 1 and not set.intersection(*map(set, variants.values())):
            least = min(variants, key=lambda words: len(variants[words]))
            message = f"nodes list their GPUs in {len(variants)} different orders"
            remedy = "set the same order on every node"
            lines = (f"{escaped(','.join(least)[:80])} on {escaped(fold(variants[least])[:160])}",)
            yield report.variable("CUDA_VISIBLE_DEVICES", message, remedy, evidence=lines)


@rule("CUD006", "info", needs=("nvidia",))
def mixed_gpus(host: JudgedHost) -> Results:
    """The host has GPUs of different models, and CUDA_DEVICE_ORDER is not PCI_BUS_ID.

    Why: CUDA numbers the fastest GPU first, so its numbers differ from nvidia-smi's. Where CUDA_VISIBLE_DEVICES
    chooses some of them by number, that may be another GPU than nvidia-smi shows, so this is a warning.
    Example: an L4 and an H100 in one host
    Instead: CUDA_DEVICE_ORDER=PCI_BUS_ID
    Source: CUDA C++ programming guide, environment variables
    """
    if host.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID":
        return
    names = sorted({known(gpu.name) for gpu in host.gpus})
    if len(names) > 1:
        chosen = [one.strip() for one in (host.get("CUDA_VISIBLE_DEVICES") or "").split(",")]
        is_choice = all(map(str.isdecimal, chosen)) and len(set(chosen)) < len(host.gpus)
        message = "CUDA and nvidia-smi number the GPUs differently"
        more = f"; CUDA_VISIBLE_DEVICES={escaped(','.join(chosen)[:40])} may choose others" if is_choice else ""
        lines = (escaped(", ".join(names)[:160]),)
        fix = report.export("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
        severity: Severity | None = "warning" if is_choice else None
        yield report.variable("CUDA_DEVICE_ORDER", message + more, evidence=lines, fix=fix, severity=severity)


@for_value("CUD007", "error", "CUDA_VISIBLE_DEVICES", needs=("nvidia",))
def bad_gpu_list(host: JudgedHost, variable: Variable, text: str) -> Results:
    """CUDA_VISIBLE_DEVICES contains a space, a duplicate, or a GPU that does not exist.

    Why: CUDA stops at the first invalid entry: that GPU and all after it are invisible.
    Example: CUDA_VISIBLE_DEVICES=0,1,8
    Instead: CUDA_VISIBLE_DEVICES=0,1,7
    Source: CUDA C++ programming guide, environment variables
    """
    words = text.split(",") if text not in _NOTHING else []
    gone = ((word, "does not exist") for word in words if _is_gone(host, word))
    if wrong := next(chain(_wrong(words), gone), None):
        word, why = wrong
        message = f"{word[:60]!r} {why}: CUDA ignores it and all entries after it"
        remedy = "list indices from 0, or UUIDs from `nvidia-smi -L`, separated by commas"
        readable = word.strip().isdecimal() or not word  # CUDA passes over a blank; nothing follows a last comma
        yield report.better_unset(
            variable, message, remedy, part=word, severity="warning" if readable and why in _BLANK else None
        )


_BLANK = ("contains a space", "is empty")


def _wrong(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for word in words:
        if word != word.strip() or not word:
            yield word, _BLANK[0] if word else _BLANK[1]
        elif word in seen:
            yield word, "is listed twice"
        elif not (word.isascii() and word.isdecimal()) and not word.startswith(("GPU-", "MIG-")):
            yield word, "is not a GPU"
        seen.add(word)


def _is_gone(host: JudgedHost, word: str) -> bool:
    """It is no GPU of this host, as far as that is known. Raises NotKnown."""
    if word.isdecimal():
        return int(word[:6]) >= len(host.gpus)
    uuids = [or_none(gpu.uuid) for gpu in host.gpus]
    return word.startswith("GPU-") and None not in uuids and not any(str(one).startswith(word) for one in uuids)


@for_text("CUD009", "warning", "ROCR_VISIBLE_DEVICES", covers=())
def gpu_hidden_by_rocr(host: JudgedHost, _: Variable, __: str) -> Results:
    """HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES names a GPU that ROCR_VISIBLE_DEVICES hides.

    Why: ROCm applies ROCR_VISIBLE_DEVICES first and numbers the remaining GPUs from 0. HIP stops at the first
    number that does not exist: that GPU and all after it are invisible.
    Example: ROCR_VISIBLE_DEVICES=1 and CUDA_VISIBLE_DEVICES=0,1
    Instead: set only one of them, such as HIP_VISIBLE_DEVICES=1
    Source: ROCm documentation, GPU isolation techniques
    """
    names = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    env = {name: value for name in names if (value := host.get(name)) is not None}
    if hidden := hip_mask.hidden_by_rocr(env):
        name, word, left = hidden
        variable = host.variable(name)
        assert variable is not None
        message = f"names GPU {word[:20]}, but ROCR_VISIBLE_DEVICES leaves only {counted(left, 'GPU')}"
        remedy = f"set only one of ROCR_VISIBLE_DEVICES and {name}"
        yield report.better_unset(variable, message, remedy, part=word)


@for_value("CUD010", "warning", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", covers=())
def every_gpu_hidden(host: JudgedHost, variable: Variable, text: str) -> Results:
    """A variable hides every GPU of a job that is to use NCCL.

    Why: torch finds no GPU, and NCCL cannot start. The setting is for parts of a job that must not touch a GPU.
    Example: CUDA_VISIBLE_DEVICES=-1 and NCCL_DEBUG=INFO
    Instead: unset CUDA_VISIBLE_DEVICES
    Source: CUDA C++ programming guide, environment variables; ROCm documentation, GPU isolation techniques
    """
    if text.strip() in _NOTHING and next(host.settings.beginning("NCCL_", "RCCL_"), None):
        yield report.better_unset(variable, "no GPU is visible to the job")


@for_text("CUD008", "error", "NVIDIA_DRIVER_CAPABILITIES", needs=("nvidia",))
def container_without_nvml(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NVIDIA_DRIVER_CAPABILITIES does not include `utility`.

    Why: Without it, the container lacks libnvidia-ml, which NCCL needs.
    Example: NVIDIA_DRIVER_CAPABILITIES=compute
    Instead: NVIDIA_DRIVER_CAPABILITIES=compute,utility
    Source: NCCL src/misc/nvmlwrap.cc; NVIDIA Container Toolkit, driver capabilities
    """
    words = {word.strip() for word in text.lower().split(",")}
    if text.strip() and not words & {"utility", "all"} and not isinstance(host.facts.nvidia.nvml, str):
        remedy = "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility"
        yield report.better_set(variable, "compute,utility", "the container has no libnvidia-ml", remedy)
