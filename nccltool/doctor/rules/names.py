"""Names that nothing reads: misspelled, invented, removed, too new, or with the wrong prefix or case."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from nccltool.core.text import counted
from nccltool.doctor import report
from nccltool.doctor.rules.base import OLDEST, JudgedHost, Results, escaped, known, listed, rule
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl import neighbor_values, spelling, variables
from nccltool.hosts.nccl.settings import Variable
from nccltool.hosts.nccl.spelling import Guess

_PREFIX = re.compile(r"(NCCL|TORCH_NCCL|TORCH_FR|OFI_NCCL|GLOO|RCCL)_\S+")
"""Of names that are all known."""
_MOST = 200
"""Names nothing reads that are compared with the known ones, 2 ms each; no job has as many."""
_SURE = 1.5
"""Slips up to which a misspelling is a warning."""
_OF_OTHER_RELEASES = re.compile(
    r"OFI_NCCL_(DOMAIN_PER_THREAD|GIN_(GDAKI|STRONG_SIGNAL|TYPE)|ROUND_ROBIN_THRESHOLD|TOPO_FILE_\w+)"
)
"""Of aws-ofi-nccl; the catalog has those of its newest release."""
_OF_A_SCRIPT = re.compile(r"_(PATH|DIR|HOME|ROOT|FILE|URL|REPO|TAG|BRANCH|VERSION|ARGS|OPTS|FLAGS|CMD|BIN|LIB)$")
"""Ends of names by which scripts find what they install and start."""


OF_ANY_PROGRAM = ("HOME", "LD_LIBRARY_PATH", "LD_PRELOAD")


def is_judged(name: str) -> bool:
    """Whether a rule is about a variable, or can tell that its name is wrong."""
    if name in OF_ANY_PROGRAM:  # they bear on what is found elsewhere
        return False
    is_listed = name.upper() in variables.every() or name in neighbor_values.every()
    return is_listed or bool(_PREFIX.fullmatch(name) or spelling.meant(name))


def _unlisted(host: JudgedHost) -> Iterator[tuple[Variable, tuple[Guess, ...]]]:
    """The variables that nothing known reads, with what was probably meant; others' own names are left out."""
    found = 0
    for variable in host.settings.all():
        name = variable.name
        if spelling.is_known(name) or _other_prefix(name) or name.upper() in variables.every():
            continue
        guesses = spelling.meant(name) if found < _MOST else ()
        if guesses or _PREFIX.fullmatch(name):
            found += 1
            yield variable, guesses


def _has_one_reader(variable: Variable) -> bool:
    """Only torch, or only aws-ofi-nccl, reads names that begin so, in code that no plugin extends."""
    name = variable.name
    return name.startswith(("TORCH_NCCL_", "TORCH_FR_", "OFI_NCCL_")) and not _OF_OTHER_RELEASES.fullmatch(name)


def _other_prefix(name: str) -> str | None:
    """The name that is known, where only the prefix TORCH_ is wrong."""
    entries = variables.every()
    other = name.removeprefix("TORCH_") if name.startswith("TORCH_NCCL_") else f"TORCH_{name}"
    return other if name.startswith(("NCCL_", "TORCH_NCCL_")) and other in entries else None


def _surely_meant(name: str, guesses: tuple[Guess, ...]) -> str | None:
    """The one name that a name which nothing reads surely stands for."""
    is_sure = len(guesses) == 1 and guesses[0].cost <= _SURE and not guesses[0].is_opposite
    return guesses[0].name if is_sure else None


class _Names:
    """What stands for a name: variables that have it, and those that nothing reads and that surely mean it."""

    def __init__(self, host: JudgedHost) -> None:
        self._host = host

    @cached_property
    def _by_meaning(self) -> Mapping[str, tuple[Variable, ...]]:
        meant = defaultdict[str, list[Variable]](list)
        for variable in self._host.settings.all():
            name = variable.name
            upper = name.upper()
            right = name if spelling.is_known(name) else _other_prefix(name)
            if right or upper in variables.every():
                meant[right or upper].append(variable)
        for variable, guesses in _unlisted(self._host):
            if right := _surely_meant(variable.name, guesses):
                meant[right].append(variable)
        return {name: tuple(found) for name, found in meant.items()}

    def rename(self, variable: Variable, name: str) -> "_Rename":
        """A variable gets this name."""
        stands = self._by_meaning.get(name, ())
        others = sorted((one for one in stands if one.name != variable.name), key=lambda one: one.name)
        return _Rename(variable, name, tuple(others))

    def renamed(self, variable: Variable, name: str, why: str = "") -> report.RuleFinding:
        """The finding that it should have this name."""
        message = why or f"nothing reads {escaped(variable.name)}; the correct name is {name}"
        rename = self.rename(variable, name)
        return report.about(variable, message, rename.remedy, part="", fix=rename.fix)


