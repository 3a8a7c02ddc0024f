"""Kinds of findings: each is made somewhere, and known where it is judged."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nccltool
from nccltool.core import findings
from nccltool.triage import causes
from tests.support.finding_kinds import DEFINES_NONE, every_kind

ROOT = Path(nccltool.__file__).parent
SOURCES = {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text()) for file in ROOT.rglob("*.py")}
OF_MEMBERS = {"core/findings.py", "doctor/judge.py", "hosts/differences.py", "triage/run.py"}
"""Those of a rule, a difference and a root cause have their own codes and pages."""
KINDS = every_kind()


def _called(tree: ast.Module, name: str) -> list[ast.Call]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]


def test_findings_are_made_from_kinds() -> None:
    assert {file for file, tree in SOURCES.items() if _called(tree, "Finding")} == OF_MEMBERS


def test_workers_define_no_kinds_that_the_runner_would_not_know() -> None:
    defining = {file.partition("/")[0] for file, tree in SOURCES.items() if _called(tree, "define")}
    assert not defining & set(DEFINES_NONE)


def test_every_kind_is_made() -> None:
    lines = "\n".join(ast.unparse(tree) for tree in SOURCES.values()).splitlines()
    defined = {match[1]: match[2] for line in lines if (match := re.match(r"(\w+) = define\('([\w-]+)'", line))}
    assert sorted(defined.values()) == sorted(kind.code for kind in KINDS)
    code = " ".join(line for line in lines if not line.startswith(("from ", *(f"{name} = " for name in defined))))
    assert set(defined) <= set(re.findall(r"\w+", code))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_a_kind_fits_what_it_does(kind: findings.FindingKind) -> None:
    assert ("error" in kind.severities) == (kind.effect in ("answer", "incomplete"))
    assert kind.effect == "incomplete" or not (kind.retry or kind.may_be_the_order)
    assert set(kind.root_causes) <= set(causes.LABELS)


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
