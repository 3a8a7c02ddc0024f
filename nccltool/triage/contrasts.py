"""What experiments prove: clues from runs of one job that differ in one thing only (timeline/trials.py)."""

from collections.abc import Iterator

from nccltool.triage.causes.base import FITS, Clue
from nccltool.triage.incident import Offender
from nccltool.triage.timeline.model import Timeline
from nccltool.triage.timeline.trials import Contrast, switches_off

PROVES = 0.8
"""The strength of an experiment in which one thing was changed."""

_MECHANISMS = (
    ("p2p-acs-iommu", ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL")),
    ("shm-size", ("NCCL_SHM_DISABLE",)),
    ("nvlink-fabric", ("NCCL_NVLS_ENABLE",)),
    ("imex-mnnvl", ("NCCL_MNNVL_ENABLE",)),
    ("gdr-missing", ("NCCL_NET_GDR_", "NCCL_DMABUF_")),
    ("ib-config", ("NCCL_IB_", "UCX_IB_", "NVSHMEM_IB_", "NCCL_CROSS_NIC")),
    ("net-interface", ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_OOB_", "NCCL_SOCKET_FAMILY")),
    (
        "plugin",
        (
            "NCCL_NET_PLUGIN",
            "UCX_MODULE",
            "NCCL_TUNER_",
            "NCCL_PROFILER_",
            "NCCL_PROFILE_",
            "NCCL_NET",
            "FI_",
            "OFI_",
        ),
    ),
    ("collnet-sharp", ("NCCL_COLLNET_", "SHARP_", "UCC_")),
    ("topology", ("NCCL_TOPO_", "NCCL_GRAPH_")),
    ("nccl-bug", ("NCCL_", "RCCL_", "HSA_")),
)
"""Root cause -> beginnings of the variables that switch its mechanism off or around it; the first that fits."""
_OWN_FAULT = frozenset({"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"})
"""Variables that make a run bad by themselves: the setting is the cause, not what it switches off."""


_OF_FRAMEWORKS = (
    "PYTORCH_",
    "TORCH_",
    "VLLM_",
    "SGLANG_",
    "CUDA_LAUNCH_",
    "CUDA_DEVICE_MAX_",
    "CUDA_MODULE_",
    "HIP_",
)
"""Beginnings of variables of a program: of a run that they make bad, the setting is the cause."""
_SELECTS = frozenset({"NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_NET"})
"""Variables that only name the devices to take."""
_SAME_IN_BOTH = frozenset({"gpu-fault", "nvlink-fabric", "p2p-acs-iommu", "straggler-timeout", "app-error"})
"""What another version of NCCL does not mend."""
_CRASHES = ("app.segfault", "app.nccl-crash", "app.heap")
"""What no setting of NCCL may lead to."""


def clues(label: str, timeline: Timeline) -> Iterator[Clue]:
    """The reasons for or against a cause that the experiments in a log give."""
    for contrast in timeline.contrasts:
        if label == "none":
            if _cause(contrast):
                yield Clue(-PROVES, "one run is worse than another", contrast.bad)
        elif label == _cause(contrast):
            yield Clue(PROVES, _why(contrast), contrast.bad)
        elif contrast.what == "version" and label in _SAME_IN_BOTH:
            yield Clue(-PROVES, "another version of NCCL works with the same hosts and program", contrast.good)
        elif label == "slow-path" and contrast.outcome == "slow":
            yield Clue(FITS, "one run is slower than another", contrast.bad)


_BUILT_IN = ("IB", "Socket")
"""Networks that need no plugin."""
_PLUGINS = ("aws-ofi-nccl ", "aws-ofi-rccl ", "nccl-rdma-sharp-plugins ", "nccl-net ", "libfabric ", "nccl-plugin")


def _of_release(contrast: Contrast) -> str:
    if contrast.name.startswith("torch ") and contrast.bad.family in ("nccl", "cuda"):
        return "nccl-bug"  # that release came with another one
    if contrast.name.startswith(_PLUGINS):
        return "plugin"
    return "slow-path" if contrast.outcome == "slow" else "version-mismatch"


def _of_machines(contrast: Contrast) -> str | None:
    if contrast.what == "network":
        return "slow-path" if contrast.value.startswith(_BUILT_IN) else "plugin"
    return "slow-path" if contrast.what == "unknown" or contrast.outcome == "slow" else None


def _own_fault(contrast: Contrast) -> str | None:
    """Of a variable that makes a run bad by itself."""
    slow = "slow-path" if contrast.outcome == "slow" else "env-invalid"
    if contrast.name.startswith(_OF_FRAMEWORKS):
        return slow
    if contrast.name in _OWN_FAULT or contrast.name.startswith(("NCCL_ALGO", "NCCL_PROTO")):
        return slow if contrast.name == "NCCL_IB_DISABLE" else "env-invalid"
    return None


def _cause(contrast: Contrast) -> str | None:
    if contrast.outcome == "wrong":
        return "data-corruption"
    if contrast.what == "version":
        return "nccl-bug"
    if contrast.what == "release":
        return _of_release(contrast)
    if contrast.bad.kind in _CRASHES and contrast.name.startswith("NCCL_") and "PLUGIN" not in contrast.name:
        return "nccl-bug"
    if contrast.what != "setting":
        return _of_machines(contrast)
    if contrast.name.endswith("_IFNAME") and contrast.value == "lo" and not contrast.in_bad:
        return "net-unreachable"  # what works over the loopback does not leave its own host
    if contrast.outcome == "slow" and not contrast.in_bad and not switches_off(contrast.name, contrast.value):
        # left to itself, NCCL took worse devices; what another setting adds is no fault of the run without it
        return "slow-path" if contrast.name in _SELECTS else None
    if contrast.in_bad and (own := _own_fault(contrast)):
        return own
    return next((label for label, names in _MECHANISMS if contrast.name.startswith(names)), None)


def _why(contrast: Contrast) -> str:
    how = {"failed": "fails", "wrong": "gives wrong data", "slow": "is slower"}[contrast.outcome]
    match contrast.what:
        case "version":
            return f"the run with NCCL {contrast.name} {how}, another version does not"
        case "release":
            return f"the run with {contrast.name} {how}, the one with {contrast.value} does not"
        case "unknown":
            return "of two runs with the same sizes one is slower"
        case "network":
            return f"the run over {contrast.name} {how}, the one over {contrast.value} is not"
        case "hosts":
            return f"the run on {contrast.name} {how}, others do not"
    setting = f"{contrast.name}={contrast.value}"
    return f"the run {'with' if contrast.in_bad else 'without'} {setting} {how}"


_BY_THE_GOOD_RUN = ("ib-config", "data-corruption", "slow-path", "plugin")
"""Causes of which also the setting of the good run is what to look at."""


def offender(label: str, timeline: Timeline) -> Offender | None:
    """What an experiment for this cause changed."""
    for contrast in timeline.contrasts:
        if label != _cause(contrast):
            continue
        if contrast.what == "version":
            return Offender("library", contrast.name)
        if contrast.what == "release" and label != "nccl-bug":
            return Offender("library", contrast.name.partition(" ")[0])
        if contrast.what == "hosts":
            return Offender("host", contrast.name.partition(",")[0].partition(":")[0])
        if contrast.what == "setting" and (contrast.in_bad or label in _BY_THE_GOOD_RUN):
            return Offender(
                "plugin" if label == "plugin" and contrast.in_bad else "variable", _named(contrast, label)
            )
    return None


def _named(contrast: Contrast, label: str) -> str:
    return contrast.value.rpartition("/")[2] if label == "plugin" and contrast.in_bad else contrast.name