@dataclass(frozen=True, slots=True)
class _Rename:
    """A variable gets its right name, and no other name for the same one is left."""

    variable: Variable
    name: str
    others: tuple[Variable, ...]
    """What else stands for the right name, or has it."""

    @property
    def is_clear(self) -> bool:
        """All have the same value."""
        return all(one.value == self.variable.value for one in self.others)

    @property
    def fix(self) -> tuple[report.Fix, ...]:
        if not self.is_clear:
            return ()
        wrong = report.unset(self.variable, *(one for one in self.others if one.name != self.name))
        is_set = any(one.name == self.name for one in self.others)
        return wrong if is_set else (*wrong, report.Fix(name=self.name, value=self.variable.value))

    @property
    def remedy(self) -> str:
        if any(one.name == self.name for one in self.others):
            return f"unset it: {self.name} is set{'' if self.is_clear else ' to another value'}"
        if self.is_clear:
            return f"rename it to {self.name}"
        return f"set {self.name} once: {listed((one.name for one in self.others), 3)} may mean it, too"


@rule("SYN001", "warning")
def unknown_variable(host: JudgedHost) -> Results:
    """A variable looks as if it belongs to NCCL, torch, or a library beside them, but none of them reads it.

    Why: Libraries look up exact names and never report an unknown one: a misspelled or invented variable has no
    effect. Outside of NCCL_ and TORCH_NCCL_, a name unlike any known variable may belong to an unknown library, so
    the finding is only a hint; so it is for the path of a script, and where the right name is set too.
    Example: NCCL_SOCKET_IFNMAE=eth0
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: NCCL src/misc/param.cc; https://github.com/NVIDIA/nccl/issues/516; the catalog of variables
    """
    version = or_none(host.nccl)
    newer = version is not None and version > variables.NEWEST
    evidence = (f"the catalog ends with NCCL {variables.NEWEST}; this is {version}",) if newer else ()
    spelled, unlisted = _Names(host), _unlisted(host)
    for variable, guesses in islice(unlisted, _MOST):
        names = " or ".join(guess.name for guess in guesses)
        opposite = any(guess.is_opposite for guess in guesses)
        # where it is set too, this is probably a name that the script chose
        is_set = any(host.get(guess.name) is not None for guess in guesses)
        sure = bool(guesses) and guesses[0].cost <= _SURE and not newer and not is_set
        meant = f"; did you mean {names}{', which does the opposite' if opposite else ''}?" if guesses else ""
        reserved = variable.name.startswith("NCCL_") and not newer and not _OF_A_SCRIPT.search(variable.name)
        rename = spelled.rename(variable, names) if len(guesses) == 1 and sure and not opposite else None
        remedy = f"rename it to {names}" if names else "pass --ignore SYN001 if a plugin reads it"
        yield report.about(
            variable,
            f"no known library reads {escaped(variable.name[:80])}{meant}",
            rename.remedy if rename and not rename.is_clear else f"{remedy} or unset it",
            part="",
            evidence=evidence,
            severity="warning" if sure or _has_one_reader(variable) or (reserved and not is_set) else "info",
            fix=rename.fix if rename else (),
        )
    if rest := [variable for variable, _ in unlisted]:
        message = f"no known library reads this one and {counted(len(rest) - 1, 'more variable')}"
        yield report.about(
            rest[0], message, "pass --ignore SYN001 if a plugin reads them", part="", severity="info"
        )


@rule("SYN002", "warning")
def invented_variable(host: JudgedHost) -> Results:
    """The variable is common in scripts, but no NCCL release has ever read it.

    Why: The script relies on an effect that does not exist.
    Example: NCCL_TIMEOUT=3600
    Instead: torch.distributed.init_process_group(timeout=...)
    Source: variable names in the source code of NCCL 2.3.5 to 2.30.7
    """
    for variable, entry in host.listed():
        if entry.status == "ghost":
            use = f"use {entry.instead}" if entry.instead else "unset it"
            yield report.better_unset(variable, f"no NCCL release reads {variable.name}", use, part="")


