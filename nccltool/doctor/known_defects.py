"""Which defects of triage's catalog the releases, settings, and hardware of a host surely have. Pure.

Triage needs a symptom in a log. Before a job there is none, so a defect counts here only if it has conditions, and
all of them can be checked on the host, and hold.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl.settings import Variable
from nccltool.triage.defects import base
from nccltool.triage.defects.base import Condition, Defect, Releases
from nccltool.triage.defects.catalog import DEFECTS

_PACKAGES = {"megatron-core": "megatron"}
"""Package -> the name of the library in the catalog."""
_NVSHMEM = re.compile(r"nvidia-nvshmem-cu\d+")


@dataclass(frozen=True, slots=True)
class FoundDefect:
    """A defect whose conditions hold."""

    defect: Defect
    release: str
    variable: Variable | None
    """The setting that triggers it; None = only hardware, other releases, or the size of the job do."""

    @property
    def is_certain(self) -> bool:
        """A setting or a second release has a part in it: the job need not happen to be of the right kind."""
        return self.variable is not None or self.defect.beside is not None


def of(host: JudgedHost) -> Iterator[FoundDefect]:
    """The defects of a host, as far as they can be checked."""
    known = _releases(host)
    releases: Releases = {
        name: frozenset({numbers}) for name, text in known.items() if (numbers := base.release(text))
    }
    for defect in DEFECTS:
        applies = defect.span.has(releases) and (defect.beside is None or defect.beside.has(releases))
        # a release alone proves nothing, and a setting that is missing hardly more
        has_conditions = defect.beside or not all(isinstance(one, base.Unset) for one in defect.needs)
        if applies and has_conditions and all(_holds(one, host) for one in defect.needs):
            yield FoundDefect(defect, known[defect.span.library], next(_settings(defect, host), None))


def _releases(host: JudgedHost) -> Mapping[str, str]:
    """The releases on this host, by the names of the catalog."""
    found: dict[str, str] = {}
    if not isinstance(host.nccl, Unknown):
        found["RCCL" if host.library == "RCCL" else "NCCL"] = str(host.nccl)
    if not isinstance(host.torch, Unknown):
        found["torch"] = str(host.torch)
    if driver := or_none(host.facts.nvidia.driver):
        found["driver"] = driver
    for one in or_none(host.facts.versions.packages) or ():
        name = "NVSHMEM" if _NVSHMEM.fullmatch(one.name) else _PACKAGES.get(one.name)
        version = or_none(one.value)
        if name and version:
            found[name] = version
    return found


def _holds(condition: Condition, host: JudgedHost) -> bool:
    """Whether a condition surely holds on this host; what only a log shows does not."""
    match condition:
        case base.Set(name=name, value=value):
            variable = host.variable(name)
            return variable is not None and bool(variable.value) and bool(re.search(value, variable.value))
        case base.Unset(name=name):
            return host.variable(name) is None
        case base.Nodes(least=least):
            return not isinstance(host.nodes, Unknown) and host.nodes >= least
        case base.RankCount(least=least, most=most):
            several = (host.nodes, host.local_ranks)
            nodes, ranks = (0 if isinstance(one, Unknown) else one for one in several)
            return bool(nodes and ranks) and least <= nodes * ranks <= most
        case base.Shows(text=text):
            return any(re.search(text, line) for line in (*map(_line, host.settings.all()), *_hardware(host)))
        case _:
            return False


def _line(variable: Variable) -> str:
    """A setting as a log shows it."""
    return f"{variable.name}={variable.value}"


def _hardware(host: JudgedHost) -> Iterator[str]:
    """The names of the GPUs and the processors."""
    facts = host.facts
    found = [gpu.name for gpu in or_none(facts.nvidia.gpus) or ()]
    found += [gpu.gfx for gpu in or_none(facts.amd.gpus) or ()]
    yield from (one for one in (*found, facts.kernel.arch, facts.cpu.model) if isinstance(one, str))


def _settings(defect: Defect, host: JudgedHost) -> Iterator[Variable]:
    """The settings among the conditions of a defect."""
    for condition in defect.needs:
        if isinstance(condition, base.Set) and (variable := host.variable(condition.name)):
            yield variable
        elif isinstance(condition, base.Shows):
            yield from (one for one in host.settings.all() if re.search(condition.text, _line(one)))
