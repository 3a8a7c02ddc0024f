"""After a failed run: what its logs say beyond its findings.

The runner sees processes: who died, who is silent. Logs see causes. What they say is told beside what the runner
found, never in its place, and never at the price of the run's result.
"""

import platform
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from nccltool.core import external_commands, user_files
from nccltool.core.documents import RunInfo
from nccltool.core.errors import NccltoolError
from nccltool.core.findings import Finding, Subject, define
from nccltool.core.text import whole
from nccltool.core.verdicts import Verdict
from nccltool.triage.incident import Incident, Offender

CONFIDENCE = 0.58
"""Below it a root cause is a guess, and a run that failed has enough to read. Signs that only fit, as a death by
SIGKILL fits the OOM killer, come to 0.54 (`triage.judge`); a line that says what happened comes to more."""
KERNEL_S = 2.0
"""How long dmesg may take."""
_ECHOES = frozenset({"none", "other", "peer-exited", "straggler-timeout"})
"""Root causes that are echoes in logs (a peer was lost, a rank is late) or none: the runner knows more, for it
sees the processes themselves."""
_SEEN = ("rank", "host")
"""What a run names from what it saw itself."""
_KILLED = re.compile(r"(?:[Kk]illed process |oom-kill:[^\n]*?\bpid=)(\d{1,9})")
_OF_MEMORY = re.compile(r"oom|out of memory|killed process", re.IGNORECASE)
_SPAWNED = re.compile(rb'"event":"spawned","rank":(\d{1,9}),[^\n]*?"pid":(\d{1,9})')
TRIAGE = define("triage", "note", "info")


def findings(info: RunInfo, verdict: Verdict, known: Sequence[Finding], folder: Path) -> tuple[Finding, ...]:
    """What to add to the findings that are known of a run. It looks only at a run that failed."""
    errors = [finding for finding in known if finding.is_error]
    if not errors or verdict.exit_code not in (1, 3):
        return ()
    from nccltool.triage import run as triage_run  # takes longer to import than a run that went well should wait

    try:
        incident = triage_run.of_run(folder, info.command, _of_the_kernel(info, folder))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the run has its own result
        return (_could_not(error, folder),)
    if incident is None or incident.confidence < CONFIDENCE or _is_known(incident, errors):
        return ()
    offender = _whose(incident.offender, folder)
    if _contradicts(incident.offender, errors, info.hosts) or _is_another_rank(offender, errors):
        return ()
    return (_finding(incident, offender, folder),)


def _of_the_kernel(info: RunInfo, folder: Path) -> Mapping[str, bytes]:
    """What the kernel of this host has said since the run began; nothing where it may not be read."""
    since = datetime.fromisoformat(info.started).astimezone()
    done = external_commands.run(("dmesg", "--ctime", "--since", f"{since:%Y-%m-%d %H:%M:%S}"), KERNEL_S)
    said = done.out if isinstance(done, external_commands.Done) and done.code == 0 else ""
    return {f"kernel log of {platform.node()}": _about(said, _processes(folder)).encode()}


def _about(said: str, processes: Mapping[int, int]) -> str:
    """Without what the kernel says of memory, where it killed no process of the run, but one of somebody else.

    In a container the kernel's numbers of processes are others than ours: no kill counts there.
    """
    killed = {int(pid) for pid in _KILLED.findall(said)}
    if not killed or killed & processes.keys():
        return said
    return "".join(line for line in said.splitlines(keepends=True) if not _OF_MEMORY.search(line))


def _processes(folder: Path) -> dict[int, int]:
    """The rank of each process of the run on any host, as its events name them."""
    try:
        events = user_files.contents(folder / "events.jsonl", silence_s=0)
    except NccltoolError:
        return {}
    return {int(pid): int(rank) for rank, pid in _SPAWNED.findall(events)}


def _whose(offender: Offender | None, folder: Path) -> Offender | None:
    """A process by its rank; that of an agent or of somebody else is told by the evidence alone."""
    if offender is None or offender.kind != "process":
        return offender
    process = whole(offender.name)
    rank = None if process is None else _processes(folder).get(process)
    return None if rank is None else Offender("rank", str(rank))


def _is_known(incident: Incident, errors: Sequence[Finding]) -> bool:
    """Whether the findings say it already."""
    return incident.root_cause in _ECHOES or any(
        incident.root_cause in finding.kind.root_causes for finding in errors
    )


def _is_another_rank(offender: Offender | None, errors: Sequence[Finding]) -> bool:
    """Whether the process that the logs name is that of another rank than those that the run names."""
    ranks = {one.subject.name for one in errors if one.subject.kind == "rank"}
    return offender is not None and offender.kind == "rank" and bool(ranks) and offender.name not in ranks


def _contradicts(offender: Offender | None, errors: Sequence[Finding], hosts: Sequence[str]) -> bool:
    """Whether the logs name another rank or host than the run does, which saw the processes themselves."""
    named = {(one.subject.kind, one.subject.name) for one in errors if one.subject.kind in _SEEN}
    links = [one.subject.name for one in errors if one.subject.kind == "link"]
    named |= {("host", host) for link in links for host in link.split(" - ")}
    if offender is None or offender.kind not in _SEEN or not named or (offender.kind, offender.name) in named:
        return False
    return not (offender.kind == "host" and tuple(hosts) == (offender.name,))


def _finding(incident: Incident, offender: Offender | None, folder: Path) -> Finding:
    by_logs = incident.findings[0]
    named = f", {offender.kind} {offender.name}" if offender else ""
    return TRIAGE.finding(
        subject=by_logs.subject,
        message=f"the logs show {incident.root_cause}{named} (confidence {incident.confidence:.2f}):"
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
