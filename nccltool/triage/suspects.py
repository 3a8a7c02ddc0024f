"""Whom the lines that prove a cause name, where the cause itself finds nobody."""

import re
from collections.abc import Iterable, Iterator

from nccltool.triage.causes.base import Clues
from nccltool.triage.incident import Offender
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline

_FILE = ("file", r"(?<![\w/])(?P<name>/(?:dev/shm|tmp|torch_|[\w.-]+/)[\w./-]*\w)")
_LIBRARY = ("library", r"(?P<name>\blib[\w+-]+\.so(?:\.\d+)*|nvidia-nccl-cu\d+(?:[- ]\d[\d.]*\d)?)")
_PROCESS = ("process", r"(?i)\b(?:pid|process)\b[ :=(]{1,3}(?P<name>\d{2,7})\b")
_ACTOR = ("process", r"\(pid=(?P<name>[a-z]\w*)\)")
_CONTAINER = ("container", r"(?i)\bcontainers?:? (?:- )?(?:name: )?(?P<name>[a-z][\w-]*)(?= reason| was using)")
_VICTIM = re.compile(
    r"(?i)\bworker \(pid(?:\(s\))? (?P<pid>\d+)\) is killed by signal"
    r"|\bcontainers?:? (?:- )?(?:name: )?(?P<container>[a-z][\w-]*)(?= reason| was using)"
)
_PORT = ("port", r"(?i)(?:\bport\b[ :=]{1,2}|:)(?P<name>\d{4,5})\b(?!:)")
_NODE = (
    "host",
    r"(?i)\b(?:node|host|worker|pod)(?:/| named |name[:=] ?| \(IP: |[ :=]{1,2})"
    r"(?P<name>[a-z][\w.-]*\d(?:[\w.-]*\w)?|\d+\.\d+\.\d+\.\d+)",
)
_ADDRESS = ("address", r"(?<![\d.])(?P<name>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d+)?)(?![\d.])")
_NIC_NAME = re.compile(r"\b(?:mlx[45]|bnxt_re|irdma|roce|rdmap|efa_|hfi|qedr|ionic)\w*\d\b")
_OF_NICS = frozenset({"ib-config", "ib-link", "gdr-missing"})
_NIC = ("device", r"\b(?P<name>(?:mlx[45]_|bnxt_re|irdma|roce|rdmap|efa_|hfi)\w*\d)\b")
_GPU = ("gpu", r"(?i)\b(?:device(?: ordinal)?|gpu|cuda)[ :#]{0,2}(?P<name>\d{1,2})\b")
_RANK = ("rank", r"(?i)\brank[ :=_]{0,2}(?P<name>\d{1,5})\b")
_BUS = ("gpu", r"\b(?P<name>[\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d)\b")
_HOST_LABELS = frozenset(
    {"nvlink-fabric", "imex-mnnvl", "gdr-missing", "topology", "ib-link", "ib-memlock", "slow-path", "plugin"}
    | {"ib-config"}
    | {
        "out-of-memory",
        "gpu-fault",
        "shm-size",
        "other",
        "fd-limit",
        "collnet-sharp",
        "data-corruption",
        "p2p-acs-iommu",
    }
    | {"preempted", "version-mismatch", "nccl-bug"}
)
"""Causes of which a host is what to look at, where the log shows one only."""

