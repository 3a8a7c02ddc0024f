"""A network, tuner, or profiler plugin is missing, fails, or is incompatible.

## Meaning
NCCL loads plugins for networks (aws-ofi-nccl, FasTrak, gIB, HPC-X), tuning, and profiling. It could not use a
requested plugin.

## Impact
With NCCL_NET set, the job fails. Without it, NCCL falls back to its own transports and is slow, or ranks use
different networks.

## Verify
    grep -hE 'NET/(Plugin|OFI|FasTrak)|Using network' LOG | sort | uniq -c   # expected: the same on all hosts
    ldd /path/libnccl-net.so | grep 'not found'        # expected: nothing
    fi_info -p efa                                     # on EFA hosts; expected: one entry per device
    echo $LD_LIBRARY_PATH $NCCL_NET $NCCL_NET_PLUGIN $NCCL_TUNER_PLUGIN

## Causes
* The library is not in the image or not in the loader's search path.
* The library was built for a different version of NCCL, libfabric, or CUDA.
* The provider finds no device in this container.
* The plugin rejects its settings.

## Fix
Install the plugin version that matches this NCCL and platform on all hosts, or unset NCCL_NET NCCL_NET_PLUGIN
NCCL_TUNER_PLUGIN to run without it. Blast radius: this job; without the plugin it may be much slower.

## Escalate
Send the platform vendor the plugin version and the plugin's first error line.
"""

import re

from nccltool.triage.causes.base import (
    BUILT_IN,
    FITS,
    HINT,
    SAYS,
    TYPICAL,
    Clue,
    Clues,
    Given,
    Offender,
    Timeline,
    refused_by_plugin,
)

DECIDES = "`ldd` on the plugin library and its first error line with NCCL_DEBUG=INFO"

EXPLAINS = frozenset({"app-error", "nccl-bug", "ib-link", "other", "slow-path", "none"})

SOURCES = (
    "plugin/",
    r"[\w.]*_ofi_",
    r"ucx_\w+",
    "efa$",
    "cxi$",
    "opx$",
    "psm3$",
    "gin/",
    "rma/",
    r"(?:ext-)?profiler/",
)
SIGNS = {
    "plugin.fastrak-failed": (0.85, "the platform's network plugin failed"),
    "plugin.ofi-failed": (0.8, "the libfabric plugin failed"),
    "plugin.tuner-failed": (0.8, "a tuner plugin failed"),
    "plugin.no-rdma": (0.9, "UCX was loaded without its RDMA modules"),
    "plugin.no-gpu": (0.75, "UCX was loaded without its GPU modules"),
    "plugin.config": (0.8, "the plugin rejects its settings"),
}
SIGNS_OF_FAILURE = {
    "plugin.warned": (0.6, "a plugin logged a warning about an error"),
    "plugin.failed": (FITS, "a network plugin could not be initialized"),
    "plugin.unsupported": (FITS, "a plugin's interface is too old or too new"),
}
_NAME = re.compile(r"\b((?:NET|TUNER|PROFILER)/(?!Plugin|IB\b|Socket)[A-Za-z]\w*)")


def clues(timeline: Timeline) -> Given:
    yield from _crash(timeline)
    if event := timeline.first("plugin.none", where=lambda e: e.get("name").upper() not in BUILT_IN):
        yield Clue(SAYS, "no network plugin could be used", event)
    elif timeline.failed and (event := timeline.first("nccl.warning", where=lambda e: _WARNS.match(e.text))):
        yield Clue(0.44, "a plugin logged a warning", event)
    if (own := refused_by_plugin(timeline)) and timeline.failed:
        yield Clue(0.75, "the plugin that NCCL uses as its network could not set up its own connection", own)
    if event := timeline.first("plugin.broken"):
        strength = 0.8 if event.role == "failure" else (0.55 if timeline.failed else HINT)
        yield Clue(strength, "a plugin could not be loaded", event)
    if timeline.failed:
        if timeline.networks and not (own or timeline.variable("NCCL_NET") or timeline.has("plugin.none")):
            yield Clue(-HINT, "NCCL used another network and continued")
        return
    if timeline.has("job.judged-good"):
        return
    over_sockets = any("Socket" in name for name in timeline.networks)
    if over_sockets and timeline.has("plugin.broken"):
        yield Clue(TYPICAL, "NCCL uses sockets instead of a plugin that could not be loaded")
    absent, wanted = timeline.first("plugin.absent"), timeline.first("plugin.wanted")
    if over_sockets and absent and wanted and not timeline.has("plugin.loaded"):
        yield Clue(0.75, "NCCL did not find the network plugin that it was meant to use", absent)
    if over_sockets and timeline.has("plugin.ofi-failed", "plugin.fastrak-failed"):
        yield Clue(TYPICAL, "NCCL fell back to sockets", timeline.first("nccl.network"))


