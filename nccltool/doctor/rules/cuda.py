"""CUDA: which GPUs a rank sees, and how kernels are launched."""

from collections.abc import Iterator, Sequence

from nccltool.core.host_lists import fold
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, across, escaped, known, rule
from nccltool.hosts.facts import Gpu, or_none

_BLACKWELL = 10.0
_NOTHING = ("", "-1", "NoDevFiles")
"""Values that hide every GPU."""


def _newest(gpus: Sequence[Gpu]) -> float:
    return max((known(gpu.compute_capability) for gpu in gpus), default=0.0)


@rule("CUD001", "warning", needs=("nvidia",))
def one_hardware_queue(host: JudgedHost) -> Results:
    """CUDA_DEVICE_MAX_CONNECTIONS=1 on Blackwell or newer GPUs.

    Why: Streams that have nothing to do with each other wait in one queue. Megatron's overlap on Hopper and older
    GPUs wants that; FSDP, torchtitan and newer GPUs do not.
    Example: CUDA_DEVICE_MAX_CONNECTIONS=1 on B200
    Instead: unset CUDA_DEVICE_MAX_CONNECTIONS
    Source: https://github.com/pytorch/torchtitan/issues/1147; https://github.com/NVIDIA/Megatron-LM/issues/533
    """
    variable = host.variable("CUDA_DEVICE_MAX_CONNECTIONS")
    if variable and variable.value.strip() == "1" and _newest(host.gpus) >= _BLACKWELL:
        yield report.better_unset(
            variable,
            "independent streams wait for each other in one queue",
            "unset CUDA_DEVICE_MAX_CONNECTIONS, unless the framework asks for 1",
            evidence=(f"compute capability {_newest(host.gpus)}",),
        )


@rule("CUD002", "info", needs=("nvidia", "versions"))
def several_queues_for_megatron(host: JudgedHost) -> Results:
    """Megatron is installed, on GPUs before Blackwell, and CUDA_DEVICE_MAX_CONNECTIONS is not 1.

    Why: With tensor or sequence parallel overlap Megatron refuses to start, or loses the order it needs. Whether a
    job uses that cannot be seen from outside.
    Example: megatron-core on H100 without the variable
    Instead: CUDA_DEVICE_MAX_CONNECTIONS=1
    Source: https://github.com/NVIDIA/Megatron-LM/issues/533
    """
    if (host.get("CUDA_DEVICE_MAX_CONNECTIONS") or "").strip() == "1" or not host.gpus:
        return
    packages = {one.name for one in known(host.facts.versions.packages)}
    if "megatron-core" in packages and _newest(host.gpus) < _BLACKWELL:
        yield report.variable(
            "CUDA_DEVICE_MAX_CONNECTIONS",
            "Megatron's tensor parallel overlap needs a single queue on these GPUs",
            "export CUDA_DEVICE_MAX_CONNECTIONS=1, for jobs of Megatron",
            evidence=(f"megatron-core is installed; compute capability {_newest(host.gpus)}",),
            fix=report.export("CUDA_DEVICE_MAX_CONNECTIONS", "1"),
        )


@rule("CUD003", "warning")
def synchronous_launches(host: JudgedHost) -> Results:
    """CUDA_LAUNCH_BLOCKING is on.

    Why: Every kernel waits for the one before; NCCL with several GPUs in a process can deadlock.
    Example: CUDA_LAUNCH_BLOCKING=1
    Instead: unset CUDA_LAUNCH_BLOCKING
    Source: NCCL src/misc/cudawrap.cc
    """
    variable = host.variable("CUDA_LAUNCH_BLOCKING")
    if variable and variable.value not in ("", "0"):
        yield report.better_unset(variable, "every kernel is waited for")


@across("CUD004", "error", needs=("boot_id", "names", "rank"))
def gpu_shared_by_ranks(hosts: Sequence[JudgedHost]) -> Results:
    """Two ranks of a node see the same GPU as their first one.

    Why: Both take it: NCCL refuses, or runs out of memory.
    Example: CUDA_VISIBLE_DEVICES=0 for all ranks
    Instead: the whole list for all ranks, and LOCAL_RANK to choose; or one GPU each
    Source: NCCL src/init.cc (duplicate GPU)
    """
    nodes: dict[tuple[str, str], list[tuple[JudgedHost, list[str]]]] = {}
    for host in hosts:
        value = host.get("CUDA_VISIBLE_DEVICES")
        if value in (None, *_NOTHING) or host.get("RANK") is None or host.integer("NCCL_MULTI_RANK_GPU_ENABLE"):
            continue
        boot = host.facts.boot_id
        if isinstance(boot, Unknown):
            yield Unknown(boot.reason)
            continue
        name = or_none(host.facts.names.hostname) or host.facts.host
        nodes.setdefault((boot, name), []).append((host, str(value).split(",")))
    for (_, name), ranks in nodes.items():
        for device, owners in _first(ranks).items():
            if len({host.get("RANK") for host in owners}) > 1:
                numbers = ", ".join(sorted({host.get("RANK") or "" for host in owners})[:6])
                yield report.device(
                    f"GPU {escaped(device[:60])} of {escaped(name[:60])}",
                    f"{len(owners)} ranks use GPU {escaped(device[:60])}",
                    "give all ranks the whole list, and choose by LOCAL_RANK; or each its own GPU",
                    evidence=(f"first of CUDA_VISIBLE_DEVICES of ranks {escaped(numbers[:80])}",),
                )


