"""torch's caching allocator: the options in its variables."""

import re
from collections.abc import Callable, Iterator

from nccltool.core.findings import Severity
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, for_text
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl import variables
from nccltool.hosts.nccl.settings import Variable

_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_SEGMENTS_ALONE = Version(2, 3)
"""The first release that ignores the size of splits for expandable segments."""
_SMALLEST_SPLIT_MB = 20
"""kLargeBuffer of c10/core/AllocatorConfig.h."""
_OPTIONS = (
    *(
        "max_split_size_mb",
        "max_non_split_rounding_mb",
        "garbage_collection_threshold",
        "roundup_power2_divisions",
    ),
    *("roundup_bypass_threshold_mb", "backend", "release_lock_on_cudamalloc", "release_lock_on_hipmalloc"),
    *("pinned_use_cuda_host_register", "pinned_use_hip_host_register", "pinned_num_register_threads"),
    *("pinned_use_background_threads", "pinned_reserve_segment_size_mb", "expandable_segments"),
    *("graph_capture_record_stream_reuse", "per_process_memory_fraction", "throw_on_cudamalloc_oom"),
)
_MOST_SLIPS = 2
_OPTION = re.compile(r"([^:,\[\]]*)(?::(\[[^\]]*\]|[^,\[\]]*))?(?:,|$)")


def _is_switch(value: str) -> bool:
    return value in ("True", "False")


def _is_large(value: str) -> bool:
    return value.isascii() and value.isdecimal() and int(value[:9]) >= _SMALLEST_SPLIT_MB


def _is_power_of_two(value: str) -> bool:
    if value.startswith("["):  # a list of sizes
        return True
    return value.isascii() and value.isdecimal() and int(value[:9]).bit_count() == 1


def _is_share(value: str) -> bool:
    return re.fullmatch(r"0?\.\d{1,30}", value) is not None and float(value) > 0


_EXPECTED: dict[str, tuple[str, Callable[[str], bool]]] = {
    "expandable_segments": ("True or False, in this case of letters", _is_switch),
    "max_split_size_mb": (f"a number from {_SMALLEST_SPLIT_MB}", _is_large),
    "max_non_split_rounding_mb": (f"a number from {_SMALLEST_SPLIT_MB}", _is_large),
    "garbage_collection_threshold": ("a share between 0 and 1", _is_share),
    "roundup_power2_divisions": ("a power of two, or a list in brackets", _is_power_of_two),
    "backend": ("native or cudaMallocAsync", lambda value: value in ("native", "cudaMallocAsync")),
}
"""What torch expects of these options, and whether a value is that; it refuses others."""


@for_text("TRC013", "error", *_VARIABLES, covers=())
def bad_allocator_option(host: JudgedHost, variable: Variable, text: str) -> Results:
    """An option of torch's allocator has no value, or one that torch refuses, or is newer than torch.

    Why: torch raises an error when it first uses a GPU. Options are written name:value and separated by commas.
    expandable_segments needs torch 2.1.
    Example: PYTORCH_CUDA_ALLOC_CONF=expandable_segments=True
    Instead: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    Source: pytorch c10/core/AllocatorConfig.h, c10/cuda/CUDAAllocatorConfig.cpp;
    https://github.com/ZhengPeng7/BiRefNet/issues/179
    """
    version = or_none(host.torch)
    if version and version < Version(2, 1) and "expandable_segments" in text:
        message = f"torch {version} raises an error: it does not know expandable_segments"
        yield report.better_unset(variable, message, part="expandable_segments")
        return
    for option, why in _wrong(re.sub(r"\s", "", text)):
        yield report.better_unset(variable, f"torch raises an error: {why}", part=option)
        return


def _wrong(text: str) -> Iterator[tuple[str, str]]:
    """(option, what torch objects to), in the order of the text."""
    if text.startswith(("'", '"')):
        yield text[:1], "the quotes are part of the value"
    for option in _OPTION.finditer(text):
        name, value = option[1], option[2]
        expected = _EXPECTED.get(name)
        if name and value is None:
            yield name, f"{escaped(name[:60])} has no value; write name:value"
        elif name not in _OPTIONS and (meant := _meant(name)):
            yield name, f"it knows no option {escaped(name[:60])}; did you mean {meant}?"
        elif expected and not expected[1](value):
            yield option[0].strip(","), f"{name} must be {expected[0]}"


def _meant(name: str) -> str | None:
    """The option of which a name is a slip away."""
    return next((one for one in _OPTIONS if name and variables.distance(name, one) <= _MOST_SLIPS), None)


