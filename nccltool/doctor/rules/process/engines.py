"""Variables of serving engines and trainers: switches that any value turns on, contradictions, and old names."""

import re
from collections.abc import Mapping, Sequence

from nccltool.core.text import counted, named
from nccltool.core.versions import parse
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text, for_value, known, rule
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl import engine_names

_OFF = re.compile(r"(?i)\s*(0|false|no|off|n)\s*")
_PRESENT: Mapping[str, str] = {
    "MC_FORCE_TCP": "Mooncake uses TCP instead of RDMA",
    "MC_FORCE_HCA": "Mooncake installs RDMA even without an adapter",
    "MC_USE_IPV6": "Mooncake listens on IPv6 addresses",
    "MC_DISABLE_METACACHE": "Mooncake asks the metadata server each time",
    "MC_ENABLE_DEST_DEVICE_AFFINITY": "Mooncake pairs adapters of the same name",
    "MC_LEGACY_RPC_PORT_BINDING": "Mooncake takes the port that the caller names",
    "MC_USE_TENT": "Mooncake uses its new engine",
    "MC_USE_TEV1": "Mooncake uses its new engine",
}
"""Its effect, whatever the value is."""


@for_text("PLG035", "warning", *_PRESENT, covers=())
def off_value_turns_on(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A Mooncake switch is set to 0 or false, which turns it on.

    Why: Mooncake checks only whether the variable is set.
    Example: MC_FORCE_TCP=0
    Instead: unset MC_FORCE_TCP
    Source: kvcache-ai/Mooncake, mooncake-transfer-engine/src/config.cpp, transfer_engine_impl.cpp
    """
    if _OFF.fullmatch(text):
        yield report.better_unset(variable, f"any value turns it on: {_PRESENT[variable.name]}")


_DAY_MIN = 24 * 60


@for_text("TRC026", "warning", "DEEPSPEED_TIMEOUT", covers=())
def minutes_for_seconds(_: JudgedHost, variable: Variable, text: str) -> Results:
    """DEEPSPEED_TIMEOUT is a day or longer, because DeepSpeed reads minutes.

    Why: A hung job keeps its GPUs until then. Most of torch's timeouts are in seconds.
    Example: DEEPSPEED_TIMEOUT=3600, which is 60 hours
    Instead: DEEPSPEED_TIMEOUT=60
    Source: deepspeedai/DeepSpeed, deepspeed/constants.py
    """
    if text.strip().isdecimal() and len(text) < 10 and int(text) >= _DAY_MIN:
        message = f"DeepSpeed reads {int(text)} minutes, which is {int(text) // 60} hours"
        yield report.about(variable, message, "give the timeout in minutes")


_DEVICE = re.compile(r"(eth|ens|eno|bond)\d+|enp\d+s\d+\w*")


@for_text("PLG036", "warning", "MOONCAKE_DEVICE", covers=())
def interface_for_rdma(host: JudgedHost, variable: Variable, text: str) -> Results:
    """MOONCAKE_DEVICE names a network interface, but Mooncake is set to use RDMA.

    Why: Mooncake looks for RDMA adapters such as mlx5_0, and finds none with this name.
    Example: MOONCAKE_DEVICE=eth0 and MOONCAKE_PROTOCOL=rdma
    Instead: MOONCAKE_DEVICE=mlx5_0
    Source: kvcache-ai/Mooncake, mooncake-transfer-engine/src/topology.cpp
    """
    if (host.get("MOONCAKE_PROTOCOL") or "").strip() == "rdma":
        name = next((word for word in text.split(",") if _DEVICE.fullmatch(word.strip())), None)
        if name is not None:
            remedy = "list adapters as `rdma link` shows them"
            message = f"{name.strip()} is a network interface, not an RDMA adapter"
            yield report.about(variable, message, remedy, part=name.strip())


_ATTENTION = ("NVTE_FLASH_ATTN", "NVTE_FUSED_ATTN", "NVTE_UNFUSED_ATTN")
_CONTRADICTED = ("VLLM_DP_RANK", "VLLM_RAY_BUNDLE_INDICES", "MC_ENABLE_HCA_PEER_AFFINITY", *_ATTENTION)


@rule("CON012", "warning", about=_CONTRADICTED, covers=())
def engine_settings_contradict(host: JudgedHost) -> Results:
    """Variables of an engine contradict each other.

    Why: The engine ends with an error, ignores both, or waits for ranks that are never started.
    Example: VLLM_DP_RANK=4 and VLLM_DP_SIZE=4
    Instead: VLLM_DP_RANK=3 and VLLM_DP_SIZE=4
    Source: vLLM vllm/config/parallel.py, v1/executor/ray_utils.py; Mooncake
    mooncake-transfer-engine/src/config.cpp; Transformer Engine dot_product_attention.py
    """
    rank, size = host.variable("VLLM_DP_RANK"), _number(host, "VLLM_DP_SIZE") or 1
    number = _number(host, "VLLM_DP_RANK")
    if rank is not None and number is not None and number >= size:
        message = f"vLLM numbers {counted(size, 'rank')} from 0 to {size - 1}"
        yield report.about(rank, message, "set VLLM_DP_SIZE to the number of ranks, and number them from 0")
    bundles = host.variable("VLLM_RAY_BUNDLE_INDICES")
    words = [word.strip() for word in bundles.value.split(",")] if bundles else []
    if bundles and len(set(words)) < len(words):
        yield report.about(bundles, "vLLM refuses a bundle that is named twice", "name each bundle once")
    affinity, other = host.variable("MC_ENABLE_HCA_PEER_AFFINITY"), host.variable("MC_ENABLE_DEST_DEVICE_AFFINITY")
    if affinity and other and affinity.value.strip().lower() in ("1", "true"):
        message = f"Mooncake ignores it and {other.name}: only one of the two can be set"
        yield report.about(affinity, message, f"unset one of {affinity.name} and {other.name}")
    attention = [one for name in _ATTENTION if (one := host.variable(name)) and one.value.strip() == "0"]
    if len(attention) == len(_ATTENTION):
        message = "no attention backend is left, so Transformer Engine ends with an error"
        yield report.about(attention[0], message, f"unset one of {named(list(_ATTENTION), 3)}")


def _number(host: JudgedHost, name: str) -> int | None:
    text = (host.get(name) or "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


_ENGINES: Sequence[tuple[str, str, str]] = (("VLLM_", "vllm", "vLLM"),)


@rule("SYN023", "warning", covers=(), needs=("versions",))
def removed_from_engine(host: JudgedHost) -> Results:
    """The installed vLLM no longer reads the variable.

    Why: A command-line option replaced it, or the feature was removed. vLLM warns about an unknown variable and
    continues without it.
    Example: VLLM_ATTENTION_BACKEND=FLASHINFER with vLLM 0.18
    Instead: vllm serve --attention-backend FLASHINFER
    Source: vllm/envs.py of vLLM 0.8.5 to 0.33.0; vllm/platforms/interface.py (validate_environ)
    """
    for beginning, package, engine in _ENGINES:
        gone = [one for one in host.settings.beginning(beginning) if one.name in engine_names.removed()]
        if not gone:
            continue
        found = {one.name: or_none(one.value) for one in known(host.facts.versions.packages)}
        version = parse(found.get(package) or "")
        for variable in gone:
            since = parse(engine_names.removed()[variable.name])
            if version is not None and since is not None and version >= since:
                message = f"{engine} {escaped(str(version))} no longer reads {variable.name}: removed in {since}"
                yield report.better_unset(variable, message, part="")


@for_value("P2P034", "warning", "GGML_CUDA_P2P", covers=(), needs=("nvidia",))
def peer_access_of_llama(host: JudgedHost, variable: Variable, text: str) -> Results:
    """GGML_CUDA_P2P lets llama.cpp copy directly between GPUs that are not known to have NVLink.

    Why: Over PCIe, an IOMMU or ACS may drop such copies without an error: output is corrupt, or the program
    crashes. Any value turns it on, even 0.
    Example: GGML_CUDA_P2P=1 on a host with PCIe GPUs
    Instead: unset GGML_CUDA_P2P
    Source: https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md (Peer Access);
    https://github.com/unslothai/unsloth/blob/main/studio/NVLINK_P2P.md
    """
    gpus = or_none(host.facts.nvidia.gpus) or ()
    joined = [gpu for gpu in gpus if any(link.active for link in or_none(gpu.nvlinks) or ())]
    if len(gpus) == 1 or (gpus and len(joined) == len(gpus)):
        return
    off = " (any value turns it on)" if _OFF.fullmatch(text) else ""
    yield report.better_unset(variable, f"copies between GPUs without NVLink may be lost{off}")
