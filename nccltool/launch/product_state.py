"""What the room that starts and watches ranks asks of the product that has them started."""

from typing import Protocol

from nccltool.core.findings import Finding
from nccltool.launch.events import Event, EventReader


class ProductState(Protocol):
    """What a product keeps of what its ranks say of their work. No I/O, no clock of its own."""

    @property
    def reader(self) -> EventReader:
        """Reads what is said in its runs."""

    @property
    def ask_for_less(self) -> str:
        """The options that make a run shorter."""

    @property
    def steps_done(self) -> int:
        """How many steps are done."""

    def is_done(self, step: int) -> bool:
        """Whether a step is done."""

    def take(self, event: Event) -> None:
        """Take an event in; those that say nothing of the product's work are let pass."""

    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the work, as the ranks themselves saw it."""
