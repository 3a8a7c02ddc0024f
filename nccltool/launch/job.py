"""Where to run something, as it crosses to the workers. A product adds to it what is its own."""

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import msgspec

from nccltool.core.findings import Finding
from nccltool.core.redact import redacted
from nccltool.core.run_directory import RunDir
from nccltool.launch.events import Event, EventReader
from nccltool.launch.remote_variables import is_of_the_libraries


class ProductState(Protocol):
    """What a product keeps of what its ranks say of their work. No I/O, no clock of its own."""

    @property
    def reader(self) -> EventReader:
        """Reads what is said in its runs."""

    @property
    def ask_for_less(self) -> str:
        """The options that make a run shorter."""

    @property
    def done(self) -> Collection[int]:
        """The steps that are done."""

    def take(self, event: Event) -> None:
        """Take an event in; those that say nothing of the product's work are let pass."""

    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the work, as the ranks themselves saw it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Where to run something, and for how long; crosses to the workers as JSON."""

    run_id: str
    kind: str
    """facts: the nodes look at their hosts; reach: they then try to reach each other; else the product."""
    nodes: int | None = None
    """Nodes that the user expects; None inside a job whose launcher decided it."""
    nproc_per_node: int | None = None
    """Ranks on each node; None inside a job whose launcher decided it."""
    backend: str = "auto"
    timeout_s: float = 30.0
    """How long no rank may make any progress."""
    join_timeout_s: float = 120.0
    """How long to wait for the other nodes."""
    deadline_s: float = 3600.0
    """How long the whole run may take."""
    emulated: bool = False
    """Several nodes are processes of this one host."""
    node_ranks: tuple[int, ...] = (0,)
    """The nodes whose ranks this command starts; empty inside a job that a launcher started."""
    endpoint: str = ""
    """host:port of the store of node 0; empty = this host, a free port."""
    scratch: str = ""
    """A folder for temporary files that is removed at the end."""
    large_files: str = ""
    """The name of a folder in `large_files_in` that ranks may make; it is removed at the end."""
    fault: str = ""
    """A drill: see nccltool.launch.fault_injection."""
    attempt: int = 0
    """How often all ranks have been started anew."""
    remote: bool = False
    """The node process was started on another host: it meets the others first, and ends when it hears no more."""
    node_variable: str = ""
    """The variable of the environment that has the number of a remote node; empty = node_ranks has it."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables for remote nodes."""
    secret: str = field(default="", repr=False)
    """What all processes of the run know, and nobody else, in hexadecimal digits; empty = there is none."""

    @property
    def is_of_one_command(self) -> bool:
        """One command starts all nodes, be it through node processes on other hosts; else they join each other."""
        return self.remote or len(self.node_ranks) == self.nodes

    @property
    def leave_s(self) -> float:
        """How long ranks need to leave in order after SIGTERM; 0 = they end at once."""
        return 0.0

    @property
    def large_files_in(self) -> str:
        """The user's folder, on the host of each rank, for files too large for `scratch`; empty = none."""
        return ""

    def new_state(self) -> ProductState:
        """What the product keeps of a run of this job, before anything was said. Of jobs that start ranks."""
        raise NotImplementedError(self.kind)


def kept(job: Job) -> bytes:
    """A job as it is kept: without its secret; and of variables that were named to go to other hosts, nobody knows
    what is in them."""
    shown = {name: value for name, value in job.env.items() if is_of_the_libraries(name)}
    harmless = json.loads(redacted(json.dumps(shown))[0])
    return msgspec.json.format(msgspec.json.encode(replace(job, env=harmless, secret="")), indent=2)


def run_dir(base: Path, job: Job) -> RunDir:
    """A new folder for the run of a job. Raises RunDirError."""
    return RunDir(base, job.run_id, kept(job))


def node_name(number: int) -> str:
    """`node 3`: so is a node called whose host is not known."""
    return f"node {number}"
