"""Journeys of the runbooks, played from the text of their pages alone: every command as it is printed there.

The faults are in the hosts before the page is opened. UPDATE_GOLDEN=1 writes what was printed into the page.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.sshd import Sshd

pytestmark = [pytest.mark.lab, pytest.mark.slow]

JOURNEYS = ROOT / "docs/runbooks/journeys"
LIMIT_S = 180.0
SLOWER = 3.0
"""The culprit's pair is 5 to 30 times slower; other pairs of a busy machine differ less from each other."""
_BLOCK = re.compile(r"^```(console\n\$ |sh\n)([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TELLING = ("ERROR ", "FAIL ", "PASS ", "INCOMPLETE ")
_CODES = {"FAIL": 1, "INCOMPLETE": 3}
"""Exit codes, by the first word of a result; of others and of other programs 0."""


@dataclass(frozen=True)
class Step:
    """A command of a page, what the page says that it prints, and what it printed."""

    command: str
    printed: str
    code: int
    said: str

    def speed(self) -> float:
        """GB/s between the two hosts of a ping_pong."""
        found = re.search(r"^ping_pong +1 MiB +\S+ +\S+ +(\S+)", self.said, re.MULTILINE)
        assert found, self.said
        return float(found[1])


Play = Callable[[Lab, str], list[Step]]


@pytest.fixture
def play(with_sshd: Callable[[Lab], Sshd], start: Start, tmp_path: Path) -> Play:
    """Plays a page on n1 of a laboratory, where `ssh` and `nccltool` are set up as an administrator has them."""

    def played(lab: Lab, name: str) -> list[Step]:
        servers = with_sshd(lab)
        (tmp_path / "here").mkdir()
        path = f"{_programs(tmp_path / 'bin', servers)}:{os.environ['PATH']}"
        page = JOURNEYS / name
        steps = []
        for kind, command, printed in _BLOCK.findall(page.read_text()):
            line = f"cd {tmp_path}/here && {command}"
            given = {"PATH": path, "NCCLTOOL_RUN_DIR": "runs"}
            ended = start(lab.hosts[0], ("bash", "-c", line), **given).wait(LIMIT_S)
            steps.append(Step(command, printed if kind != "sh\n" else "", ended.code, ended.stdout))
            if kind != "sh\n" and os.environ.get("UPDATE_GOLDEN"):
                new = page.read_text().replace(f"$ {command}\n{printed}```", f"$ {command}\n{ended.stdout}```", 1)
                page.write_text(new)
        return steps

    return played


def _programs(folder: Path, servers: Sshd) -> Path:
    folder.mkdir()
    ssh = shutil.which("ssh")
    scripts = {"ssh": f"{ssh} -F {servers.config}", "nccltool": f"{sys.executable} -m nccltool"}
    for name, command in scripts.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def _alike(text: str, *, everything: bool) -> list[str]:
    """What two outputs of one command share: no times, numbers or ids; of nccltool, what it concludes."""
    lines = [line for line in text.splitlines() if everything or line.startswith(_TELLING)]
    ids = [re.sub(r"\d{8}T\d{6}Z-\w+", "ID", line) for line in lines]
    return [" ".join(re.sub(r"(?<![\w.])\d[\d.]*", "#", line).split()) for line in ids]


def as_printed(step: Step) -> None:
    """A command ended as its page says, with the same conclusions."""
    assert step.code == _CODES.get(step.printed.partition(" ")[0], 0), step
    if step.printed:
        everything = not step.command.startswith("nccltool")
        assert _alike(step.said, everything=everything) == _alike(step.printed, everything=everything)


def test_the_job_hangs_at_init_because_of_a_firewall(lab_of_four: Lab, play: Play) -> None:
    culprit = lab_of_four.hosts[2]
    culprit.run("nft", "add table inet filter")
    chain = "{ type filter hook input priority filter; policy drop; }"
    culprit.run("nft", f"add chain inet filter input {chain}")
    for rule in ("iifname lo accept", "ct state established,related accept", "tcp dport { 22, 29500 } accept"):
        culprit.run("nft", f"add rule inet filter input {rule}")
    steps = play(lab_of_four, "init-hang.md")
    for step in steps:
        as_printed(step)
    first, everybody, rules, _, again, _ = steps
    assert "\nERROR peer-unreachable: n3 cannot be reached by " in first.said
    assert "\nFAIL reach/ports on n3: " in everybody.said
    assert re.search(r"^n3 +fail +yes +reach/ports$", everybody.said, re.MULTILINE)
    assert "policy drop" in rules.said
    assert (everybody.code, again.code) == (1, 0)


def test_slow_on_one_node(lab_of_four: Lab, play: Play) -> None:
    limit = ("tbf", "rate", "100mbit", "burst", "16kb", "latency", "5ms")
    lab_of_four.hosts[2].run("tc", "qdisc", "add", "dev", "eth0", "root", *limit)
    steps = play(lab_of_four, "slow-host.md")
    for step in steps:
        as_printed(step)
    _, *pairs, shaping, _, again, _ = steps
    speeds = {step.command.split("--hosts ")[1].split()[0]: step.speed() for step in pairs}
    assert list(speeds) == ["n1,n2", "n1,n3", "n1,n4"]
    slowest = speeds.pop("n1,n3")
    assert min(speeds.values()) > SLOWER * slowest, "the page leads to n3"
    assert "qdisc tbf" in shaping.said
    assert again.speed() > SLOWER * slowest
