"""Why Slurm ended a step or a job: what srun and slurmstepd write on standard error, what its controller says."""

import re
from collections.abc import Sequence

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import listed
from nccltool.launch import finding_kinds
from nccltool.launch.launchers.base import EndCause, EndWord, SchedulerQuery

_CANCELLED = re.compile(
    r"\*\*\* (STEP|JOB) (\S+) ON (\S+) CANCELLED AT (\S+?)(?: DUE TO ([A-Z ]+?))?(?:,[^*]*)? \*\*\*"
)
"""slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-21T07:53:21 DUE TO TIME LIMIT ***"""
_NODE_FAILURE = re.compile(r"error: Node failure on (\S+)")
_TASK = re.compile(r"error: (\S+): tasks? [\d,-]+: (Killed|Terminated|Segmentation fault|Bus error|Aborted)")
_ABORTED = re.compile(r"srun: Job step aborted")
"""The controller told srun that the step or its job is ended; srun also writes it after an error of its own. Later
errors are consequences."""
_OWN_ERROR = re.compile(r"srun: error: (?!\S+: tasks? [\d,-]+: )")
_STEP_ID = re.compile(r"StepId=([\d.]+)")
_OF_SLURM = re.compile(
    r"(?: *\d+: )?(?:srun|slurmstepd\S*|salloc): (?!cluster configuration lacks support|Warning: )"
)
"""Its cpu binding is lacking where --cpu-bind=none asks for what is there anyhow."""
_EVIDENCE = 6

_ENDS = {
    "TIME LIMIT": EndCause(
        "",
        finding_kinds.SLURM_TIME_LIMIT,
        "ended at its time limit",
        "request more time (--time) or measure less (--op, -e, -n); --deadline ends a run cleanly before "
        "the limit",
    ),
    "PREEMPTION": EndCause(
        "",
        finding_kinds.SLURM_PREEMPTED,
        "preempted by a higher-priority job",
        "run it in a partition or QOS that is not preempted: scontrol show partition, sacctmgr show qos",
    ),
    "JOB REQUEUE": EndCause(
        "",
        finding_kinds.SLURM_REQUEUED,
        "requeued",
        "it restarts by itself; sbatch --no-requeue prevents that. To see who requeued it: sacct -j JOB "
        "--duplicates",
    ),
    "NODE FAILURE": EndCause(
        "",
        finding_kinds.SLURM_NODE_FAILED,
        "ended because a node failed",
        "find out why it failed: scontrol show node NODE, sinfo -R, and the slurmd log there",
    ),
}
_CANCEL = EndCause(
    "",
    finding_kinds.SLURM_CANCELLED,
    "cancelled",
    "someone ran scancel, or the command that started it ended; run it again",
)
_COMPLAINTS = (
    EndCause(
        r"oom[-_]kill|OOM Killed|[Oo]ut [Oo]f [Mm]emory|Exceeded job memory limit",
        finding_kinds.SLURM_OUT_OF_MEMORY,
        "a process was killed because the job ran out of memory",
        "request more memory (--mem) or use smaller sizes (-e)",
    ),
    EndCause(
        r"execve\(\): .*|No module named '?(?:nccltool|torch|msgspec|numpy)'?",
        finding_kinds.HOST_MISCONFIGURED,
        "the Python of this command does not run there",
        "install nccltool on a file system that all nodes share or name the Python to use there: --remote-python",
    ),
    EndCause(
        r"Unable to contact slurm controller|Unable to communicate|Socket timed out|Protocol authentication error"
        r"|Munge|munge|Connection refused|Zero Bytes were transmitted",
        finding_kinds.SLURM_REFUSED,
        "the Slurm controller does not answer",
        "run scontrol ping; check that munged and slurmctld are running",
    ),
    EndCause(
        r"Unable to confirm allocation|Invalid job id|already completing|Job has expired|allocation .*revoked",
        finding_kinds.SLURM_REFUSED,
        "the allocation no longer exists",
        "request a new one with salloc or sbatch",
    ),
    EndCause(
        r"Unable to create step|Only allocated|Requested node configuration|Requested nodes are busy"
        r"|More (?:processors|nodes|GPUs) requested|Invalid (?:generic resource|Trackable RESource)|[Ii]nvalid",
        finding_kinds.SLURM_REFUSED,
        "Slurm cannot start a step with one task per node",
        "try by hand: srun --overlap --ntasks-per-node=1 hostname",
    ),
)


def end_word(line: str) -> EndWord | None:
    """What a line of srun says about the end of the step, or of a node in it.

    Why a step ends, only the slurmstepd of its first node writes; the others may be faster.
    """
    if _CANCELLED.search(line) or _NODE_FAILURE.search(line):
        return EndWord.REASON
    return EndWord.HAPPENS if _TASK.search(line) or _ABORTED.search(line) else None


def explain(host: str, exit_code: int, lines: Sequence[str]) -> Finding | None:
    """Why srun's step ended, from what was said on standard error. The most telling line counts, not the first."""
    of_slurm = [line.strip()[:300] for line in lines if _OF_SLURM.match(line)]
    return (
        _from_failed_node(of_slurm)
        or _from_cancellation(of_slurm)
        or _from_complaint(lines, of_slurm)
        or _from_abort(of_slurm)
        or _from_tasks(of_slurm)
    )


