"""Which defects of triage's catalog the releases, settings, and hardware of a host surely have. Pure.

Triage needs a symptom in a log. Before a job there is none, so a defect counts here only if it has conditions, and
all of them can be checked on the host, and hold.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import or_none
from nccltool.triage.defects import base
from nccltool.triage.defects.base import Condition, Defect, Releases
from nccltool.triage.defects.catalog import DEFECTS

_PACKAGES = {"megatron-core": "megatron"}
"""Package -> the name of the library in the catalog."""
_LONGEST = 200
"""Letters of a value that a condition can be about."""
_NVSHMEM = re.compile(r"nvidia-nvshmem-cu\d+")


@dataclass(frozen=True, slots=True)
class FoundDefect:
    """A defect whose conditions hold."""

    defect: Defect
    release: str
    variable: str | None
    """The setting that triggers it; None = only hardware, other releases, or the size of the job do."""

    @property
    def is_certain(self) -> bool:
        """A setting or a second release has a part in it: the job need not happen to be of the right kind."""
        return self.variable is not None or self.defect.beside is not None


@dataclass(frozen=True, slots=True)
class _Situation:
    """What conditions are about; hosts of a job mostly have the same."""

    releases: tuple[tuple[str, str], ...]
    """(library, release), by the names of the catalog."""
    settings: tuple[tuple[str, str], ...]
    hardware: frozenset[str]
    """The names of the GPUs and the processors."""
    nodes: int | None
    ranks: int | None
    """Of the whole job."""


def of(host: JudgedHost) -> tuple[FoundDefect, ...]:
    """The defects of a host, as far as they can be checked."""
    nodes = None if isinstance(host.nodes, Unknown) else host.nodes
    local_ranks = None if isinstance(host.local_ranks, Unknown) else host.local_ranks
    return _found(
        _Situation(
            releases=tuple(_releases(host)),
            settings=tuple((one.name, one.value) for one in host.settings.all() if len(one.value) <= _LONGEST),
            hardware=frozenset(_hardware(host)),
            nodes=nodes,
            ranks=nodes * local_ranks if nodes and local_ranks else None,
        )
    )


@lru_cache(maxsize=1024)
def _found(situation: _Situation) -> tuple[FoundDefect, ...]:
    known = dict(situation.releases)
    releases: Releases = {
        name: frozenset({numbers}) for name, text in known.items() if (numbers := base.release(text))
    }
    found = []
    for defect in DEFECTS:
        applies = defect.span.has(releases) and (defect.beside is None or defect.beside.has(releases))
        # a release alone proves nothing, and a setting that is missing hardly more
        has_conditions = defect.beside or not all(isinstance(one, base.Unset) for one in defect.needs)
        if applies and has_conditions and all(_holds(one, situation) for one in defect.needs):
            variable = next(_settings(defect, situation), None)
            found.append(FoundDefect(defect, known[defect.span.library], variable))
    return tuple(found)


def _releases(host: JudgedHost) -> Iterator[tuple[str, str]]:
    if not isinstance(host.nccl, Unknown):
        yield "RCCL" if host.library == "RCCL" else "NCCL", str(host.nccl)
    if not isinstance(host.torch, Unknown):
        yield "torch", str(host.torch)
    if driver := or_none(host.facts.nvidia.driver):
        yield "driver", driver
    for one in or_none(host.facts.versions.packages) or ():
        name = "NVSHMEM" if _NVSHMEM.fullmatch(one.name) else _PACKAGES.get(one.name)
        version = or_none(one.value)
        if name and version:
            yield name, version


def _hardware(host: JudgedHost) -> Iterator[str]:
    facts = host.facts
    found = [gpu.name for gpu in or_none(facts.nvidia.gpus) or ()]
    found += [gpu.gfx for gpu in or_none(facts.amd.gpus) or ()]
    yield from (one for one in (*found, facts.kernel.arch, facts.cpu.model) if isinstance(one, str))


def _holds(condition: Condition, situation: _Situation) -> bool:
    """Whether a condition surely holds; what only a log shows does not."""
    match condition:
        case base.Set(name=name, value=value):
            return any(one == name and text and re.search(value, text) for one, text in situation.settings)
        case base.Unset(name=name):
            return all(one != name for one, _ in situation.settings)
        case base.Nodes(least=least):
            return situation.nodes is not None and situation.nodes >= least
        case base.RankCount(least=least, most=most):
            return situation.ranks is not None and least <= situation.ranks <= most
        case base.Shows(text=text):
            lines = (*(f"{name}={value}" for name, value in situation.settings), *situation.hardware)
            return any(re.search(text, line) for line in lines)
        case _:
            return False


def _settings(defect: Defect, situation: _Situation) -> Iterator[str]:
    """The settings among the conditions of a defect."""
    for condition in defect.needs:
        for name, value in situation.settings:
            is_set = isinstance(condition, base.Set) and condition.name == name
            # as a log shows it
            is_shown = isinstance(condition, base.Shows) and re.search(condition.text, f"{name}={value}")
            if is_set or is_shown:
                yield name