_NAMES = {
    "fd-limit": (_PROCESS, _ACTOR, _ADDRESS),
    "shm-size": (_FILE, _PROCESS),
    "version-mismatch": (_LIBRARY,),
    "plugin": (_LIBRARY,),
    "out-of-memory": (_NODE, _CONTAINER, _PROCESS, _RANK),
    "preempted": (_NODE,),
    "gpu-fault": (_GPU, _RANK),
    "ib-config": (_NIC, _NODE),
    "ib-link": (_NIC, _NODE),
    "ib-memlock": (_NIC,),
    "gdr-missing": (_NIC,),
    "slow-path": (_NIC,),
    "net-unreachable": (_NODE, _ADDRESS),
    "rdzv-store": (_PORT, _NODE, _ADDRESS),
    "peer-exited": (_NODE, _PROCESS),
    "collective-mismatch": (_RANK,),
    "data-corruption": (_RANK, _NODE),
    "duplicate-gpu": (_BUS,),
}
"""What the lines of a cause name, in the order in which it is worth looking at."""
_COMPILED = {label: [(kind, re.compile(text)) for kind, text in kinds] for label, kinds in _NAMES.items()}
_VARIABLE = (
    "variable",
    r"\b(?P<name>(?:(?:TORCH_)?NCCL|RCCL|UCX|FI|OFI_NCCL|GLOO|NVSHMEM|MASTER|VLLM|SHARP|CUDA|HIP|ROCR)_"
    r"[A-Z][A-Z0-9_]+"
    r"|(?:LOCAL_|NODE_)?RANK|WORLD_SIZE|OMP_NUM_THREADS)\b(?=[ =]|$)",
)
_INTERFACE = (
    "interface",
    r"\b(?P<name>(?:eth|ens?|enp|eno|bond|ib|docker|br-|virbr|veth|wlp|wlan|tun|tailscale)\w*\d[\w-]*)\b",
)
_KEYED = (
    "host",
    r"(?i)\b(?:node|host|hostname|vm|instance|machine|server|pod)[=:\"' ]{1,4}"
    r"(?P<name>[a-z][\w.-]*\d[\w.-]*\w|[a-z][\w]*\d)",
)
_LEADING = ("host", r"^\W{0,3}(?P<name>[a-z][a-z\d]*(?:-[a-z\d]+)*-?\d+)(?=[:\]\s])")
_ON = ("host", r"\b(?:on|from|at|of|to|with) (?P<name>[a-z]+[a-z\d]*-(?:[a-z\d]+-)*\d+)\b")
_PCI = ("device", _BUS[1])
_HOSTS = (_KEYED, _NODE, _LEADING, _ON)
_BY_HOST = (*_HOSTS, _NIC, _PCI, _GPU, _RANK, _PROCESS, _ADDRESS)
_BY_RANK = (_RANK, *_HOSTS, _PROCESS, _GPU, _ADDRESS)
_BY_NAME = {
    "env-invalid": (_VARIABLE,),
    "net-interface": (_VARIABLE, _INTERFACE, _ADDRESS, *_HOSTS),
    "net-unreachable": (*_HOSTS, _ADDRESS, _INTERFACE),
    "rdzv-store": (_PORT, *_HOSTS, _ADDRESS, _VARIABLE),
    "ib-config": (_NIC, _VARIABLE, *_HOSTS, _RANK),
    "version-mismatch": (_LIBRARY, *_HOSTS, _RANK),
    "plugin": (_LIBRARY, *_HOSTS, _VARIABLE),
    "topology": (_FILE, _PCI, *_HOSTS),
    "nccl-bug": (_LIBRARY, *_HOSTS),
    **dict.fromkeys(("collective-mismatch", "data-corruption", "app-error", "duplicate-gpu"), _BY_RANK),
}
"""What to look at first for a cause, in this order; for the others, the host before what is in it."""
_FALLBACK = {
    label: [(kind, re.compile(text)) for kind, text in _BY_NAME.get(label, _BY_HOST)] for label in (*_BY_NAME, "")
}
_LIMITS = {"fd-limit": "Too many open files", "ib-memlock": "ulimit -l"}
_MOST_PROOFS = 6
_ON_A_NODE = ("bench.device", "job.exit", "job.cancelled", "job.on-node", "shell.command")


def named(label: str, timeline: Timeline, clues: Clues) -> Offender | None:
    """The first name in the strongest lines; else the one host of the log."""
    found = next(_in_proofs(label, clues), None)
    if found or label not in _HOST_LABELS or _is_over_time(label, timeline):
        return found
    found = _only_nic(label, timeline) or _only_host(timeline) or _at_prompt(timeline, clues)
    return found or _limit(label, clues)


def _is_over_time(label: str, timeline: Timeline) -> bool:
    """Whether a job took too long, for which no host is to blame."""
    return label == "preempted" and timeline.has("job.time-limit")


def _limit(label: str, clues: Clues) -> Offender | None:
    """The limit, as the lines call it: a file that could not be opened is not to blame."""
    name = _LIMITS.get(label)
    return Offender("limit", name) if name and any(name in event.text for event in clues.proofs()) else None


def victim(label: str, clues: Clues) -> Offender | None:
    """The process or container that the strongest line says was killed, however its parent ended then."""
    event = next(iter(clues.proofs()), None) if label == "out-of-memory" else None
    match = _VICTIM.search(event.text) if event else None
    return Offender("process", match["pid"] or match["container"]) if match else None


