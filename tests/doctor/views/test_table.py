"""A diagnosis for people: on a screen the worst is shown, and what has no room is counted."""

from nccltool.core.findings import Severity, Subject
from nccltool.core.look import PLAIN, Look
from nccltool.core.notices import BELOW
from nccltool.core.verdicts import Verdict
from nccltool.doctor.diagnosis import Diagnosis, RuleOutcome
from nccltool.doctor.views import table
from tests import samples

SCREEN = Look(width=80, height=24)


def diagnosis(errors: int, warnings: int, skipped: int) -> Diagnosis:
    severities: list[Severity] = [*["error"] * errors, *["warning"] * warnings]  # type: ignore[list-item]
    findings = tuple(
        samples.finding(
            code=f"SYN{number:03}",
            severity=severity,
            subject=Subject(kind="variable", name="NCCL_ALGO"),
            message=f"NCCL_ALGO has the value number {number} of many, and none of them is right",
            evidence=("environment: NCCL_ALGO=Rign\n                       ^^^^",),
            remedy="write Ring, or unset NCCL_ALGO",
        )
        for number, severity in enumerate(severities)
    )
    unknown = tuple(
        RuleOutcome(code=f"DBG{number:03}", status="unknown", reason=f"reason {number % 3}")
        for number in range(skipped)
    )
    passed = (RuleOutcome(code="ALG001", status="pass"),)
    return Diagnosis(
        info=samples.info(hosts=("n1", "n2"), torch=None),
        verdict=Verdict(status="fail", exit_code=1),
        rules=(),
        outcomes=(*passed, *unknown),
        findings=findings,
        settings=(),
        nccl="2.27.7",
    )


def test_many_findings_fit_a_screen_and_none_is_forgotten() -> None:
    for errors in (1, 3, 6, 12, 40):
        lines = table.render(diagnosis(errors, 3, 9), SCREEN).splitlines()
        assert lines[0].startswith(f"FAIL doctor on n[1-2]: {errors} error")
        assert lines[0].endswith(", 3 warnings; 1 of 1 checked rules passed")
        assert len(lines) <= 24 - BELOW
        assert max(map(len, lines)) <= 80
        shown = sum(line.startswith(("ERROR ", "WARNING ")) for line in lines)
        more = [line for line in lines if line.endswith(" more; -v shows all")]
        assert shown + sum(int(line.split()[1]) for line in more) == errors + 3
        assert "9 rules skipped; -v shows all" in lines


def test_in_a_pipe_every_finding_is_whole() -> None:
    for look in (PLAIN, Look(width=80, height=24, verbose=True)):
        text = table.render(diagnosis(12, 3, 9), look)
        assert text.count("    -> write Ring, or unset NCCL_ALGO\n") == 15
        assert text.count("                           ^^^^\n") == 15
        assert "9 rules skipped\n    reason 0: DBG000 DBG003 DBG006\n" in text
