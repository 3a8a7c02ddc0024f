"""Taking the snapshots of hosts: from real processes that behave and misbehave."""

import sys
from collections.abc import Sequence

import pytest

from nccltool.hosts.facts import HostFacts
from nccltool.launch import host_inventory
from nccltool.launch.job import Job
from nccltool.launch.launchers import ssh
from nccltool.launch.launchers.base import WORKER, Command, Launch

JOB = Job(run_id="x", kind="facts")
GOOD = (sys.executable, *WORKER)


def program(text: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", text)


def launch(*argvs: Sequence[str]) -> Launch:
    commands = tuple(Command(argv=tuple(argv), nodes=(i,), host=f"n{i + 1}") for i, argv in enumerate(argvs))
    return Launch(launcher="ssh", why="a test", commands=commands, remote=True, explain=ssh.explain)


def test_every_host_sends_its_facts() -> None:
    taken = host_inventory.take(launch(GOOD, GOOD), JOB, 30.0)
    assert taken.findings == ()
    assert len(taken.snapshots) == 2
    assert all(isinstance(facts, HostFacts) and facts.host for facts in taken.snapshots)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("raise SystemExit('no module')", "host-misconfigured", "n2 sent no facts: the process there ended"),
        ("raise SystemExit(0)", "host-misconfigured", "n2 sent no facts: the process there ended (exit code 0)"),
        ("import time; time.sleep(600)", "host-silent", "n2 sent no facts in 4 s"),
        (
            "import sys; sys.stderr.write('ssh: connect to host n2 port 22: Connection refused'); sys.exit(255)",
            "host-refused",
            "n2 cannot be used: no sshd answers on this port",
        ),
        (
            'import os, time; os.write(1, b\'\\x1e{"event":"facts","node":1,"number":0,"of":1,"text":"AA=="}'
            "\\n'); time.sleep(600)",
            "host-silent",
            "n2 sent facts that cannot be read",
        ),
    ],
    ids=["fails", "says nothing and ends", "hangs", "refuses", "sends what is damaged"],
)
def test_who_sends_none_is_named(text: str, code: str, message: str) -> None:
    taken = host_inventory.take(launch(GOOD, program(text)), JOB, 4.0)
    assert len(taken.snapshots) == 1
    (finding,) = taken.findings
    assert (finding.code, finding.subject.name) == (code, "n2")
    assert finding.message.startswith(message)
