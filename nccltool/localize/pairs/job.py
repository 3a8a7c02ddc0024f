"""A measurement of pairs or groups of nodes, as it crosses to the workers."""

from dataclasses import dataclass, field
from typing import Literal

from nccltool.launch.job import Job
from nccltool.localize.pairs.state import PairsState
from nccltool.localize.topology import Topology

PairOp = Literal["all_reduce", "send_recv"]
DEFAULT_BYTES = {"gloo": 4 * 2**20, "nccl": 256 * 2**20}
"""Large enough that the links limit the rate, and not the start of a call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairSpec:
    """Who meets, and what is measured of it."""

    op: PairOp = "all_reduce"
    bytes: int | None = None
    """None = by the backend."""
    most_rounds: int = 12
    is_all_pairs: bool = False
    group_size: int = 2
    is_within: bool = False
    """The ranks of each node meet each other, not the nodes."""
    rails: tuple[str, ...] = ()
    """Each is measured alone; () = the library takes what it finds."""
    is_isolated: bool = False
    """Each meeting is a job of its own."""
    targets: tuple[str, ...] = ()
    """Isolated: the hosts as they were named, one for each node; () = emulated nodes."""
    ssh_words: tuple[str, ...] = ()
    """Isolated: the options with which each job reaches its hosts."""
    budget_s: float = 0.5
    """Time that one meeting may take to get precise, at one direction or both."""
    seed: int = 1
    leaf_of: dict[str, str] = field(default_factory=dict)
    rails_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    leaves_by_name: bool = False
    """The racks in the names of nodes are taken for leaf switches."""
    expected_busbw_bytes_per_s: float | None = None

    @property
    def topology(self) -> Topology:
        """What is known about the network."""
        return Topology(leaf_of=self.leaf_of, rails_of=self.rails_of, is_by_name=self.leaves_by_name)

    def bytes_on(self, backend: str) -> int:
        """The size of a call of each rank."""
        return self.bytes or DEFAULT_BYTES[backend]


@dataclass(frozen=True, kw_only=True, slots=True)
class PairsJob(Job):
    """What to measure, and where."""

    kind: str = "pairs"
    pairs: PairSpec

    def new_state(self) -> PairsState:
        return PairsState()
