"""Real runs for docs/examples: on hosts that are namespaces of this machine, with faults that are real as well."""

import json
import os
import secrets
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.lab.lab import Host, Lab
from tests.lab.sshd import Sshd
from tests.support.commands import NCCLTOOL, Command, Ended, until

RATE, SLOW_HOST, WORN = "100mbit", "50mbit", "85mbit"
"""Of a cable: that all have, that the slow node has, and that one host has in the later nights of the month."""
NIGHTS = 30
FIRST_NIGHT = "2026-10-{night:02} 02:00:00"
WORN_SINCE, KILLED = 19, (6, 13, 24)
_LIMIT_S = 300.0
_PORT = 29500


def healthy(folder: Path) -> list[Path]:
    """Four hosts whose cables have the same rate."""
    words = (
        "--op",
        "all_reduce,all_gather,reduce_scatter,alltoall",
        "--sizes",
        "4KiB,64KiB,256KiB,1MiB",
        "-n",
        "20",
    )
    with Lab(4) as lab, Sshd(lab, folder / "sshd") as servers:
        lab.wire(RATE)
        return [_of(_started(servers, folder, "probe", "--hosts", "n[1-4]", *words).wait(_LIMIT_S), 0)]


def slow_node(folder: Path) -> list[Path]:
    """Eight hosts in pairs, of which one sends and receives at half the rate."""
    with Lab(8) as lab, Sshd(lab, folder / "sshd") as servers:
        lab.wire(RATE)
        lab.slow_down(lab.hosts[4], SLOW_HOST)
        words = ("pairs", "--hosts", "n[1-8]", "--bytes", "1MiB")
        return [_of(_started(servers, folder, *words).wait(_LIMIT_S), 1)]


def hung_rank(folder: Path) -> list[Path]:
    """Four hosts; the process of one rank is stopped while it measures."""
    words = ("--op", "all_reduce,all_gather", "--sizes", "64KiB,1MiB", "-n", "40", "--timeout", "5")
    with Lab(4) as lab, Sshd(lab, folder / "sshd") as servers:
        lab.wire(RATE)
        command = _started(servers, folder, "probe", "--hosts", "n[1-4]", *words)
        os.kill(_pid_when_busy(command, 2), signal.SIGSTOP)
        return [_of(command.wait(_LIMIT_S), 3)]


def month(folder: Path) -> list[Path]:
    """A run each night: in three a rank is killed, and from one night on a cable is slower. The clock is set."""
    runs = []
    with Lab(4) as lab:
        lab.wire(RATE)
        for night in range(1, NIGHTS + 1):
            if night == WORN_SINCE:
                lab.slow_down(lab.hosts[2], WORN)
            runs.append(_night(lab, folder / f"night-{night:02}", night))
    return runs


def _night(lab: Lab, folder: Path, night: int) -> Path:
    folder.mkdir(parents=True)
    secret = folder / "secret"
    secret.touch(mode=0o600)
    secret.write_text(secrets.token_hex(32))
    given = {"NCCLTOOL_RDZV_SECRET_FILE": str(secret)}
    with ExitStack() as stack:
        commands = [
            stack.enter_context(host.start(_joining(place, len(lab.hosts), night), folder, given))
            for place, host in enumerate(lab.hosts)
        ]
        if night in KILLED:
            os.kill(_pid_when_busy(commands[0], 1), signal.SIGKILL)
        ended = commands[0].wait(_LIMIT_S)
        for command in commands[1:]:
            command.wait(_LIMIT_S)
    return _of(ended, 3 if night in KILLED else 0)


def _joining(place: int, nodes: int, night: int) -> tuple[str, ...]:
    clock = ("faketime", "-f", f"@{FIRST_NIGHT.format(night=night)}")
    job = ("--nodes", str(nodes), "--node-rank", str(place), "--rdzv-endpoint", f"n1:{_PORT}")
    return (*clock, *NCCLTOOL, "probe", *job, "--op", "all_reduce,all_gather", "--sizes", "64KiB,1MiB", "-n", "12")


def _started(servers: Sshd, folder: Path, *words: str) -> Command:
    """On the first host. The file is in the folder of the command: a report need not show where that was."""
    host: Host = servers.lab.hosts[0]
    here = folder / host.name / "cwd"
    here.mkdir(parents=True)
    shutil.copy(servers.config, here / "ssh_config")
    return host.start((*NCCLTOOL, *words, "--ssh", "ssh -F ssh_config"), folder)


def _of(ended: Ended, code: int) -> Path:
    """The run of a command that ended as it should. Raises AssertionError."""
    assert ended.code == code, ended.said
    return ended.run


def _pid_when_busy(command: Command, rank: int) -> int:
    """The process of a rank, once it is inside a timed call."""
    assert until(lambda: any(_busy(command.runs, rank)), 120.0), command.runs
    return next(_busy(command.runs, rank))


def _busy(runs: Path, rank: int) -> Iterator[int]:
    pid = 0
    for events in runs.glob("*/events.jsonl"):
        for event in _events(events.read_text().splitlines()):
            if event.get("rank") == rank and event["event"] == "spawned":
                pid = event["pid"]
            if event.get("rank") == rank and event.get("phase") == "timing" and event["calls"] % 2 and pid:
                yield pid


def _events(lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Those that are written to their end."""
    for line in lines:
        if line.endswith("}"):
            yield json.loads(line)
