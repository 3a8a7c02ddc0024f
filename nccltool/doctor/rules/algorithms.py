"""NCCL_ALGO and NCCL_PROTO: words, forced choices, functions that are left without an algorithm."""

from collections.abc import Iterator, Mapping

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.hosts.nccl import values as nccl_values
from nccltool.hosts.nccl.settings import Variable
from nccltool.hosts.nccl.values import ALGORITHMS, FUNCTION_LISTS, FUNCTIONS, PROTOCOLS, Selection

_OF_CLOUDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gcp": {"NCCL_ALGO": ("ring", "ring,tree"), "NCCL_PROTO": ("simple", "simple,ll128")},
    "aws": {"NCCL_PROTO": ("simple",)},
    "oci": {"NCCL_ALGO": ("ring",)},
}
"""Published by the clouds for their own machines: cluster-toolkit, aws-ofi-nccl, oci-hpc."""
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


def _read(host: JudgedHost) -> Iterator[tuple[Variable, Selection]]:
    """NCCL_ALGO and NCCL_PROTO as they are set, with what NCCL makes of them."""
    for name, words in (("NCCL_ALGO", ALGORITHMS), ("NCCL_PROTO", PROTOCOLS)):
        variable = host.variable(name)
        if variable and variable.value:
            yield variable, nccl_values.selection(variable.value, words, host.settings.version)


def _published(host: JudgedHost, variable: Variable) -> bool:
    """Whether the maker of the platform publishes this value."""
    values = _OF_CLOUDS.get(str(host.facts.cloud.provider), {}).get(variable.name, ())
    return variable.value.lower() in values


@rule("ALG001", "error")
def unknown_algorithm(host: JudgedHost) -> Results:
    """A word in NCCL_ALGO or NCCL_PROTO is none that NCCL knows, or the list is not built as it must be.

    Why: From 2.24 on initialization fails; before, the word was dropped without a message.
    Example: NCCL_ALGO=Rings
    Instead: NCCL_ALGO=Ring
    Source: NCCL src/graph/tuning.cc (parseList)
    """
    what = {
        "word": "is no algorithm",
        "function": "is no function",
        "no function": "has no function, and only the first list may go without",
        "nothing": "names nothing; NCCL crashes on it",
    }
    for variable, selection in _read(host):
        for problem, word in selection.unknown:
            if problem == "word" and word.lower() == "collnet":
                continue  # ALG002
            known_words = ALGORITHMS if variable.name == "NCCL_ALGO" else PROTOCOLS
            kind = what[problem].replace("algorithm", "protocol" if variable.name == "NCCL_PROTO" else "algorithm")
            yield report.better_unset(
                variable,
                f"{escaped(word[:40])!r} in {variable.name} {kind}",
                f"correct the word, or unset {variable.name}",
                part=word,
                evidence=(f"known: {', '.join(FUNCTIONS if problem == 'function' else known_words)}",),
            )


@rule("ALG002", "error")
def collnet_without_kind(host: JudgedHost) -> Results:
    """NCCL_ALGO has the word CollNet, which was split in two.

    Why: From 2.14 on there are CollnetDirect and CollnetChain; the old word is unknown.
    Example: NCCL_ALGO=CollNet
    Instead: NCCL_ALGO=CollnetDirect,CollnetChain
    Source: NCCL user guide, NCCL_ALGO
    """
    for variable, selection in _read(host):
        if any(word.lower() == "collnet" for _, word in selection.unknown) and host.nccl_is(since=(2, 14, 3)):
            yield report.about(
                variable,
                f"NCCL {host.nccl} does not know CollNet",
                "write CollnetDirect, CollnetChain or both",
                part="CollNet",
            )


@rule("ALG003", "warning", needs=("cloud",))
def forced_algorithm(host: JudgedHost) -> Results:
    """NCCL_ALGO or NCCL_PROTO is set.

    Why: It switches the choice by size and topology off, for every size, and stays when a newer NCCL would do
    better.
    Example: NCCL_ALGO=Ring
    Instead: unset NCCL_ALGO; use it only while a defect is looked for
    Source: NCCL user guide, NCCL_ALGO and NCCL_PROTO
    """
    for variable, _ in _read(host):
        sharp = variable.value.lower() in _SHARP and host.integer("NCCL_COLLNET_ENABLE")
        if not _published(host, variable) and not sharp:
            yield report.better_unset(
                variable, f"{variable.name} takes the choice from NCCL, for every size", part=""
            )


@rule("ALG004", "error")
def function_without_algorithm(host: JudgedHost) -> Results:
    """NCCL_ALGO leaves a function without an algorithm that it can run with.

    Why: From 2.24 on NCCL does not fall back to Ring: the call fails. Broadcast and Reduce know Ring only;
    AllGather and ReduceScatter know no Tree; PAT needs one GPU a node.
    Example: NCCL_ALGO=Tree
    Instead: NCCL_ALGO=allreduce:Tree
    Source: NCCL src/graph/tuning.cc; https://github.com/pytorch/pytorch/issues/163063
    """
    variable = host.variable("NCCL_ALGO")
    if not variable or not variable.value:
        return
    selection = nccl_values.selection(variable.value, ALGORITHMS)
    left = {name: set(_USABLE[name]) & set(words) for name, words in selection.left.items()}
    short = [name for name, words in left.items() if not words]
    only_pat = [name for name, words in left.items() if words == {"PAT"}]
    if not (short or only_pat) or not host.nccl_is(since=FUNCTION_LISTS):
        return
    if only_pat and known(host.local_ranks) > 1:
        short += only_pat
    if short:
        yield report.better_unset(
            variable,
            f"NCCL_ALGO leaves no algorithm to {', '.join(short)}: their calls fail",
            f"name the function (allreduce:{escaped(variable.value[:40])}), or add Ring",
        )


