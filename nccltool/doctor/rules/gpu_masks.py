"""GPU masks that hide one another, or that a runtime reads differently."""

import re

from nccltool.core.text import counted
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text, known, rule
from nccltool.hosts import hip_mask

_INDICES = re.compile(r"\d{1,4}(,\d{1,4})*", re.ASCII)
_AMD_WORD = re.compile(r"\d{1,4}|GPU-[0-9a-fA-F]+|-1", re.ASCII)


@for_text("CUD011", "warning", "CUDA_VISIBLE_DEVICES", covers=())
def gpu_outside_container(host: JudgedHost, variable: Variable, text: str) -> Results:
    """CUDA_VISIBLE_DEVICES names a GPU that NVIDIA_VISIBLE_DEVICES keeps out of the container.

    Why: In a container, the GPUs of NVIDIA_VISIBLE_DEVICES are numbered from 0. CUDA stops at the first number
    that does not exist: that GPU and all after it are invisible.
    Example: NVIDIA_VISIBLE_DEVICES=2,3 and CUDA_VISIBLE_DEVICES=2,3
    Instead: NVIDIA_VISIBLE_DEVICES=2,3 and unset CUDA_VISIBLE_DEVICES
    Source: NVIDIA Container Toolkit, specialized configurations, GPU enumeration
    """
    given = host.get("NVIDIA_VISIBLE_DEVICES") or ""
    if not _INDICES.fullmatch(given) or not _INDICES.fullmatch(text):
        return
    left = len(set(given.split(",")))
    word = next((word for word in text.split(",") if int(word) >= left), None)
    if word is not None:
        message = f"names GPU {word}, but NVIDIA_VISIBLE_DEVICES leaves only {counted(left, 'GPU')}"
        yield report.better_unset(variable, message, part=word)


@for_text("CUD012", "warning", "CUDA_VISIBLE_DEVICES", covers=())
def several_mig_instances(_: JudgedHost, variable: Variable, text: str) -> Results:
    """CUDA_VISIBLE_DEVICES names several MIG instances.

    Why: A process sees only the first one, and NCCL does not connect instances of one GPU: ranks fail with an
    invalid or a duplicate device.
    Example: CUDA_VISIBLE_DEVICES=MIG-1,MIG-2
    Instead: one instance for each process, or GPUs without MIG
    Source: NVIDIA Multi-Instance GPU user guide, CUDA device enumeration
    """
    found = [word for word in text.split(",") if word.strip().startswith("MIG-")]
    if len(found) > 1:
        message = f"CUDA sees only the first of {len(found)} MIG instances"
        yield report.about(variable, message, "give each process one instance, or use GPUs without MIG")


