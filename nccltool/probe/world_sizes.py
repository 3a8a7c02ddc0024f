"""Which nodes and ranks make a world of so many ranks, of those that the options name. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nccltool.core.errors import BadInput
from nccltool.launch import fault_injection
from nccltool.launch.launchers.base import LaunchPlan
from nccltool.launch.options import StartOptions

_FEWEST = 2
_MOST_DIGITS = 6


@dataclass(frozen=True, slots=True)
class WorldSize:
    """So many ranks on so many nodes."""

    nodes: int
    per_node: int

    @property
    def ranks(self) -> int:
        """Of all nodes."""
        return self.nodes * self.per_node

    def start(self, options: StartOptions) -> StartOptions:
        """The options of a run of this size. A fault of a rank that it lacks strikes the larger ones only."""
        fault = fault_injection.parse(options.fault)
        mine = "" if fault is not None and fault.rank >= self.ranks else options.fault
        return replace(options, nodes=self.nodes, nproc_per_node=str(self.per_node), fault=mine)


def read(text: str) -> tuple[int, ...]:
    """The world sizes of `1,2,4,8`, from the smallest to the largest. Raises BadInput."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not (word.isascii() and word.isdecimal()) or len(word) > _MOST_DIGITS or int(word) < 1:
            raise BadInput(
                f"--scaling {word[:20]!r} is not a number of ranks", "list world sizes: --scaling 1,2,4,8"
            )
    sizes = [int(word) for word in words]
    if twice := next((size for size in sizes if sizes.count(size) > 1), None):
        raise BadInput(f"--scaling names {twice} twice", "name each number of ranks once")
    if len(sizes) < _FEWEST:
        raise BadInput("--scaling needs at least two world sizes", "list several: --scaling 1,2,4,8")
    return tuple(sorted(sizes))


def of(sizes: Sequence[int], options: StartOptions, plan: LaunchPlan) -> tuple[WorldSize, ...]:
    """A node is filled before the next one is used. Raises BadInput for what cannot be started so."""
    if not plan.node_ranks or options.node_rank is not None:
        raise BadInput(
            "--scaling starts runs of different sizes, and this command is part of one run",
            "run it once, with --hosts or in a Slurm allocation",
        )
    if options.nodes is None and not plan.launch.remote and not options.has_hosts:
        return tuple(WorldSize(1, size) for size in sizes)  # all on this host
    if plan.nproc is None:
        raise BadInput("--scaling needs the number of ranks per node on other hosts", "add --nproc-per-node N")
    return tuple(_world(size, plan.nodes or 1, plan.nproc) for size in sizes)


def _world(size: int, nodes: int, per_node: int) -> WorldSize:
    if size <= per_node:
        return WorldSize(1, size)
    if size % per_node:
        raise BadInput(
            f"--scaling {size} does not fill nodes of {per_node} ranks",
            f"use at most {per_node} or a multiple of it, or change --nproc-per-node",
        )
    if size > nodes * per_node:
        raise BadInput(
            f"--scaling {size} exceeds {nodes} x {per_node} ranks", "name more hosts or nodes, or smaller sizes"
        )
    return WorldSize(size // per_node, per_node)
