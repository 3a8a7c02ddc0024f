"""NCCL_ALGO and NCCL_PROTO: unknown names, forced choices, and functions left without an algorithm."""

import re
from collections.abc import Mapping, Sequence

from nccltool.core.findings import Severity
from nccltool.core.text import nearest
from nccltool.doctor import report
from nccltool.doctor.rules.base import OLDEST, JudgedHost, Results, escaped, for_text, known
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import Variable
from nccltool.hosts.nccl.values import ALGORITHMS, FUNCTION_LISTS, FUNCTIONS, PROTOCOLS, Selection

_WORDS = {"NCCL_ALGO": ALGORITHMS, "NCCL_PROTO": PROTOCOLS}
_WORD = re.compile(r"[A-Za-z0-9]+")
_LONGEST = 200
"""Characters of a value whose names are compared with the known ones."""
_OF_CLOUDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gcp": {"NCCL_ALGO": ("ring", "ring,tree"), "NCCL_PROTO": ("simple", "simple,ll128")},
    "aws": {"NCCL_PROTO": ("simple",)},
    "oci": {"NCCL_ALGO": ("ring",)},
}
"""Published by the clouds for their own machines: cluster-toolkit, aws-ofi-nccl, oci-hpc."""
_PLUGINS = {"gcp": "NCCL_FASTRAK_"}
"""Variables that only the plugin of one cloud reads."""
_SHARP = ("collnetchain", "collnetdirect")
"""CoreWeave publishes NCCL_ALGO=COLLNETCHAIN for clusters with SHARP."""
_USABLE = {
    "Broadcast": ("Ring",),
    "Reduce": ("Ring",),
    "AllGather": ("Ring", "NVLS", "CollNetDirect", "PAT"),
    "ReduceScatter": ("Ring", "NVLS", "CollNetDirect", "PAT"),
    "AllReduce": tuple(name for name in ALGORITHMS if name != "PAT"),
}
"""What each function can run with: ncclTopoTuneModel in src/graph/tuning.cc."""


def _selected(host: JudgedHost, variable: Variable) -> Selection:
    """What NCCL makes of NCCL_ALGO or NCCL_PROTO."""
    return values.selection(variable.value, _WORDS[variable.name], host.settings.version)


def _respelled(text: str, known: Sequence[str]) -> str:
    """A list with each misspelled name as it was probably meant."""
    names = {name.lower(): name for name in (*known, *FUNCTIONS)}

    def meant(found: re.Match[str]) -> str:
        word = found[0].lower()
        return found[0] if word in names else names.get(nearest(word, names), found[0])

    return _WORD.sub(meant, text[:_LONGEST])


def _published(host: JudgedHost, variable: Variable) -> bool:
    """Whether the maker of the platform publishes this value."""
    plugins = (cloud for cloud, prefix in _PLUGINS.items() if any(host.settings.beginning(prefix)))
    of_cloud = _OF_CLOUDS.get(next(plugins, str(host.facts.cloud.provider)), {})
    return variable.value.lower() in of_cloud.get(variable.name, ())


