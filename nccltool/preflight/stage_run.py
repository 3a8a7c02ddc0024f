"""JUDGE a run of a stage: whether it ended in order, and what else it found, on the hosts that it names. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nccltool.core.findings import CheckStatus, Finding, FindingKind
from nccltool.hosts import differences
from nccltool.launch.finding_kinds import DEADLINE, WORLD_OF_ONE
from nccltool.launch.job import node_number
from nccltool.preflight.check import PAGE, Check
from nccltool.preflight.result import Blame, CheckOutcome
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
    repeat: str = ""
    folder: str = ""
    """Of the run."""
    alone: bool = False
    """Of one host: what fails there is its own."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What hosts call themselves -> what we call them."""

    def outcome(self, check: Check, status: CheckStatus, **words: Any) -> CheckOutcome:
        """An outcome of this run; `words` are more of its fields."""
        everybody = tuple(dict.fromkeys(self.hosts))
        bad = status in ("warn", "fail")
        told = bad or status == "unknown"
        plain = CheckOutcome(
            check=replace(check, stage=self.stage),
            host=everybody[0] if len(everybody) == 1 else None,
            status=status,
            hosts=everybody if len(everybody) > 1 else (),
            repeat=self.repeat if told else "",
            evidence=self.folder if told else "",
            page=check.page if told else "",
            shown="" if not bad else "alone" if self.alone else "suspected",
        )
        return replace(plain, **words)

    def of_finding(self, check: Check, status: CheckStatus, finding: Finding, **words: Any) -> CheckOutcome:
        """An outcome that a finding answers, on the host that it names."""
        host = self._host_of(finding)
        words |= {"host": host} if host else {}
        return self.outcome(check, status, reason=finding.message, page=finding.page, findings=(finding,), **words)

    def _host_of(self, finding: Finding) -> str | None:
        """None = it names none of ours."""
        subject = finding.subject
        if subject.kind == "rank" and subject.name.isdecimal():
            return self.host_of_rank(int(subject.name))
        if subject.kind == "host":
            name = self.names.get(subject.name, subject.name)
            return name if name in self.hosts else self._of_node(subject.name)
        return None

    def _of_node(self, name: str) -> str | None:
        number = node_number(name)
        return self.hosts[number] if number is not None and number < len(self.hosts) else None

    def host_of_rank(self, rank: int) -> str | None:
        """Ranks are numbered node by node."""
        world = self.run.info.world_size if self.run else None
        node = rank * len(self.hosts) // world if world else len(self.hosts)
        return self.hosts[node] if node < len(self.hosts) else None


def not_begun(ran: StageRun) -> CheckOutcome:
    """What there is to say without a run."""
    return ran.outcome(COMPLETED, "unknown", reason=ran.why_not)


def endings(run: Run) -> list[Finding]:
    """What ended a run before it was complete."""
    return [finding for finding in run.findings if finding.effect == "incomplete"]


def completion(ran: StageRun, run: Run) -> Iterator[CheckOutcome]:
    """Whether it ended in order."""
    ended = endings(run)
    if run.verdict.exit_code == 130:
        yield ran.outcome(COMPLETED, "unknown", reason="interrupted", page="")
    elif not ended:
        yield ran.outcome(COMPLETED, "pass")
    for finding in ended:
        # the time that a run was given is the fault of no host, not even where there is but one
        words: dict[str, Blame] = {"shown": "suspected"} if finding.kind is DEADLINE else {}
        yield ran.of_finding(COMPLETED, "fail", finding, **words)


def others(ran: StageRun, findings: Sequence[Finding], judged: FindingKind) -> Iterator[CheckOutcome]:
    """What else a run found: warnings, and errors that have no check of their own. The doctor told differences."""
    for finding in findings:
        done = finding.effect == "incomplete" or (finding.is_error and finding.kind is judged)
        if done or finding.severity == "info" or finding.code in differences.KINDS or finding.kind is WORLD_OF_ONE:
            continue
        yield ran.of_finding(
            Check(stage=ran.stage, name=finding.code), "fail" if finding.is_error else "warn", finding
        )
