"""nccltool slurm-prolog: facts in, a verdict and a reason out; what is told to Slurm, and what is not."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from nccltool.core.unknown import Unknown
from nccltool.core.verdicts import Verdict
from nccltool.hosts import reader
from nccltool.hosts.facts import HostFacts
from nccltool.hosts.facts.leaves import all_unknown
from nccltool.preflight import scheduler_hooks
from nccltool.preflight.scheduler_hooks import NodeAnswer, PrologOrder

ASK = PrologOrder(gpus=None, select=(), ignore=(), drain=True, resume=False, node="n7", budget_s=9.0)
REASON = "nccltool: LIM001 a process may open 1024 files; allow at least 65536"
FAILED = NodeAnswer(verdict=Verdict(status="fail", exit_code=1), reason=REASON, details=())
HEALTHY = NodeAnswer(verdict=Verdict(status="pass", exit_code=0), reason="", details=())
UNKNOWN = NodeAnswer(verdict=Verdict(status="unknown", exit_code=4), reason="", details=("blind",))


@pytest.fixture(scope="module")
def facts() -> HostFacts:
    return reader.take(environ={}, env_source="none: a test")


def test_the_budget_has_room_for_all_of_it() -> None:
    assert scheduler_hooks._LOOK + 2 * scheduler_hooks._ASK < 1
    assert scheduler_hooks.BUDGET_S < 10


@pytest.mark.parametrize(
    ("count", "status", "said"),
    [
        (8, "pass", ""),
        (7, "fail", "nccltool: 7 GPUs found, expected 8"),
        (Unknown("NVML hangs\x1b[31m"), "unknown", ""),
    ],
)
def test_gpus(count: int | Unknown, status: str, said: str, facts: HostFacts) -> None:
    nvidia = msgspec.structs.replace(facts.nvidia, visible_gpus=count)
    ask = replace(ASK, gpus=8, select=("LIM",))
    answer = scheduler_hooks.judge(ask, msgspec.structs.replace(facts, nvidia=nvidia))
    assert (answer.verdict.status, answer.reason) == (status, said)


def test_where_no_rule_can_see_anything_it_is_unknown(facts: HostFacts) -> None:
    limits = all_unknown(type(facts.limits), "not permitted to look")
    answer = scheduler_hooks.judge(replace(ASK, select=("LIM001",)), msgspec.structs.replace(facts, limits=limits))
    assert (answer.verdict, answer.reason) == (Verdict(status="unknown", exit_code=4), "")


SCONTROL = """#!/bin/sh
echo "$@" >> {log}
[ "$1" = show ] || exit {code}
echo 'NodeName=n7 Arch=x86_64 State={state} ThreadsPerCore=1 Comment=State=X Reason={reason}'
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    def made(state: str, reason: str, code: int = 0) -> Path:
        log = tmp_path / "log"
        log.touch()
        file = tmp_path / "scontrol"
        file.write_text(SCONTROL.format(log=log, state=state, reason=reason, code=code))
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return log

    return made


OURS = "nccltool: LIM001 few files [root@2026-11-21T11:56:33]"
DRAIN = f"update nodename=n7 state=drain reason={REASON}"
RESUME = "update nodename=n7 state=resume"


@pytest.mark.parametrize(
    ("answer", "resume", "state", "reason", "told"),
    [
        (FAILED, False, "IDLE", "", [DRAIN]),
        (FAILED, True, "ALLOCATED", "", [DRAIN]),
        (FAILED, True, "IDLE+DRAIN", "a new cable [bob@2026-11-21T11:56:33]", []),
        (FAILED, True, "IDLE+DRAIN", OURS, []),
        (FAILED, False, "DOWN*", "Not responding [slurm@2026-11-21T11:56:33]", []),
        (HEALTHY, True, "IDLE+DRAIN", OURS, [RESUME]),
        (HEALTHY, True, "MIXED+DRAIN", OURS, [RESUME]),
        (HEALTHY, True, "IDLE+DRAIN", "a new cable, says nccltool: [bob@2026-11-21T11:56:33]", []),
        (HEALTHY, True, "IDLE", OURS, []),
        (UNKNOWN, True, "IDLE+DRAIN", OURS, None),
        (HEALTHY, False, "IDLE+DRAIN", OURS, None),
    ],
)
def test_what_is_told_to_slurm(
    answer: NodeAnswer, resume: bool, state: str, reason: str, told: list[str] | None, slurm: Callable[..., Path]
) -> None:
    log = slurm(state, reason)
    after = scheduler_hooks.acted(replace(ASK, resume=resume), answer)
    expected = [] if told is None else ["show node -o n7", *told]
    assert log.read_text().splitlines() == expected
    assert (after.verdict, after.reason, after.trouble) == (answer.verdict, answer.reason, "")
    assert bool(after.done) is (bool(told) or (answer is FAILED and told is not None))


def test_slurm_that_does_not_obey_changes_no_verdict(slurm: Callable[..., Path]) -> None:
    slurm("IDLE", "", code=1)
    after = scheduler_hooks.acted(ASK, FAILED)
    assert (after.verdict, after.done, after.trouble) == (
        FAILED.verdict,
        "",
        "scontrol update failed with exit code 1: ",
    )


def test_slurm_that_hangs_costs_its_share_of_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "scontrol"
    file.write_text("#!/bin/sh\nexec sleep 600\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    after = scheduler_hooks.acted(replace(ASK, budget_s=1.0), FAILED)
    assert (after.verdict, after.trouble) == (FAILED.verdict, "`scontrol show node` took longer than 0.25 s")
