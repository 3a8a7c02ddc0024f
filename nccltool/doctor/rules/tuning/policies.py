"""Policies and kernels that are chosen by name, and checks that are left on."""

import re

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.hosts.nccl import values

_SYMMETRIC = (
    *("AllReduce_AGxLL_R", "AllReduce_AGxLLMC_R", "AllReduce_RSxLD_AGxST", "AllReduce_RSxLDMC_AGxSTMC"),
    *("AllGather_LL", "AllGather_LLMC", "AllGather_ST", "AllGather_STMC", "AllGather_RailRing_LsaSTMC"),
    *("ReduceScatter_LL", "ReduceScatter_LD", "ReduceScatter_LDMC", "ReduceScatter_RailA2A_LsaLD"),
    *("ReduceScatter_RailA2A_LsaLDMC", "AllReduce_RSxTmaLD_AGxTmaST", "AllGather_TmaST", "AllGather_TmaSTMC"),
    "ReduceScatter_TmaLD",
)
"""Names of src/sym_kernels.cc."""


@rule("TUN016", "warning")
def large_cluster(host: JudgedHost) -> Results:
    """NCCL_CGA_CLUSTER_SIZE is above 8.

    Why: NCCL takes 8.
    Example: NCCL_CGA_CLUSTER_SIZE=16
    Instead: unset NCCL_CGA_CLUSTER_SIZE
    Source: NCCL user guide, NCCL_CGA_CLUSTER_SIZE
    """
    variable, size = host.variable("NCCL_CGA_CLUSTER_SIZE"), host.integer("NCCL_CGA_CLUSTER_SIZE")
    if variable and size is not None and size > 8:
        yield report.better_unset(variable, f"a cluster has at most 8 blocks, not {size}")


@rule("TUN017", "warning")
def unknown_policy(host: JudgedHost) -> Results:
    """A word in NCCL_CTA_POLICY is no policy.

    Why: NCCL ignores it. Words are separated by |, and blanks are not removed.
    Example: NCCL_CTA_POLICY=EFFICIENCY,ZERO
    Instead: NCCL_CTA_POLICY=EFFICIENCY
    Source: NCCL src/init.cc (getEnvCtaPolicyOnce)
    """
    variable = host.variable("NCCL_CTA_POLICY")
    if variable is None or not variable.value:
        return
    if variable.value[0].isascii() and variable.value[0].isdigit():
        wrong = [] if re.fullmatch("[0-2]", variable.value) else [variable.value]
    else:
        words = values.split(variable.value, "|")
        wrong = [word for word in words if word.upper() not in ("DEFAULT", "EFFICIENCY", "ZERO")]
    if wrong:
        yield report.better_unset(
            variable,
            f"{escaped(wrong[0][:40])!r} is no policy; NCCL ignores it",
            "correct the word, or unset NCCL_CTA_POLICY",
            part=wrong[0],
            evidence=("known: DEFAULT, EFFICIENCY, ZERO, separated by |",),
        )


@rule("TUN018", "warning")
def contrary_policies(host: JudgedHost) -> Results:
    """NCCL_CTA_POLICY has both ZERO and EFFICIENCY.

    Why: NCCL drops EFFICIENCY.
    Example: NCCL_CTA_POLICY=ZERO|EFFICIENCY
    Instead: NCCL_CTA_POLICY=ZERO
    Source: NCCL src/init.cc
    """
    variable = host.variable("NCCL_CTA_POLICY")
    words = {word.upper() for word in values.split(variable.value, "|")} if variable else set()
    if variable and {"ZERO", "EFFICIENCY"} <= words:
        yield report.about(
            variable,
            "NCCL drops EFFICIENCY when ZERO is there",
            "export NCCL_CTA_POLICY=ZERO",
            fix=report.export("NCCL_CTA_POLICY", "ZERO"),
        )


@rule("TUN021", "warning")
def unknown_device_policy(host: JudgedHost) -> Results:
    """NCCL_NETDEVS_POLICY is not AUTO, ALL or MAX:N.

    Why: NCCL takes AUTO.
    Example: NCCL_NETDEVS_POLICY=MAX
    Instead: NCCL_NETDEVS_POLICY=MAX:2
    Source: NCCL user guide, NCCL_NETDEVS_POLICY
    """
    variable = host.variable("NCCL_NETDEVS_POLICY")
    if variable and variable.value and not re.fullmatch(r"auto|all|max:0*[1-9]\d*", variable.value.lower()):
        yield report.better_unset(
            variable, "NCCL does not know this policy, and takes AUTO", "use AUTO, ALL or MAX:N, or unset it"
        )


@rule("TUN022", "error")
def unknown_symmetric_kernel(host: JudgedHost) -> Results:
    """NCCL_SYM_KERNEL names a kernel that there is not.

    Why: No symmetric kernel is left then, without a message. The name is compared exactly.
    Example: NCCL_SYM_KERNEL=AllGather
    Instead: unset NCCL_SYM_KERNEL
    Source: NCCL src/sym_kernels.cc
    """
    variable = host.variable("NCCL_SYM_KERNEL")
    if variable and variable.value not in ("^", *_SYMMETRIC):
        yield report.better_unset(
            variable,
            "NCCL knows no such kernel, and does without symmetric kernels",
            evidence=(f"known to 2.30: {', '.join(_SYMMETRIC[:4])}, ...",),
        )


@rule("TUN027", "warning")
def checks_left_on(host: JudgedHost) -> Results:
    """NCCL checks the arguments of every call.

    Why: It costs time at each call; DEBUG_GLOBAL also talks to the other ranks.
    Example: NCCL_CHECK_MODE=DEBUG_GLOBAL
    Instead: unset NCCL_CHECK_MODE
    Source: NCCL user guide, NCCL_CHECK_MODE and NCCL_CHECK_POINTERS
    """
    mode, pointers = host.variable("NCCL_CHECK_MODE"), host.variable("NCCL_CHECK_POINTERS")
    if mode and mode.value.upper() in ("DEBUG_LOCAL", "DEBUG_GLOBAL"):
        yield report.better_unset(mode, "NCCL checks every call", part="")
    if pointers and host.integer("NCCL_CHECK_POINTERS") == 1:
        yield report.better_unset(pointers, "NCCL checks every pointer", part="")


@rule("TUN028", "warning", needs=("nvidia",))
def graph_registration(host: JudgedHost) -> Results:
    """CUDA graphs register their buffers, in a process that drives several GPUs.

    Why: With CUDA graphs this can deadlock. One rank on a host with several visible GPUs may be such a process.
    Example: LOCAL_WORLD_SIZE=1 on 8 GPUs, NCCL_GRAPH_REGISTER=1
    Instead: NCCL_GRAPH_REGISTER=0, or a process for each GPU
    Source: NCCL user guide, NCCL_GRAPH_REGISTER
    """
    variable = host.variable("NCCL_GRAPH_REGISTER")
    if variable is None or host.integer("NCCL_GRAPH_REGISTER") in (0, None):
        return
    if known(host.local_ranks) == 1 and known(host.facts.nvidia.visible_gpus) > 1:
        yield report.about(
            variable,
            "one process sees several GPUs: with CUDA graphs their registration can deadlock",
            "export NCCL_GRAPH_REGISTER=0",
            fix=report.export("NCCL_GRAPH_REGISTER", "0"),
            part="",
        )