@for_text("CUD013", "warning", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", covers=())
def odd_word_in_amd_mask(host: JudgedHost, variable: Variable, text: str) -> Results:
    """A mask of AMD GPUs contains something other than numbers and UUIDs, or contradicts CUDA_VISIBLE_DEVICES.

    Why: ROCm stops at the first word that it does not know: that GPU and all after it are invisible. Where HIP and
    CUDA masks differ, libraries disagree about which one holds, and Ray refuses to start.
    Example: HIP_VISIBLE_DEVICES=0-3
    Instead: HIP_VISIBLE_DEVICES=0,1,2,3
    Source: ROCm documentation, GPU isolation techniques
    """
    words = text.split(",")
    odd = next((word for word in words if not _AMD_WORD.fullmatch(word.strip())), None)
    other = host.get("CUDA_VISIBLE_DEVICES")
    if odd:
        message = f"{escaped(odd[:40])!r} is no GPU: ROCm ignores it and all entries after it"
        yield report.about(variable, message, "list numbers, separated by commas", part=odd)
        return
    # where ROCR_VISIBLE_DEVICES is set too, another rule judges
    alone = variable.name == "HIP_VISIBLE_DEVICES" and host.get("ROCR_VISIBLE_DEVICES") is None
    if alone and other and other.strip() != text.strip():
        message = f"CUDA_VISIBLE_DEVICES is different: {escaped(other[:40])}"
        yield report.about(variable, message, "set only one of the two", part="")


@for_text("CUD014", "warning", "NVIDIA_VISIBLE_DEVICES", covers=())
def container_without_gpus(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NVIDIA_VISIBLE_DEVICES keeps all GPUs out of a container that is to use NCCL.

    Why: torch finds no GPU, and NCCL cannot start.
    Example: NVIDIA_VISIBLE_DEVICES=none and NCCL_DEBUG=INFO
    Instead: NVIDIA_VISIBLE_DEVICES=all
    Source: NVIDIA Container Toolkit, specialized configurations, GPU enumeration
    """
    # `void` is what runtimes with CDI set in healthy containers
    if text.strip() == "none" and next(host.settings.beginning("NCCL_", "RCCL_"), None):
        yield report.better_set(variable, "all", "no GPU is in the container")


@for_text("CUD019", "warning", "NVIDIA_VISIBLE_DEVICES", covers=(), needs=("nvidia",))
def container_sees_more(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NVIDIA_VISIBLE_DEVICES names fewer GPUs than this process sees.

    Why: A privileged container, or one that mounts /dev, has all GPUs of the host whatever the variable says. Jobs
    of several pods then use the same GPUs.
    Example: two GPUs are named in a privileged pod, and eight are visible
    Instead: run the container without --privileged
    Source: NVIDIA Container Toolkit, specialized configurations, GPU enumeration
    """
    named_gpus = [word for word in text.split(",") if re.fullmatch(r"\d+|GPU-[0-9a-fA-F-]+", word.strip())]
    if not named_gpus or len(named_gpus) != len(text.split(",")) or host.get("CUDA_VISIBLE_DEVICES") is not None:
        return
    seen = known(host.facts.nvidia.visible_gpus)
    if seen > len(set(named_gpus)):
        message = f"it names {counted(len(set(named_gpus)), 'GPU')}, and this process sees {seen}"
        yield report.about(variable, message, "run the container without --privileged, and do not mount /dev")


_MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


@rule("CUD021", "warning", covers=(), needs=("versions", "amd", "nvidia"), library="RCCL")
def several_amd_masks(host: JudgedHost) -> Results:
    """Several variables mask AMD GPUs.

    Why: HIP numbers the GPUs that ROCR_VISIBLE_DEVICES leaves visible, and the two order GPUs differently, so the
    same list can mean different GPUs. Ray 2.45 refuses ROCR_VISIBLE_DEVICES. RCCL has crashed when
    HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES are both set, even to the same list.
    Example: ROCR_VISIBLE_DEVICES=0 and HIP_VISIBLE_DEVICES=0
    Instead: unset ROCR_VISIBLE_DEVICES, and keep HIP_VISIBLE_DEVICES=0
    Source: ROCm documentation, GPU isolation techniques; https://github.com/mcmonkeyprojects/SwarmUI/issues/565;
    https://github.com/ray-project/ray/issues/53737; https://github.com/vllm-project/vllm/pull/46851
    """
    found = [one for name in _MASKS if (one := host.variable(name)) is not None and one.value.strip()]
    is_amd = any(one.name != "CUDA_VISIBLE_DEVICES" for one in found)
    if len(found) < 2 or not is_amd or hip_mask.hidden_by_rocr({one.name: one.value for one in found}):
        return
    if len({one.value.strip() for one in found}) > 1 and found[0].name != "ROCR_VISIBLE_DEVICES":
        return  # CUD013 tells more
    extra, kept = (found[0], found[1]) if found[0].name == "ROCR_VISIBLE_DEVICES" else (found[-1], found[0])
    yield report.about(extra, f"{kept.name} is also set", f"set only {kept.name}")