def mentioned(label: str, timeline: Timeline, clues: Clues) -> Offender | None:
    """What the lines of a cause mention, where no rule of it finds anybody: only what has one name in all."""
    proofs = clues.proofs()[:_MOST_PROOFS]
    for kind, expression in _FALLBACK.get(label, _FALLBACK[""]):
        if label == "preempted" and kind in ("process", "rank"):
            continue  # whoever tells of a signal was only sent it
        if kind == "host" and _is_over_time(label, timeline):
            continue
        names = {match["name"] for event in proofs if (match := expression.search(event.text))}
        if kind == "host":
            names = names or {event.host for event in proofs if event.host}
        elif kind == "rank":
            names = names or {str(rank) for event in proofs if (rank := timeline.rank_of(event)) is not None}
        if len(names) == 1:
            return Offender(kind, names.pop())
    if label == "p2p-acs-iommu":
        return _iommu(proofs)
    return _meeting_place(timeline) if label == "rdzv-store" else None


_IOMMU = re.compile(r"\b(?:(?:intel|amd)_iommu=\w+|AMD-Vi|DMAR)\b")


def _iommu(proofs: Iterable[LogEvent]) -> Offender | None:
    """The IOMMU, as its kernel parameter or its driver is called."""
    named = (match[0] for event in proofs if (match := _IOMMU.search(event.text)))
    return next((Offender("kernel", name) for name in named), None)


def _meeting_place(timeline: Timeline) -> Offender | None:
    """The host that all ranks have to reach, as their program or somebody tells it."""
    told = timeline.part("host", "store.endpoint", name="host")
    host = timeline.variable("MASTER_ADDR") or ""
    return told or (Offender("host", host) if host[:1].isalnum() else None)


_OF_EACH = frozenset(
    {
        "shm-size",
        "fd-limit",
        "out-of-memory",
        "ib-memlock",
        "gpu-fault",
        "gdr-missing",
        "nvlink-fabric",
        "imex-mnnvl",
    }
)
"""Causes of which each line tells of the host or rank that wrote it, not of one that it waits for."""
_MOST_ALIKE = 8
"""Where more say the same, none of them stands out."""


def alike(label: str, timeline: Timeline, clues: Clues, first: Offender | None) -> tuple[Offender, ...]:
    """All hosts, or ranks, of which lines say the same as of the first; only it where nothing shows others."""
    if first is None:
        return ()
    if label not in _OF_EACH or first.kind not in ("host", "rank"):
        return (first,)
    proofs = [
        one for one in clues.proofs() if one.role == "failure" and _writer(timeline, one, first.kind) == first.name
    ]
    same = timeline.of(proofs[0].kind) if proofs else ()
    names = dict.fromkeys([first.name, *(name for one in same if (name := _writer(timeline, one, first.kind)))])
    return tuple(Offender(first.kind, name) for name in names) if len(names) <= _MOST_ALIKE else (first,)


def _writer(timeline: Timeline, event: LogEvent, kind: str) -> str:
    """The host or rank that wrote a line; empty where it is not known."""
    rank = timeline.rank_of(event)
    return event.host or "" if kind == "host" else "" if rank is None else str(rank)


def _only_nic(label: str, timeline: Timeline) -> Offender | None:
    """The NIC that commands name, where it is one."""
    if label not in _OF_NICS:
        return None
    typed = _nics(timeline.of("shell.command", "bench.command"))
    names = typed or _nics(timeline.everything())
    return Offender("device", names.pop()) if len(names) == 1 else None


def _nics(events: Iterable[LogEvent]) -> set[str]:
    return {name for event in events for name in _NIC_NAME.findall(event.text)}


def _in_proofs(label: str, clues: Clues) -> Iterator[Offender]:
    for event in clues.proofs()[:_MOST_PROOFS]:
        for kind, expression in _COMPILED.get(label, ()):
            if match := expression.search(event.text):
                yield Offender(kind, match["name"])


def _only_host(timeline: Timeline) -> Offender | None:
    """The host, where the lines are of one only."""
    told = {event.host for event in timeline.everything() if event.host} | set(timeline.host_names)
    told |= {event.get("node") for event in timeline.of(*_ON_A_NODE)} - {""}
    return Offender("host", told.pop()) if len(told) == 1 else None


def _at_prompt(timeline: Timeline, clues: Clues) -> Offender | None:
    """The host in the prompt of the command that printed the strongest line."""
    for event in clues.proofs()[:1]:
        typed = [one for one in timeline.of("shell.command") if one.file == event.file and one.line <= event.line]
        if typed and typed[-1].get("node"):
            return Offender("host", typed[-1].get("node"))
    return None
