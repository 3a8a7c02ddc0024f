"""JUDGE a run of a stage: whether it ended in order, and what else it found, on the hosts that it names. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nccltool.core.findings import CheckStatus, Finding, FindingKind, Subject
from nccltool.core.text import whole
from nccltool.hosts import differences
from nccltool.launch.finding_kinds import COMMAND_KILLED, DEADLINE, GPU_UNUSABLE, TORCH_WITHOUT_GPU, WORLD_OF_ONE
from nccltool.launch.job import node_name
from nccltool.preflight.result import PAGE, Blame, Check, CheckOutcome
from nccltool.probe.result import Run

COMPLETED = Check(stage="", name="completed", kind="completion", page=f"{PAGE}#completed")


@dataclass(frozen=True, kw_only=True, slots=True)
class StageRun:
    """A run of a stage: what was run where, and what came of it."""

    stage: str
    hosts: tuple[str, ...]
    """Of each node, in the order of the nodes."""
    run: Run | None
    why_not: str = ""
    """Why there is no run."""
    killed_by: str = ""
    """The signal by which somebody else ended its command."""
    repeat: str = ""
    folder: str = ""
    """Of the run."""
    by_budget: bool = False
    """Its deadline was the end of the budget of all stages."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What hosts call themselves -> what we call them."""

    @property
    def endings(self) -> list[Finding]:
        """What ended the run before it was complete."""
        return [finding for finding in self.run.findings if finding.effect == "incomplete"] if self.run else []

    def outcome(self, check: Check, status: CheckStatus, **words: Any) -> CheckOutcome:
        """An outcome of this run; `words` are more of its fields."""
        everybody = tuple(dict.fromkeys(self.hosts))
        several = len(everybody) > 1
        plain = CheckOutcome(
            check=replace(check, stage=self.stage),
            host=None if several else everybody[0],
            status=status,
            hosts=everybody if several else (),
        )
        if status in ("warn", "fail", "unknown"):
            plain = replace(plain, repeat=self.repeat, evidence=self.folder, page=check.page)
        if status in ("warn", "fail"):
            plain = replace(plain, shown="suspected" if several else "alone")
        return replace(plain, **words)

    def of_finding(self, check: Check, finding: Finding, **words: Any) -> CheckOutcome:
        """An outcome that a finding answers, on the host that it names."""
        host = self.host_of(finding)
        words |= {"host": host} if host else {}
        status: CheckStatus = "fail" if finding.is_error else "warn"
        return self.outcome(check, status, reason=finding.message, page=finding.page, findings=(finding,), **words)

    def host_of(self, finding: Finding) -> str | None:
        """None = it names none of ours."""
        subject = finding.subject
        if subject.kind == "rank" and (rank := whole(subject.name)) is not None:
            return self.host_of_rank(rank)
        if subject.kind == "host":
            name = self.names.get(subject.name, subject.name)
            numbered = {node_name(number): host for number, host in enumerate(self.hosts)}
            return name if name in self.hosts else numbered.get(subject.name)
        return None

    def host_of_rank(self, rank: int) -> str | None:
        """Ranks are numbered node by node."""
        world = self.run.info.world_size if self.run else None
        node = rank * len(self.hosts) // world if world else len(self.hosts)
        return self.hosts[node] if node < len(self.hosts) else None


def completion(ran: StageRun) -> Iterator[CheckOutcome]:
    """Whether it was begun, and ended in order."""
    if ran.killed_by:
        yield ran.of_finding(COMPLETED, _killed(ran), shown="suspected")
    elif ran.run is None:
        yield ran.outcome(COMPLETED, "unknown", reason=ran.why_not)
    elif ran.run.verdict.exit_code == 130:
        yield ran.outcome(COMPLETED, "unknown", reason="interrupted", page="")
    elif not ran.endings:
        yield ran.outcome(COMPLETED, "pass")
    for finding in ran.endings:
        outcome = ran.of_finding(COMPLETED, finding, **_shown(ran, finding))
        by_budget = finding.kind is DEADLINE and ran.by_budget
        why = f"the budget ended it, and the rest was left out: {finding.message}"
        yield replace(outcome, reason=why) if by_budget else outcome


def _killed(ran: StageRun) -> Finding:
    return COMMAND_KILLED.finding(
        subject=Subject(kind="run", name=ran.stage),
        message=f"the command of this stage was killed by {ran.killed_by} before it completed",
        remedy="run dmesg | grep -i -E 'out of memory|killed process' on this host; find out what ends processes "
        "here and run the stage again",
    )


def _shown(ran: StageRun, finding: Finding) -> dict[str, Blame]:
    """Where it is known without asking how many hosts took part."""
    if finding.kind is DEADLINE:  # the time that a run was given is the fault of no host, not even of the only one
        return {"shown": "suspected"}
    by_itself = finding.kind in (GPU_UNUSABLE, TORCH_WITHOUT_GPU)  # a rank says it of its own GPU, meeting none
    return {"shown": "alone"} if by_itself and ran.host_of(finding) else {}


def others(ran: StageRun, *judged: FindingKind) -> Iterator[CheckOutcome]:
    """What else a run found: warnings, and errors that have no check of their own. The doctor told differences."""
    for finding in ran.run.findings if ran.run else ():
        done = finding.effect == "incomplete" or (finding.is_error and finding.kind in judged)
        if done or finding.severity == "info" or finding.code in differences.KINDS or finding.kind is WORLD_OF_ONE:
            continue
        yield ran.of_finding(Check(stage=ran.stage, name=finding.code), finding)