@rule("SYN003", "warning", library="NCCL")
def removed_variable(host: JudgedHost) -> Results:
    """This NCCL version no longer reads the variable.

    Why: The variable worked in older releases; newer ones ignore it without a message.
    Example: NCCL_TREE_THRESHOLD=0 with NCCL 2.5 or newer
    Instead: unset the variable or use its replacement
    Source: variable names in the source code of NCCL 2.3.5 to 2.30.7
    """
    for variable, entry in host.listed():
        removed = entry.removed_version if entry.status == "removed" and entry.component == "nccl" else None
        if removed is None:
            continue
        # no release of today reads it: which one it is does not matter
        version = f"NCCL since {removed}" if removed <= OLDEST else f"NCCL {known(host.nccl)}"
        if removed <= OLDEST or known(host.nccl) >= removed:
            message = f"{version} does not read {variable.name}: removed in {removed}"
            yield report.better_unset(variable, message, f"use {entry.instead}" if entry.instead else "", part="")


@rule("SYN004", "info", library="NCCL")
def variable_too_new(host: JudgedHost) -> Results:
    """This NCCL version does not read the variable yet.

    Why: Older releases ignore it; if versions are mixed, nodes behave differently.
    Example: NCCL_IB_FIFO_TC=84 with NCCL 2.21
    Instead: upgrade NCCL or unset the variable
    Source: variable names in the source code of NCCL 2.3.5 to 2.30.7
    """
    for variable, entry in host.listed():
        since = entry.since_version
        if since is not None and entry.status == "live" and since > known(host.nccl):
            message = f"NCCL {host.nccl} does not read {variable.name}: added in {since}"
            yield report.about(variable, message, f"unset {variable.name} or upgrade NCCL", part="")


@rule("SYN005", "warning")
def old_torch_name(host: JudgedHost) -> Results:
    """A torch variable has its old name, without TORCH_.

    Why: torch still reads the old name and prints a warning; NCCL itself never reads it.
    Example: NCCL_BLOCKING_WAIT=1
    Instead: TORCH_NCCL_BLOCKING_WAIT=1
    Source: pytorch ProcessGroupNCCL.hpp; https://github.com/pytorch/pytorch/issues/110723
    """
    spelled = _Names(host)
    for variable, entry in host.listed():
        if entry.status == "alias" and entry.instead and host.get(entry.instead) is None:
            yield spelled.renamed(variable, entry.instead, f"{variable.name} is the old name of {entry.instead}")


@rule("SYN006", "warning")
def two_torch_names(host: JudgedHost) -> Results:
    """A torch variable is set under its old and its new name, with different values.

    Why: torch uses the name with TORCH_; the other setting has no effect.
    Example: NCCL_BLOCKING_WAIT=1 and TORCH_NCCL_BLOCKING_WAIT=0
    Instead: set only TORCH_NCCL_BLOCKING_WAIT
    Source: pytorch ProcessGroupNCCL.hpp (lists of names)
    """
    for variable, entry in host.listed():
        other = host.variable(entry.instead) if entry.status == "alias" and entry.instead else None
        if other is not None and other.value != variable.value:
            message = f"{variable.name} and {other.name} have different values; torch uses {other.name}"
            evidence = (f"{escaped(other.origin)}: {other.name}={escaped(other.value[:80])}",)
            yield report.better_unset(variable, message, part="", evidence=evidence)


@rule("SYN007", "warning")
def wrong_prefix(host: JudgedHost) -> Results:
    """A variable name lacks the prefix TORCH_ or has it where it should not.

    Why: torch and NCCL read only their own names: TORCH_NCCL_DEBUG has no effect.
    Example: TORCH_NCCL_DEBUG=INFO
    Instead: NCCL_DEBUG=INFO
    Source: the catalog of variables (nccltool doctor --list-variables)
    """
    spelled = _Names(host)
    for variable in host.settings.beginning("NCCL_", "TORCH_NCCL_"):
        other = _other_prefix(variable.name) if variable.name not in variables.every() else None
        if other is not None:
            yield spelled.renamed(variable, other)


@rule("SYN008", "warning")
def wrong_case(host: JudgedHost) -> Results:
    """A variable name is in lower case.

    Why: Variable names are case-sensitive; nothing reads this one.
    Example: nccl_debug=INFO
    Instead: NCCL_DEBUG=INFO
    Source: getenv(3)
    """
    spelled = _Names(host)
    for variable in host.settings.all():
        upper = variable.name.upper()
        entry = variables.every().get(upper) if variable.name != upper else None
        if entry is not None and entry.component not in ("launcher", "cuda"):
            yield spelled.renamed(variable, upper)
