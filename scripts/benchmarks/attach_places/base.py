"""What all places have in common: a job is started, put into its state, and looked at by `nccltool attach`."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.attach_far_job import STORE_PORT, FarJob
from tests.lab.lab import Host

_LOOK_S = 180.0


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What was seen from one place."""

    seen_from: str
    document: Mapping[str, Any]
    is_partial: bool = False
    """Not all ranks, or not what they do, can be seen from there: then nobody need be named."""
    said: str = ""
    host: str = ""
    """What the host of all ranks is called there; empty = by its own name."""


class Place(Protocol):
    """Starts jobs, and looks at them."""

    def hosts(self) -> tuple[str, ...]:
        """The names of the hosts that a job has."""

    def started(self, job: FarJob) -> AbstractContextManager[None]:
        """The job runs as long as this context lasts."""

    def act(self, job: FarJob) -> None:
        """Put the job that has come to its fault into its state."""

    def sights(self, job: FarJob) -> Iterator[Sight]:
        """Look at it."""


def signalled(job: FarJob) -> None:
    """The acts that need no network."""
    act = job.state.act
    if act == "kill":
        os.kill(job.of_rank(job.rank), signal.SIGKILL)
    elif act == "stop":
        os.kill(job.of_rank(job.rank), signal.SIGSTOP)
    elif act == "stop-agent":
        os.kill(job.agent(), signal.SIGSTOP)


def drop(host: Host, act: str) -> None:
    """All but ssh and the store, both ways; or the store only."""
    host.run("nft", "add", "table", "inet", "f")
    for hook in ("input", "output"):
        host.run("nft", "add", "chain", "inet", "f", hook, f"{{ type filter hook {hook} priority 0; }}")
        rules = [f"tcp {way} {STORE_PORT} drop" for way in ("sport", "dport")]
        if act == "drop":
            ports = (22, STORE_PORT)
            rules = [f"tcp {way} {port} accept" for way in ("sport", "dport") for port in ports]
            rules.append('oifname "eth0" drop' if hook == "output" else 'iifname "eth0" drop')
        for rule in rules:
            host.run("nft", "add", "rule", "inet", "f", hook, *rule.split())


def refuse_ssh(host: Host, how: str) -> None:
    """`drop`, or a reset."""
    host.run("nft", "add", "table", "inet", "f")
    host.run("nft", "add", "chain", "inet", "f", "input", "{ type filter hook input priority 0; }")
    host.run("nft", "add", "rule", "inet", "f", "input", "tcp", "dport", "22", *how.split())


def undrop(host: Host) -> None:
    host.run("nft", "delete", "table", "inet", "f")


def looked(argv: tuple[str, ...], seen_from: str, *, is_partial: bool = False, host: str = "") -> Sight:
    """A command of attach, and its document; an empty one if it gave none."""
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=_LOOK_S, check=False, stdin=subprocess.DEVNULL
    )
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = {}
    return Sight(
        seen_from=seen_from,
        document=document,
        is_partial=is_partial,
        host=host,
        said=f"exit code {done.returncode} {done.stdout[-500:] if not document else ''} {done.stderr[-800:]}",
    )
