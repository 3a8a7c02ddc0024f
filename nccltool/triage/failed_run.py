"""After a failed run: what its logs say beyond its findings.

The runner sees processes: who died, who is silent. Logs see causes. What they say is told beside what the runner
found, never in its place, and never at the price of the run's result.
"""

import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from nccltool.core import external_commands
from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding, Subject, define
from nccltool.core.verdicts import Verdict
from nccltool.triage.incident import Incident

CONFIDENCE = 0.5
"""Below it a root cause is a guess, and a run that failed has enough to read."""
KERNEL_S = 2.0
"""How long dmesg may take."""
_ECHOES = frozenset({"none", "other", "peer-exited", "straggler-timeout"})
"""Root causes that are echoes in logs (a peer was lost, a rank is late) or none: the runner knows more, for it
sees the processes themselves."""
TRIAGE = define("triage", "note", "info")


def findings(info: RunInfo, verdict: Verdict, known: Sequence[Finding], folder: Path) -> tuple[Finding, ...]:
    """What to add to the findings that are known of a run. It looks only at a run that failed."""
    errors = [finding for finding in known if finding.is_error]
    if not errors or verdict.exit_code not in (1, 3):
        return ()
    from nccltool.triage import run as triage_run  # takes longer to import than a run that went well should wait

    try:
        incident = triage_run.of_run(folder, info.command, _of_the_kernel(info))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the run has its own result
        return (_could_not(error, folder),)
    if incident is None or incident.confidence < CONFIDENCE or _is_known(incident, errors):
        return ()
    return (_finding(incident, errors, folder),)


def _of_the_kernel(info: RunInfo) -> Mapping[str, bytes]:
    """What the kernel of this host has said since the run began; nothing where it may not be read."""
    since = datetime.fromisoformat(info.started).astimezone()
    done = external_commands.run(("dmesg", "--ctime", "--since", f"{since:%Y-%m-%d %H:%M:%S}"), KERNEL_S)
    said = done.out.encode() if isinstance(done, external_commands.Done) and done.code == 0 else b""
    return {f"kernel log of {platform.node()}": said}


def _is_known(incident: Incident, errors: Sequence[Finding]) -> bool:
    """Whether the findings say it already; another offender is something new."""
    if incident.root_cause in _ECHOES:
        return True
    alike = [finding for finding in errors if incident.root_cause in finding.kind.root_causes]
    return any(not _differs(incident, finding) for finding in alike)


def _differs(incident: Incident, finding: Finding) -> bool:
    """Whether both name somebody of the same kind, and not the same one."""
    offender, subject = incident.offender, finding.subject
    return offender is not None and offender.kind == subject.kind and offender.name != subject.name


def _finding(incident: Incident, errors: Sequence[Finding], folder: Path) -> Finding:
    by_logs = incident.findings[0]
    offender = f", {incident.offender.kind} {incident.offender.name}" if incident.offender else ""
    other = next((finding for finding in errors if _differs(incident, finding)), None)
    both = f"; the run names {other.subject.kind} {other.subject.name} ({other.code})" if other else ""
    return TRIAGE.finding(
        subject=by_logs.subject,
        message=f"the logs show {incident.root_cause}{offender} (confidence {incident.confidence:.2f}){both}:"
        f" {by_logs.message}",
        evidence=(*by_logs.evidence, f"{incident.lines_read} lines read: {folder / 'log.txt'}, kernel log"),
        remedy=by_logs.remedy,
        page=by_logs.page,
    )


def _could_not(error: Exception, folder: Path) -> Finding:
    return TRIAGE.finding(
        subject=Subject(kind="file", name=str(folder / "log.txt")),
        message=f"triage of the run's logs failed: {type(error).__name__}: {error}",
        remedy=f"nccltool triage {folder / 'log.txt'}",
    )