@for_text("ALG001", "warning", *_WORDS)
def unknown_algorithm(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_ALGO or NCCL_PROTO contains a name that NCCL does not know, or a malformed list.

    Why: Since 2.24, initialization fails; earlier releases dropped the name without a message.
    Example: NCCL_ALGO=Rings
    Instead: NCCL_ALGO=Ring
    Source: NCCL src/graph/tuning.cc (parseList)
    """
    what = {
        "word": "is not a protocol" if variable.name == "NCCL_PROTO" else "is not an algorithm",
        "function": "is not a function",
        "no function": "has no function, which only the first list may omit",
        "nothing": "is empty; NCCL crashes on it",
    }
    for problem, word in _selected(host, variable).unknown:
        if problem == "word" and word.lower() == "collnet":
            continue  # ALG002
        message = f"{word[:40]!r} in {variable.name} {what[problem]}"
        right = _respelled(variable.value, _WORDS[variable.name]) if problem in ("word", "function") else ""
        is_meant = right not in ("", variable.value) and not values.selection(right, _WORDS[variable.name]).unknown
        remedy = (
            f"set {variable.name}={right} or unset it"
            if is_meant
            else f"correct the name or unset {variable.name}"
        )
        lines = (f"known: {', '.join(FUNCTIONS if problem == 'function' else _WORDS[variable.name])}",)
        severity = host.if_nccl_is("error", FUNCTION_LISTS, other="warning")
        yield report.better_unset(variable, message, remedy, part=word, evidence=lines, severity=severity)


@for_text("ALG002", "warning", *_WORDS)
def collnet_without_kind(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_ALGO contains CollNet, which NCCL has split into two algorithms.

    Why: NCCL 2.14 replaced it with CollnetDirect and CollnetChain and no longer knows the old name.
    Example: NCCL_ALGO=CollNet
    Instead: NCCL_ALGO=CollnetDirect,CollnetChain
    Source: NCCL user guide, NCCL_ALGO
    """
    words = {word.lower() for _, word in _selected(host, variable).unknown}
    version = or_none(host.nccl)
    if "collnet" in words and (version is None or version >= OLDEST):
        message = f"NCCL {version or f'since {OLDEST}'} does not know CollNet"
        remedy, severity = (
            "write CollnetDirect, CollnetChain, or both",
            host.if_nccl_is("error", FUNCTION_LISTS, other="warning"),
        )
        yield report.about(variable, message, remedy, part="CollNet", severity=severity)


@for_text("ALG003", "info", *_WORDS, needs=("cloud",))
def forced_algorithm(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_ALGO or NCCL_PROTO is set.

    Why: A fixed setting replaces NCCL's own choice by size and topology, even when a newer NCCL would choose
    better.
    Example: NCCL_ALGO=Ring
    Instead: unset NCCL_ALGO; set it only while debugging
    Source: NCCL user guide, NCCL_ALGO and NCCL_PROTO
    """
    sharp = text.lower() in _SHARP and host.integer("NCCL_COLLNET_ENABLE")
    if not _published(host, variable) and not sharp:
        message = f"{variable.name} overrides NCCL's own choice for every message size"
        yield report.better_unset(variable, message, part="")


@for_text("ALG004", "error", "NCCL_ALGO")
def function_without_algorithm(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_ALGO leaves a function without any algorithm it can use.

    Why: Since 2.24, NCCL does not fall back to Ring, and the call fails; before, it ignores the variable for such
    a function. Broadcast and Reduce support only Ring, AllGather and ReduceScatter do not support Tree, and PAT
    needs one GPU per node.
    Example: NCCL_ALGO=Tree
    Instead: NCCL_ALGO=allreduce:Tree
    Source: NCCL src/graph/tuning.cc; https://github.com/pytorch/pytorch/issues/163063
    """
    text = _respelled(text, ALGORITHMS)  # a name that is misspelled is for ALG001
    chosen = values.selection(text, ALGORITHMS).left
    left = {name: set(_USABLE[name]) & set(words) for name, words in chosen.items()}
    short = [name for name, words in left.items() if not words]
    only_pat = [name for name, words in left.items() if words == {"PAT"}]
    version = or_none(host.nccl)
    old = version is not None and version < FUNCTION_LISTS
    if only_pat and not old and known(host.local_ranks) > 1:
        short += only_pat
    if short:
        what = f"fail since NCCL {FUNCTION_LISTS}" if old or not version else "fail"
        message = f"NCCL_ALGO leaves no algorithm for {', '.join(short)}: these calls {what}"
        message += f"; NCCL {version} ignores the variable for them" if old else ""
        plain = not re.search("[:;^]", text)  # else it names functions, or what to leave out
        name = f"name the function (NCCL_ALGO=allreduce:{escaped(text[:40])}) or " if plain else ""
        remedy = f"{'' if old else name}add Ring"  # an old release does not read lists of functions
        severity: Severity | None = "warning" if old or not version else None
        yield report.better_unset(variable, message, remedy, severity=severity)


@for_text("ALG005", "warning", *_WORDS, needs=("cloud", "rdma", "nvidia"))
def forced_ll128(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_PROTO asks for LL128.

    Why: LL128 relies on 128-byte stores arriving whole, and NCCL uses it only on hardware that guarantees this. If
    stores may be reordered, as over PCIe or EFA, data is silently corrupted.
    Example: NCCL_PROTO=LL128
    Instead: unset NCCL_PROTO
    Source: NCCL user guide, NCCL_PROTO; https://github.com/aws/aws-ofi-nccl/pull/359
    """
    if "LL128" in _selected(host, variable).named and not _published(host, variable):
        message = "LL128 is forced: on hardware that does not support it, it silently corrupts data"
        remedy = "unset NCCL_PROTO: NCCL uses LL128 where it is safe"
        reorders = any(device.driver == "efa" for device in or_none(host.facts.rdma.devices) or ())
        gpus = or_none(host.facts.nvidia.gpus) or ()
        # copied from Google's profile, and of the machine nothing tells that it is another
        google = variable.value.lower() in _OF_CLOUDS["gcp"].get(variable.name, ()) and not gpus
        severity: Severity | None = "error" if reorders else "info" if google else None
        yield report.better_unset(variable, message, remedy, part="LL128", severity=severity)


@for_text("ALG006", "warning", "NCCL_PROTO")
def only_ll(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_PROTO allows only LL.

    Why: Half of the data that LL sends is flags, so it cannot reach link bandwidth.
    Example: NCCL_PROTO=LL
    Instead: unset NCCL_PROTO
    Source: NCCL user guide, NCCL_PROTO
    """
    if ("LL",) in _selected(host, variable).left.values():
        yield report.better_unset(variable, "NCCL_PROTO allows only LL: half of the bandwidth is lost", part="")


@for_text("ALG007", "info", "NCCL_PROTO", needs=("cloud",))
def only_simple(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_PROTO allows only Simple.

    Why: Small messages take longer. The TCPX plugin needs Simple; so does OFI if writes may arrive out of order.
    Example: NCCL_PROTO=Simple
    Instead: unset NCCL_PROTO, unless the platform requires it
    Source: NCCL user guide, NCCL_PROTO
    """
    if ("Simple",) in _selected(host, variable).left.values() and not _published(host, variable):
        message = "NCCL_PROTO allows only Simple: small messages take longer"
        yield report.better_unset(variable, message, "unset NCCL_PROTO, unless the platform requires it", part="")


@for_text("ALG008", "warning", *_WORDS)
def function_list_on_old_nccl(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_ALGO or NCCL_PROTO contains per-function lists, which this NCCL does not support.

    Why: Releases before 2.24 read the whole value as one list and drop every name with a `:` or `;` in it.
    Example: NCCL_ALGO=allreduce:Tree with NCCL 2.21
    Instead: use a plain list or upgrade NCCL
    Source: NCCL user guide, NCCL_ALGO
    """
    if (":" in text or ";" in text) and host.nccl_is(before=FUNCTION_LISTS):
        remedy = f"write a plain list or unset {variable.name}"
        yield report.better_unset(variable, f"NCCL {host.nccl} does not support per-function lists", remedy)


@for_text("ALG009", "info", *_WORDS, needs=("plugins",))
def tuner_overruled(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_ALGO or NCCL_PROTO overrides an installed tuner plugin.

    Why: A forced choice overrides the tuner; the AWS tuner disables itself.
    Example: NCCL_ALGO=Ring with libnccl-tuner.so
    Instead: use either the variable or the tuner plugin
    Source: aws-ofi-nccl src/tuner/nccl_ofi_tuner.cpp
    """
    tuner = host.get("NCCL_TUNER_PLUGIN")
    if tuner is None and any(plugin.name == "libnccl-tuner.so" for plugin in known(host.facts.plugins)):
        tuner = "libnccl-tuner.so"
    if tuner and tuner.lower() != "none":
        message = f"{variable.name} overrides the tuner {escaped(tuner[:80])}"
        yield report.better_unset(variable, message, part="")


@for_text("ALG010", "info", *_WORDS)
def policy_overruled(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_CTA_POLICY requests efficiency, but has no effect while NCCL_ALGO or NCCL_PROTO is set.

    Why: NCCL ignores the policy when either variable is set.
    Example: NCCL_CTA_POLICY=EFFICIENCY and NCCL_PROTO=Simple
    Instead: set only one of the two variables
    Source: NCCL src/enqueue.cc
    """
    policy = host.get("NCCL_CTA_POLICY") or ""
    if "EFFICIENCY" in policy.upper() or policy.startswith("1"):
        message = f"NCCL_CTA_POLICY={escaped(policy[:40])} has no effect while {variable.name} is set"
        yield report.better_unset(variable, message, part="")