@rule("ALG005", "error", needs=("cloud",))
def forced_ll128(host: JudgedHost) -> Results:
    """NCCL_PROTO asks for LL128.

    Why: LL128 relies on stores of 128 bytes that arrive whole. NCCL uses it where they do. Where the hardware may
    reorder them, as over PCIe or EFA, data is corrupted without a message.
    Example: NCCL_PROTO=LL128
    Instead: unset NCCL_PROTO
    Source: NCCL user guide, NCCL_PROTO; https://github.com/aws/aws-ofi-nccl/pull/359
    """
    for variable, selection in _read(host):
        if "LL128" in selection.named and not _published(host, variable):
            yield report.better_unset(
                variable,
                "LL128 is forced: it corrupts data on hardware that it is not made for",
                "unset NCCL_PROTO: NCCL uses LL128 where it is safe",
                part="LL128",
            )


@rule("ALG006", "warning")
def only_ll(host: JudgedHost) -> Results:
    """NCCL_PROTO leaves LL alone.

    Why: Half of what LL sends are flags, so that it cannot reach the bandwidth of the links.
    Example: NCCL_PROTO=LL
    Instead: unset NCCL_PROTO
    Source: NCCL user guide, NCCL_PROTO
    """
    for variable, selection in _read(host):
        if variable.name == "NCCL_PROTO" and ("LL",) in selection.left.values():
            yield report.better_unset(
                variable, "NCCL_PROTO leaves LL alone: half of the bandwidth is lost", "unset NCCL_PROTO", part=""
            )


@rule("ALG007", "info", needs=("cloud",))
def only_simple(host: JudgedHost) -> Results:
    """NCCL_PROTO leaves Simple alone.

    Why: Small messages take longer. Some plugins need it: TCPX, and OFI where writes may overtake each other.
    Example: NCCL_PROTO=Simple
    Instead: unset NCCL_PROTO, unless the platform asks for it
    Source: NCCL user guide, NCCL_PROTO
    """
    for variable, selection in _read(host):
        simple = variable.name == "NCCL_PROTO" and ("Simple",) in selection.left.values()
        if simple and not _published(host, variable):
            yield report.better_unset(
                variable,
                "NCCL_PROTO leaves Simple alone: small messages take longer",
                "unset NCCL_PROTO, unless the platform asks for it",
                part="",
            )


@rule("ALG008", "error")
def function_list_on_old_nccl(host: JudgedHost) -> Results:
    """NCCL_ALGO or NCCL_PROTO names functions, and this NCCL does not know such lists.

    Why: Releases before 2.24 take the whole text for one list and drop every word of it that has a : or ; in it.
    Example: NCCL_ALGO=allreduce:Tree with NCCL 2.21
    Instead: a plain list, or a newer NCCL
    Source: NCCL user guide, NCCL_ALGO
    """
    for variable, _ in _read(host):
        if (":" in variable.value or ";" in variable.value) and host.nccl_is(before=FUNCTION_LISTS):
            yield report.better_unset(
                variable,
                f"NCCL {host.nccl} does not know lists for functions",
                f"write a plain list, or unset {variable.name}",
            )


@rule("ALG009", "warning", needs=("plugins",))
def tuner_overruled(host: JudgedHost) -> Results:
    """A tuner plugin is there, and NCCL_ALGO or NCCL_PROTO makes it useless.

    Why: What is forced wins over the tuner; the tuner of AWS switches itself off.
    Example: NCCL_ALGO=Ring with libnccl-tuner.so
    Instead: one of the two
    Source: aws-ofi-nccl src/tuner/nccl_ofi_tuner.cpp
    """
    forced = list(_read(host))
    if not forced:
        return
    named = host.get("NCCL_TUNER_PLUGIN")
    tuner = named if named and named.lower() != "none" else None
    if named is None:
        found = [plugin.name for plugin in known(host.facts.plugins) if "tuner" in plugin.name]
        tuner = next((name for name in found if name == "libnccl-tuner.so"), None)
    for variable, _ in forced:
        if tuner:
            yield report.better_unset(
                variable, f"{variable.name} overrules the tuner {escaped(tuner[:80])}", part=""
            )


@rule("ALG010", "info")
def policy_overruled(host: JudgedHost) -> Results:
    """NCCL_CTA_POLICY asks for efficiency, and NCCL_ALGO or NCCL_PROTO makes that ineffective.

    Why: NCCL does not look at the policy when either is set.
    Example: NCCL_CTA_POLICY=EFFICIENCY and NCCL_PROTO=Simple
    Instead: one of the two
    Source: NCCL src/enqueue.cc
    """
    policy = host.get("NCCL_CTA_POLICY")
    if policy is None or not ("EFFICIENCY" in policy.upper() or policy.startswith("1")):
        return
    for variable, _ in _read(host):
        yield report.better_unset(
            variable, f"NCCL_CTA_POLICY={escaped(policy[:40])} has no effect while {variable.name} is set", part=""
        )
