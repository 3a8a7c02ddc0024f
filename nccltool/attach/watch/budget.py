"""What watching may cost: a share of a core for each rank. Pure."""

from dataclasses import dataclass

SHARE = 0.001
"""Of a core for each rank: a training step does not notice it."""
_FIRST_COST_S = 0.2
"""Of the stack of one rank, until one was taken; measured 0.05 to 0.15 s."""


@dataclass(slots=True)
class WatchBudget:
    """CPU time that was earned by waiting, and spent by looking, of all hosts together."""

    ranks: int = 0
    elapsed_s: float = 0.0
    spent_s: float = 0.0
    stack_cost_s: float = _FIRST_COST_S

    def wait(self, seconds: float, ranks: int) -> None:
        self.ranks = ranks
        self.elapsed_s += seconds

    def spend(self, cpu_s: float, stacks: int = 0) -> None:
        """`stacks`: how many were taken for it."""
        self.spent_s += cpu_s
        if stacks:
            self.stack_cost_s = cpu_s / stacks

    @property
    def allows_stacks(self) -> bool:
        """Whether a stack of each rank stays within the share."""
        cost = self.stack_cost_s * self.ranks
        return self.ranks > 0 and self.spent_s + cost <= SHARE * self.elapsed_s * self.ranks

    @property
    def share(self) -> float | None:
        """Of a core for each rank, so far."""
        return self.spent_s / (self.elapsed_s * self.ranks) if self.elapsed_s and self.ranks else None
