"""What to run and where, as it crosses to the workers."""

from dataclasses import dataclass, field
from typing import Literal

from nccltool.probe.result import Cadence
from nccltool.train.spec import TrainSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """The sizes of a sweep, in bytes: an explicit list, or first to last by a factor or a step."""

    listed: tuple[int, ...] = ()
    first: int | None = None
    last: int | None = None
    factor: int | None = None
    step: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What to run and where; crosses to the workers as JSON."""

    run_id: str
    ops: tuple[str, ...]
    kind: Literal["probe", "facts", "train", "reach", "preflight"] = "probe"
    """facts: the nodes only look at their hosts; reach: they then try to reach each other; preflight: a suite,
    whose runs have jobs of their own."""
    train: TrainSpec | None = None
    """For kind train."""
    sizes: Sizes = field(default_factory=Sizes)
    dtype: str = "float32"
    reduce_op: str = "sum"
    iterations: int | None = None
    """Timed iterations; None = until precise enough."""
    warmup: int | None = None
    """Iterations before them; None = until times settle."""
    precision: float = 0.02
    """Relative half-width of the 95 % interval of the median at which a row is precise enough."""
    budget_s: float = 0.2
    """Time that one row may take to get there."""
    checks: int = 1
    cadence: Cadence = "stream"
    placement: Literal["natural", "in-place", "out-of-place", "both"] = "natural"
    """Which forms of an operation to run; natural = the one that torch users call."""
    cuda_graph: bool = False
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