@for_text("TRC016", "warning", *_VARIABLES, covers=())
def unsplit_segments(host: JudgedHost, variable: Variable, text: str) -> Results:
    """max_split_size_mb is set together with expandable_segments:True.

    Why: An expandable segment is never split. torch since 2.3 ignores max_split_size_mb; before, it released
    memory in the wrong way, which ended in an internal assertion or a lack of memory.
    Example: PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:500,expandable_segments:True
    Instead: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    Source: https://github.com/pytorch/pytorch/issues/119452; https://github.com/pytorch/pytorch/pull/120022
    """
    plain = re.sub(r"\s", "", text)
    if "expandable_segments:True" not in plain or "max_split_size_mb:" not in plain:
        return
    version = or_none(host.torch)
    ignored = version is not None and version >= _SEGMENTS_ALONE
    what = "torch ignores max_split_size_mb" if ignored else "torch before 2.3 fails when memory is short"
    kept = ",".join(word for word in plain.split(",") if not word.startswith("max_split_size_mb:"))
    message = f"{what}: expandable segments are never split"
    severity: Severity | None = "info" if ignored else None
    yield report.better_set(variable, kept, message, part="max_split_size_mb", severity=severity)


_OF_TORCH_ALONE = ("max_split_size_mb", "garbage_collection_threshold", "roundup_power2_divisions")


@for_text("TRC018", "warning", *_VARIABLES[:2], covers=())
def contradicting_allocators(host: JudgedHost, variable: Variable, text: str) -> Results:
    """Two variables of torch's allocator differ, or CUDA's own allocator is given torch's options.

    Why: torch reads one variable and ignores the other. The backend cudaMallocAsync has no expandable segments,
    and ignores the options for splitting, rounding, and collecting blocks.
    Example: PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync,expandable_segments:True
    Instead: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    Source: pytorch documentation, CUDA semantics, memory management; c10/core/AllocatorConfig.cpp
    """
    plain = re.sub(r"\s", "", text)
    other = host.get("PYTORCH_ALLOC_CONF")
    if other and other != text:
        yield report.about(variable, "PYTORCH_ALLOC_CONF has another value", "set only one of the two", part="")
    if "backend:cudaMallocAsync" in plain and "expandable_segments:True" in plain:
        message = "cudaMallocAsync has no expandable segments"
        yield report.about(variable, message, "remove one of the two options", part="expandable_segments:True")
    ignored = next((name for name in _OF_TORCH_ALONE if f"{name}:" in plain), None)
    if "backend:cudaMallocAsync" in plain and ignored:
        message = f"cudaMallocAsync ignores {ignored}"
        yield report.about(variable, message, f"remove {ignored} or the backend", part=ignored)


_ENGINES = {"VLLM_": "vLLM", "SGLANG_": "SGLang", "MOONCAKE_": "Mooncake"}


@for_text("TRC025", "warning", *_VARIABLES, covers=())
def segments_under_serving_engines(host: JudgedHost, variable: Variable, text: str) -> Results:
    """torch uses expandable segments, and the job runs vLLM, SGLang, or Mooncake.

    Why: Such memory is mapped with cuMemCreate, which has no handle for cudaIpcGetMemHandle: custom all-reduce of
    the engines ends with "invalid argument", or reads illegal addresses in CUDA graphs. vLLM's sleep mode refuses
    it, and Mooncake cannot register it for RDMA.
    Example: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True and VLLM_WORKER_MULTIPROC_METHOD=spawn
    Instead: unset PYTORCH_CUDA_ALLOC_CONF where the engine runs
    Source: vLLM vllm/device_allocator/cumem.py, csrc/custom_all_reduce.cuh; CUDA driver API, cuIpcGetMemHandle;
    https://github.com/kvcache-ai/Mooncake/issues/351
    """
    words = re.sub(r"\s", "", text).split(",")
    engine = next((name for start, name in _ENGINES.items() if any(host.settings.beginning(start))), None)
    if engine is None or "expandable_segments:True" not in words:
        return
    if host.local_ranks == 1 and engine != "Mooncake":
        return
    kept = ",".join(word for word in words if word != "expandable_segments:True")
    fix = report.export(variable.name, kept) if kept else report.unset(variable)
    message = f"{engine} cannot share memory of expandable segments between processes or register it"
    yield report.about(variable, message, part="expandable_segments:True", fix=fix)
