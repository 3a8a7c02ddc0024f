"""Channels and CTAs: how many NCCL makes."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, known, rule
from nccltool.hosts.facts import or_none

_COUNTS = (
    *("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"),
    *("NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"),
)

_MOST_CHANNELS, _MOST_BEFORE = 64, 32

_MANY = (2, 25, 1)
"""The release from which there are 64 channels; 32 before."""

_FEW_CHANNELS, _MANY_CHANNELS = 4, 32


def _crossed(host: JudgedHost, least: str, most: str, what: str) -> Results:
    low, high = host.integer(least), host.integer(most)
    variable = host.variable(least)
    if variable and low is not None and high is not None and high > 0 and low > high:
        yield report.better_unset(
            variable,
            f"{least} is above {most}: {what}",
            f"unset both, or make {least} at most {high}",
            evidence=(f"{most}={high}",),
        )


@rule("TUN007", "error")
def crossed_channel_limits(host: JudgedHost) -> Results:
    """NCCL_MIN_NCHANNELS is above NCCL_MAX_NCHANNELS.

    Why: NCCL applies one after the other, and the result is what neither says.
    Example: NCCL_MIN_NCHANNELS=16 and NCCL_MAX_NCHANNELS=8
    Instead: a minimum that is not above the maximum
    Source: NCCL src/graph/connect.cc
    """
    yield from _crossed(host, "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "neither holds")


@rule("TUN008", "error")
def crossed_cta_limits(host: JudgedHost) -> Results:
    """NCCL_MIN_CTAS is above NCCL_MAX_CTAS.

    Why: NCCL sets both to the maximum.
    Example: NCCL_MIN_CTAS=16 and NCCL_MAX_CTAS=8
    Instead: a minimum that is not above the maximum
    Source: NCCL src/init.cc
    """
    yield from _crossed(host, "NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL takes the maximum for both")


@rule("TUN009", "warning")
def channels_and_ctas(host: JudgedHost) -> Results:
    """A limit is set under its old and its new name, to different values.

    Why: The narrower one wins: the lower maximum, the higher minimum.
    Example: NCCL_MAX_NCHANNELS=16 and NCCL_MAX_CTAS=8
    Instead: NCCL_MAX_CTAS alone
    Source: NCCL user guide, NCCL_MAX_CTAS
    """
    for kind in ("MIN", "MAX"):
        variable = host.variable(f"NCCL_{kind}_NCHANNELS")
        old, new = host.integer(f"NCCL_{kind}_NCHANNELS"), host.integer(f"NCCL_{kind}_CTAS")
        if variable and old is not None and new is not None and old != new:
            yield report.better_unset(
                variable,
                f"{variable.name} and NCCL_{kind}_CTAS differ: the narrower one wins",
                part="",
                evidence=(f"NCCL_{kind}_CTAS={new}",),
            )


@rule("TUN010", "warning")
def ring_limits(host: JudgedHost) -> Results:
    """A limit is set under its oldest name, that of rings.

    Why: NCCL does not look at it when the name with NCHANNELS is set.
    Example: NCCL_MIN_NRINGS=8
    Instead: NCCL_MIN_CTAS=8
    Source: NCCL user guide, NCCL_MIN_NCHANNELS
    """
    for kind in ("MIN", "MAX"):
        variable = host.variable(f"NCCL_{kind}_NRINGS")
        if variable:
            yield report.better_unset(
                variable, f"{variable.name} is a name of NCCL 2.4", f"use NCCL_{kind}_CTAS, or unset it", part=""
            )


@rule("TUN011", "warning")
def too_many_channels(host: JudgedHost) -> Results:
    """More channels are asked for than there are.

    Why: NCCL cuts the number to 64, and to 32 before 2.25.
    Example: NCCL_MIN_NCHANNELS=128
    Instead: NCCL_MIN_NCHANNELS=64 at most
    Source: NCCL user guide; MAXCHANNELS in src/include/device.h
    """
    for name in _COUNTS:
        variable, count = host.variable(name), host.integer(name)
        if not variable or count is None or count <= _MOST_BEFORE:
            continue
        most = _MOST_CHANNELS if count > _MOST_CHANNELS or host.nccl_is(since=_MANY) else _MOST_BEFORE
        if count > most:
            yield report.better_unset(
                variable, f"NCCL has {most} channels, not {count}", f"at most {most}; better unset {name}"
            )


@rule("TUN012", "warning")
def no_channels(host: JudgedHost) -> Results:
    """A limit of channels is zero or negative.

    Why: NCCL takes a maximum of 1 for it, or ignores it.
    Example: NCCL_MAX_NCHANNELS=0
    Instead: unset NCCL_MAX_NCHANNELS
    Source: NCCL src/graph/connect.cc, src/init.cc
    """
    for name in _COUNTS:
        variable, count = host.variable(name), host.integer(name)
        if variable and count is not None and count <= 0 and count != -2:
            yield report.better_unset(variable, f"{count} channels cannot be had")


@rule("TUN013", "warning", needs=("rdma", "nvidia"))
def few_channels(host: JudgedHost) -> Results:
    """At most four channels are allowed on a host with many links.

    Why: A channel moves 10 to 20 GB/s; four cannot fill NVSwitch, nor four adapters.
    Example: NCCL_MAX_CTAS=4 on a host with 8 adapters
    Instead: unset NCCL_MAX_CTAS
    Source: NCCL user guide, NCCL_MAX_CTAS
    """
    for name in ("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"):
        variable, count = host.variable(name), host.integer(name)
        if variable and count is not None and 0 < count <= _FEW_CHANNELS:
            links = _links(host)
            if links:
                yield report.better_unset(
                    variable, f"{count} channels cannot fill the links of this host", evidence=(links,)
                )


def _links(host: JudgedHost) -> str:
    """Why this host needs many channels; '' = it does not."""
    devices, gpus = host.facts.rdma.devices, host.facts.nvidia.gpus
    if not isinstance(devices, Unknown) and len(devices) >= _FEW_CHANNELS:
        return f"{len(devices)} RDMA devices"
    if any(link.remote == "switch" for gpu in known(gpus) for link in (or_none(gpu.nvlinks) or ())):
        return "its GPUs are connected by NVSwitch"
    known(devices)
    return ""


@rule("TUN014", "warning")
def many_channels(host: JudgedHost) -> Results:
    """At least 32 channels are asked for.

    Why: Each collective takes so many multiprocessors from the computation that runs beside it.
    Example: NCCL_MIN_NCHANNELS=32
    Instead: unset NCCL_MIN_NCHANNELS, except for a benchmark
    Source: NCCL user guide, NCCL_MIN_CTAS
    """
    for name in ("NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS"):
        variable, count = host.variable(name), host.integer(name)
        if variable and count is not None and count >= _MANY_CHANNELS:
            yield report.better_unset(
                variable, f"each collective takes at least {count} multiprocessors from the computation"
            )


@rule("TUN015", "error")
def crossed_p2p_limits(host: JudgedHost) -> Results:
    """NCCL_MIN_P2P_NCHANNELS is above NCCL_MAX_P2P_NCHANNELS.

    Why: The minimum wins, and the maximum does not hold.
    Example: NCCL_MIN_P2P_NCHANNELS=16 and NCCL_MAX_P2P_NCHANNELS=8
    Instead: a minimum that is not above the maximum
    Source: NCCL src/graph/paths.cc
    """
    yield from _crossed(host, "NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS", "the maximum does not hold")
