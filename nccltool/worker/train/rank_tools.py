"""What a rank trains with: its agreements with the others, its progress page, its channel, its faults."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from nccltool.launch import events
from nccltool.worker.agreement import Agreement, CollectiveFailed, of_communication
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import CALLS, ProgressPage
from nccltool.worker.train import transformer
from nccltool.worker.train.faults import TrainingFaults
from nccltool.worker.train.strategies.base import Setup, Strategy

_OF_ALL = {
    "unscaling": "all_reduce of whether a gradient overflowed",
    "clipping": "all_reduce of the norm of the gradients",
}
"""Phase -> what a rank waits for in it, in every strategy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankTools:
    """What a rank trains with."""

    group: Agreement
    slot: ProgressPage
    channel: Channel
    faults: TrainingFaults

    def enter(self, strategy: Strategy, name: str, index: int, label: str) -> None:
        """Say which step of the run begins, and what ranks wait for in it."""
        self.slot.phase("between steps", index)
        within = tuple(sorted({**_OF_ALL, **strategy.waits()}.items()))
        self.channel.emit(
            events.Enter(rank=self.group.rank, step=index, op=name, bytes=0, label=label, within=within)
        )

    @contextlib.contextmanager
    def communicating(self, phase: str) -> Iterator[None]:
        """As Setup has it; what fails in it is known as a failure of communication, or as one of the program."""
        self.waiting(phase)
        try:
            yield
        except RuntimeError as error:
            if self.slot.words[CALLS] % 2 and of_communication(error):
                raise CollectiveFailed(f"in {phase}") from error
            raise (error.__cause__ or error) from None  # a pipeline wraps what its stages raise
        self.slot.words[CALLS] = 2

    def waiting(self, phase: str) -> None:
        """As Setup has it."""
        self.slot.phase(phase)
        self.slot.words[CALLS] = 1

    def computing(self, phase: str) -> None:
        """As Setup has it."""
        self.slot.phase(phase)
        self.faults.computing(phase)

    def settle(self) -> None:
        """Wait for what is queued on a device."""
        if self.group.device.type == "cuda":
            self.group.settle()

    def tokens(self, setup: Setup, number: int) -> Tensor:
        """The global batch of a step."""
        return transformer.tokens_of(setup.spec, number, setup.sequences).to(self.group.device)