_WARNS = re.compile(r"(?:.* WARN )?(?:NET|TUNER|PROFILER|ENV)/(?!IB\b|IBext|Socket\b)\w")
"""How a warning begins that a plugin prints, or NCCL where it loads one."""
_ASKED = ("NCCL_PROFILER_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_NET_PLUGIN")


def _crash(timeline: Timeline) -> Given:
    """A process that crashed in a function of a plugin, or with one in it that few others use."""
    crashed = timeline.first("app.segfault", "app.nccl-crash")
    if event := timeline.first("app.plugin-crash"):
        yield Clue(0.85, f"the process crashed in {event.get('symbol')}", event)
    elif crashed and (timeline.has("nccl.external") or any(map(timeline.variable, _ASKED[:2]))):
        yield Clue(TYPICAL, "a process that had loaded a tuner or profiler plugin crashed", crashed)


def _asked(timeline: Timeline) -> Offender | None:
    """The plugin that somebody asked for, where one crashed."""
    if not timeline.has("app.plugin-crash", "app.segfault"):
        return None
    own = timeline.part("library", "app.plugin-crash", name="symbol")
    if own and own.name.endswith(".so"):
        return own
    named = timeline.part("plugin", "nccl.external", name="name")
    if named:
        return Offender("plugin", named.name.rpartition("/")[2])
    asked = next((Offender("plugin", value) for name in _ASKED if (value := timeline.variable(name))), None)
    return asked or timeline.part("plugin", "plugin.named", name="name")


_LOADING = re.compile(r"when loading (?P<name>lib\S+\.so\S*)")
"""The library that was to be loaded, where what it needs is missing."""


def _loading(clues: Clues) -> Offender | None:
    told = (match["name"] for event in clues.proofs() if (match := _LOADING.search(event.text)))
    return next((Offender("library", name) for name in told), None)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The plugin, by the name that its lines begin with."""
    if named := _asked(timeline):
        return named
    if loading := _loading(clues):
        return loading
    if missing := timeline.part("plugin", "plugin.none", name="name"):
        return missing
    if timeline.has("plugin.none") and (foreign := timeline.part("library", "plugin.no-symbol", name="name")):
        return foreign
    if refused := refused_by_plugin(timeline):
        return Offender("plugin", refused.text.partition(":")[0])
    for clue in sorted(clues, key=lambda clue: -clue.strength):
        if clue.event and (match := _NAME.search(clue.event.text)):
            own = timeline.variable(f"NCCL_{match[1].partition('/')[0]}_PLUGIN")
            if own and own.endswith(".so"):
                return Offender("library", own.rpartition("/")[2])
            return Offender("plugin", match[1])
    if not timeline.has("plugin.none", *SIGNS, *SIGNS_OF_FAILURE):
        asked = timeline.part("plugin", "plugin.named", name="name")
        if asked or (asked := timeline.part("plugin", "plugin.absent", name="name")):
            return asked
    kinds = ("plugin.none", "plugin.failed", "plugin.broken", "plugin.unsupported")
    return timeline.part("plugin", *kinds, name="name") or clues.host_or_rank()
