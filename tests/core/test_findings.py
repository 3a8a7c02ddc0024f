"""Kinds of findings: each is made somewhere, and known where it is judged."""

import ast
import re
import subprocess
import sys

import pytest

from nccltool.core import findings
from nccltool.triage import causes
from tests.support.finding_kinds import DEFINES_NONE, every_kind
from tests.support.package import MODULES

OF_MEMBERS = {
    f"nccltool.{name}"
    for name in ("core.findings", "doctor.judge", "hosts.differences", "probe.group_check", "triage.run")
}
"""Those of a rule, a difference and a root cause have their own codes and pages."""
KINDS = every_kind()


def _calling(function: str) -> set[str]:
    """The modules that call a function of this name."""

    def is_call(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function

    near = {name: module for name, module in MODULES.items() if f"{function}(" in module.text}
    return {name for name, module in near.items() if any(is_call(node) for node in module.nodes)}


def test_findings_are_made_from_kinds() -> None:
    assert _calling("Finding") == OF_MEMBERS


def test_workers_define_no_kinds_that_the_runner_would_not_know() -> None:
    assert not {MODULES[name].room for name in _calling("define")} & set(DEFINES_NONE)


def test_every_kind_is_made() -> None:
    definition = re.compile(r'^(\w+) = define\(\s*"([\w-]+)"', re.MULTILINE)
    text = "\n".join(module.text for module in MODULES.values())
    defined = dict(definition.findall(text))
    assert sorted(defined.values()) == sorted(kind.code for kind in KINDS)
    code = re.sub(r"^from .* import (\([^)]*\)|.*)$", "", definition.sub("", text), flags=re.MULTILINE)
    assert set(defined) <= set(re.findall(r"\w+", code))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_a_kind_fits_what_it_does(kind: findings.FindingKind) -> None:
    assert ("error" in kind.severities) == (kind.effect in ("answer", "incomplete"))
    assert kind.effect == "incomplete" or not (kind.retry or kind.may_be_the_order)
    assert set(kind.root_causes) <= set(causes.LABELS)


_ACCUSING = """
wrong-data busbw-low train-wrong slower checkpoint-unusable checkpoint-not-shared
input-unusable input-wrong
rank-died rank-error gpu-error gpu-out-of-memory rank-hung agent-killed process-stopped rank-missing hang
collective-failed node-missing node-failed leader-gone rdzv-unreachable
host-unknown host-refused host-unreachable host-misconfigured host-silent host-lost peer-unreachable
path-cut large-packets-lost
slurm-node-failed slurm-out-of-memory slurm-task-killed gpu-unusable shm-unusable
node-slow node-absent rail-slow link-slow
job-hung
"""
_OF_NOBODY = """
stream-missing stream-cut import-test-failed group-slow fabric-wide pairs-undetermined
terminated command-killed command-stopped deadline host-twice node-rank-twice
rdzv-secret
slurm-cancelled slurm-time-limit slurm-preempted slurm-requeued slurm-refused
world-size world-of-one ranks-per-node version-mismatch duplicate-gpu
setting-wrong
plugin-failed unsupported split-impossible port-in-use interface-unusable run-dir-full torch-without-gpu
backend-unavailable nothing-fits
"""
"""Nothing is wrong with what they name: a log is missing, a scheduler or the order ended it, hosts differ."""
_NOTES = """
busbw-unknown not-compared dip left-out reference-cost resumed restarted triage imported
checkpoint-damaged checkpoint-none checkpoint-unfinished profile-not-written input-leaks loopback-hostname
clock-skew micro-batch-halved emergency-checkpoint grace-too-short
strangers-refused fault-injected no-run-secret retransmits path-slow link-errors counters-unread
import-inconsistent import-rows-missing import-another-test import-under-minimum import-nccl-error
metrics-not-handed-over pairs-not-measured nodes-not-measured pairs-too-few
trace-input trace-launch trace-exposed trace-damaged trace-unmatched trace-unclear
pairs-left-out job-slow job-unclear not-looked-at prediction-differs
"""
ACCUSE = {
    ("error", "warning"): {"late-rank"},
    ("warning",): {"input-slow", "trace-late-rank"},
    ("error",): set(_ACCUSING.split()),
    (): {*_OF_NOBODY.split(), *_NOTES.split()},
}
"""With which severities the subject of a kind is a suspect."""


def test_each_kind_accuses_or_does_not() -> None:
    found: dict[tuple[str, ...], set[str]] = {}
    for kind in KINDS:
        found.setdefault(kind.suspects, set()).add(kind.code)
    assert found == ACCUSE


@pytest.mark.parametrize(
    ("code", "severity", "about", "is_suspect"),
    [
        ("rank-died", "error", "rank", True),
        ("rank-missing", "error", "run", False),
        ("late-rank", "warning", "host", True),
        ("version-mismatch", "error", "host", False),
        ("stream-missing", "error", "host", False),
        ("IFC001", "error", "interface", True),
        ("IFC001", "warning", "interface", False),
        ("ENV001", "error", "variable", False),
    ],
)
def test_whom_a_finding_accuses(
    code: str, severity: findings.Severity, about: findings.SubjectKind, is_suspect: bool
) -> None:
    subject = findings.Subject(kind=about, name="x")
    found = findings.Finding(code=code, severity=severity, subject=subject, message="so")
    assert found.suspect == (subject if is_suspect else None)


@pytest.mark.parametrize("module", ["probe.run", "train.judge", "interop.collect", "preflight.run", "doctor.run"])
def test_what_is_judged_is_known(module: str) -> None:
    """A kind whose room was not imported would be taken for a check that failed."""
    rooms = ["launch"] if module == "doctor.run" else ["launch", "probe"]
    rooms += ["train"] if module not in ("doctor.run", "probe.run") else []
    script = f"import sys, nccltool.{module}; print(*(room for room in {rooms} "
    script += "if f'nccltool.{room}.finding_kinds' not in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []


def test_a_code_that_is_not_known_here_is_a_failed_check() -> None:
    subject = findings.Subject(kind="run", name="r")
    finding = findings.Finding(code="of-next-year", severity="error", subject=subject, message="m")
    assert (finding.effect, finding.kind.retry) == ("answer", False)


def test_a_kind_is_defined_once() -> None:
    with pytest.raises(AssertionError):
        findings.define("rank-died", "note")