def _first(ranks: Sequence[tuple[JudgedHost, list[str]]]) -> dict[str, list[JudgedHost]]:
    """GPU -> the ranks that take it. Where all have one and the same list, LOCAL_RANK chooses."""
    alike = len({tuple(words) for _, words in ranks}) == 1 and len(ranks[0][1]) > 1
    found: dict[str, list[JudgedHost]] = {}
    for host, words in () if alike else ranks:
        found.setdefault(words[0].strip(), []).append(host)
    return found


@across("CUD005", "info", needs=("rank",))
def other_gpu_order(hosts: Sequence[JudgedHost]) -> Results:
    """CUDA_VISIBLE_DEVICES has another order on other nodes.

    Why: The rank with the same number has another GPU there, and another adapter near it: rings change rails.
    Example: 0,1,2,3 on one node and 3,2,1,0 on another
    Instead: the same order everywhere
    Source: NCCL user guide, NCCL_CROSS_NIC
    """
    orders: dict[tuple[str, ...], dict[tuple[str, ...], list[str]]] = {}
    for host in hosts:
        words = tuple((host.get("CUDA_VISIBLE_DEVICES") or "").split(","))
        if len(words) > 1:
            orders.setdefault(tuple(sorted(words)), {}).setdefault(words, []).append(host.facts.host)
    for variants in orders.values():
        nodes = [set(names) for names in variants.values()]
        if len(variants) > 1 and not set.intersection(*nodes):
            least = min(variants, key=lambda words: len(variants[words]))
            yield report.variable(
                "CUDA_VISIBLE_DEVICES",
                f"GPUs come in {len(variants)} different orders",
                "set the same order on every node",
                evidence=(f"{escaped(','.join(least)[:80])} on {escaped(fold(variants[least])[:160])}",),
            )


@rule("CUD006", "info", needs=("nvidia",))
def mixed_gpus(host: JudgedHost) -> Results:
    """The host has GPUs of different models, and CUDA_DEVICE_ORDER is not PCI_BUS_ID.

    Why: CUDA counts the fastest first: its numbers are not those of nvidia-smi.
    Example: an L4 beside an H100
    Instead: CUDA_DEVICE_ORDER=PCI_BUS_ID
    Source: CUDA C++ programming guide, environment variables
    """
    if host.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID":
        return
    names = sorted({known(gpu.name) for gpu in host.gpus})
    if len(names) > 1:
        yield report.variable(
            "CUDA_DEVICE_ORDER",
            "numbers of GPUs differ between CUDA and nvidia-smi",
            "export CUDA_DEVICE_ORDER=PCI_BUS_ID",
            evidence=(escaped(", ".join(names)[:160]),),
            fix=report.export("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
        )


@rule("CUD007", "error", needs=("nvidia",))
def bad_gpu_list(host: JudgedHost) -> Results:
    """CUDA_VISIBLE_DEVICES has a blank, a GPU twice, or one that is not there.

    Why: CUDA stops at the first word that it does not accept: that GPU and all behind it are gone.
    Example: CUDA_VISIBLE_DEVICES=0,1,8
    Instead: CUDA_VISIBLE_DEVICES=0,1,7
    Source: CUDA C++ programming guide, environment variables
    """
    variable = host.variable("CUDA_VISIBLE_DEVICES")
    if variable is None or variable.value in _NOTHING:
        return
    words = variable.value.split(",")
    wrong = next(_wrong(words), None)
    if wrong is None and not _all_there(host, words):
        wrong = next(word for word in words if not _all_there(host, [word])), "is not there"
    if wrong:
        word, why = wrong
        yield report.better_unset(
            variable,
            f"{escaped(word[:60])!r} {why}: CUDA leaves it out, and all behind it",
            "write numbers from 0 on, or UUIDs of `nvidia-smi -L`, separated by commas",
            part=word,
        )


def _wrong(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for word in words:
        if word != word.strip() or not word:
            yield word, "has a blank" if word else "is empty"
        elif word in seen:
            yield word, "stands there twice"
        elif not (word.isascii() and word.isdecimal()) and not word.startswith(("GPU-", "MIG-")):
            yield word, "is no GPU"
        seen.add(word)


def _all_there(host: JudgedHost, words: Sequence[str]) -> bool:
    """Every word is a GPU of this host, as far as that is known. Raises NotKnown."""
    gpus = host.gpus
    uuids = [or_none(gpu.uuid) for gpu in gpus]
    for word in words:
        if word.isdecimal() and int(word[:6]) >= len(gpus):
            return False
        if word.startswith("GPU-") and None not in uuids and not any(str(one).startswith(word) for one in uuids):
            return False
    return True


@rule("CUD008", "error", needs=("nvidia",))
def container_without_nvml(host: JudgedHost) -> Results:
    """NVIDIA_DRIVER_CAPABILITIES leaves out `utility`.

    Why: The container gets no libnvidia-ml, which NCCL needs.
    Example: NVIDIA_DRIVER_CAPABILITIES=compute
    Instead: NVIDIA_DRIVER_CAPABILITIES=compute,utility
    Source: NCCL src/misc/nvmlwrap.cc; NVIDIA Container Toolkit, driver capabilities
    """
    variable = host.variable("NVIDIA_DRIVER_CAPABILITIES")
    if variable is None or not variable.value.strip() or isinstance(host.facts.nvidia.nvml, str):
        return
    words = {word.strip() for word in variable.value.lower().split(",")}
    if not words & {"utility", "all"}:
        yield report.about(
            variable,
            "the container has no libnvidia-ml",
            "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility",
            fix=report.export("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"),
        )
