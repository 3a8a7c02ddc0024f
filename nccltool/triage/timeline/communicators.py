"""A communicator, as the lines of its ranks show it."""

from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import ObservedCommunicator


class CommunicatorBuilder:
    """A communicator whose lines are being read."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.started: set[int] = set()
        self.completed: set[int] = set()
        self.nodes: int | None = None
        self.gpus: dict[tuple[str, str], set[int]] = {}

    def add(self, event: LogEvent, host: str) -> None:
        """Take what a line of one of its ranks says."""
        rank = event.rank if event.rank is not None else -1
        if event.kind == "nccl.init-complete":
            self.completed.add(rank)
        elif event.kind == "nccl.init-start":
            self.started.add(rank)
            self.gpus.setdefault((host, event.get("bus")), set()).add(rank)
        else:
            self.nodes = max(self.nodes or 0, int(event.get("nodes")))

    def observed(self, name: str) -> ObservedCommunicator:
        """What is known of it now."""
        return ObservedCommunicator(
            id=name,
            size=self.size,
            started=frozenset(self.started),
            completed=frozenset(self.completed),
            nodes=self.nodes,
            gpus={place: tuple(sorted(ranks)) for place, ranks in self.gpus.items()},
        )