def _from_failed_node(lines: Sequence[str]) -> Finding | None:
    nodes = list(dict.fromkeys(match[1] for line in lines if (match := _NODE_FAILURE.search(line))))
    if not nodes:
        return None
    end = _ENDS["NODE FAILURE"]
    return end.kind.finding(
        subject=Subject(kind="host", name=nodes[0]),
        message=f"Slurm reports that {', '.join(nodes[:8])} failed and ended the step",
        evidence=tuple(lines[:_EVIDENCE]),
        remedy=end.remedy.replace("NODE", nodes[0]),
    )


def _from_cancellation(lines: Sequence[str]) -> Finding | None:
    matches = [match for line in lines if (match := _CANCELLED.search(line))]
    if not matches:
        return None
    match = max(matches, key=lambda found: found[5] is not None)  # of a job that is ended, a step says no reason
    end = _ENDS.get(match[5] or "", _CANCEL)
    due = f" ({match[5].lower()})" if match[5] and match[5] not in _ENDS else ""
    return _ended(
        end, f"{match[1].lower()} {match[2]}", f"{due} at {match[4]}, according to slurmstepd on {match[3]}", lines
    )


def _ended(end: EndCause, name: str, details: str, evidence: Sequence[str]) -> Finding:
    return end.kind.finding(
        subject=Subject(kind="run", name=name),
        message=f"Slurm {name} was {end.what}{details}",
        evidence=tuple(evidence[:_EVIDENCE]),
        remedy=end.remedy.replace("JOB", name.split()[-1].split(".")[0]),
    )


def _from_complaint(lines: Sequence[str], of_slurm: Sequence[str]) -> Finding | None:
    for complaint in _COMPLAINTS:
        own = of_slurm if complaint.kind is finding_kinds.SLURM_REFUSED else lines
        said = [line.strip()[:300] for line in own if re.search(complaint.pattern, line)]
        if said:
            hosts = [match[1] for line in of_slurm if (match := re.search(r"error: (\S+): tasks? ", line))]
            subject = Subject(kind="host", name=hosts[0]) if hosts else Subject(kind="run", name="step")
            return complaint.kind.finding(
                subject=subject,
                message=f"{', '.join(dict.fromkeys(hosts[:8])) or 'srun'}: {complaint.what}",
                evidence=tuple(said[:_EVIDENCE]),
                remedy=complaint.remedy,
            )
    return None


def _from_abort(lines: Sequence[str]) -> Finding | None:
    """The step is ended by Slurm, and what slurmstepd has to say of it never came."""
    aborted = next((number for number, line in enumerate(lines) if _ABORTED.search(line)), None)
    if aborted is None or any(map(_OWN_ERROR.search, lines[:aborted])):
        return None
    step = next((f"step {match[1]}" for line in lines if (match := _STEP_ID.search(line))), "step")
    return _ended(_CANCEL, step, ", according to srun; slurmstepd gave no reason", lines)


def _from_tasks(lines: Sequence[str]) -> Finding | None:
    ended = {match[1]: match[2] for line in lines if (match := _TASK.search(line))}
    if not ended:
        return None
    hosts, how = listed(ended), listed(dict.fromkeys(ended.values()))
    is_one = len(ended) == 1
    return finding_kinds.SLURM_TASK_KILLED.finding(
        subject=Subject(kind="host", name=hosts) if is_one else Subject(kind="run", name="step"),
        message=f"the node process on {hosts} was killed: {how}"
        if is_one
        else f"the node processes on {hosts} ended, and Slurm gives no reason: {how}",
        evidence=tuple(lines[:_EVIDENCE]),
        remedy=f"on {hosts}, look for the OOM killer: dmesg | grep -i -E 'out of memory|killed process'",
    )


def job_query(job_id: str) -> SchedulerQuery:
    """Asks the controller whether it is ending the job, for commands that only see a signal."""
    return SchedulerQuery(
        argv=("scontrol", "--oneliner", "show", "job", job_id), read=lambda text: from_job(job_id, text)
    )


_OVER = ("COMPLETING", "CANCELLED", "TIMEOUT", "PREEMPTED", "NODE_FAIL", "REQUEUED", "PENDING", "OUT_OF_MEMORY")


def from_job(job_id: str, text: str) -> Finding | None:
    """Why a job ends, from `scontrol show job`; None when it does not."""
    facts = dict(re.findall(r"(\w+)=(\S*)", text))
    state, reason = facts.get("JobState", ""), facts.get("Reason", "")
    if state not in _OVER:
        return None
    ends = {
        "TIME LIMIT": reason == "TimeLimit" or state == "TIMEOUT",
        "PREEMPTION": facts.get("PreemptTime", "None") not in ("None", "N/A", "") or state == "PREEMPTED",
        "NODE FAILURE": reason == "NodeDown" or state == "NODE_FAIL",
        "JOB REQUEUE": facts.get("EndTime") == "Unknown" or state in ("PENDING", "REQUEUED"),
    }
    end = next((_ENDS[why] for why, is_so in ends.items() if is_so), _CANCEL)
    told = " ".join(
        f"{name}={facts[name]}" for name in ("JobState", "Reason", "EndTime", "Restarts") if name in facts
    )
    return _ended(end, f"job {job_id}", "", (f"scontrol show job {job_id}: {told}",))
