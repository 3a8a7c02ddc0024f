"""Differences between what the doctor expects and what NCCL reports, which are bugs in the doctor."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule, shortened
from nccltool.hosts.nccl import interfaces
from nccltool.hosts.nccl.settings import of

_REPORT = "report the bug with this output and that of `nccltool facts`; until it is fixed, trust NCCL"


@rule("ASK001", "warning", covers=(), needs=("env", "env_source", "conf_files"))
def different_variable(host: JudgedHost) -> Results:
    """After reading its configuration files, NCCL has a different value for a variable than the doctor expects.

    Why: The doctor's findings about this variable may be wrong.
    Example: an NCCL release that reads configuration files differently
    Instead: report the bug in the doctor
    Source: ncclGetUniqueId in the queried library
    """
    answer = known(host.answer)
    theirs = dict(answer.environment)
    mine = {one.name: one.value for one in of(host.facts, answer.version).beginning("NCCL_")}
    overridden = {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}
    for name in sorted((mine.keys() | theirs.keys()) - overridden):
        if mine.get(name) != theirs.get(name):
            message = (
                f"NCCL {answer.version} has a different value for {escaped(name[:80])} than the doctor expects"
            )
            lines = (f"doctor: {_shown(mine.get(name))}", f"NCCL: {_shown(theirs.get(name))}")
            yield report.variable(name, message, _REPORT, evidence=lines)


def _shown(value: str | None) -> str:
    return "not set" if value is None else escaped(shortened(value, 160))


@rule("ASK002", "warning", covers=(), needs=("env", "env_source", "conf_files", "network"))
def different_interface(host: JudgedHost) -> Results:
    """NCCL chooses a different bootstrap interface than the doctor expects.

    Why: The doctor's findings about interfaces may be wrong on this host.
    Example: an NCCL release that chooses interfaces differently
    Instead: report the bug in the doctor
    Source: ncclGetUniqueId in the queried library
    """
    answer = known(host.answer)
    choice = interfaces.bootstrap(of(host.facts, answer.version), host.facts.network)
    ours = choice.bootstrap
    chosen = (answer.interface, answer.address) if answer.interface and answer.address else None
    if (ours and (ours.name, ours.address)) != chosen:
        mine = f"{ours.name} {ours.address} ({choice.why})" if ours else f"none ({choice.failure})"
        theirs = f"{answer.interface} {answer.address}" if answer.interface else f"none ({answer.error})"
        message = f"NCCL {answer.version} chooses a different bootstrap interface than the doctor expects"
        lines = (f"doctor: {escaped(mine)}", f"NCCL: {escaped(theirs)}")
        yield report.interface(answer.interface or "none", message, _REPORT, evidence=lines)
