"""A share of a core for each rank."""

from nccltool.attach.watch.budget import SHARE, WatchBudget


def test_stacks_wait_until_they_are_earned() -> None:
    budget = WatchBudget()
    allowed: list[bool] = []
    for _ in range(40):
        may = budget.allows_stacks
        allowed.append(may)
        if may:
            budget.spend(0.2, stacks=4)
        budget.wait(30, ranks=4)
        budget.spend(0.02)  # pulses
    assert budget.stack_cost_s == 0.05
    assert budget.share is not None
    assert budget.share <= SHARE
    assert not any(allowed[:5])
    assert sum(allowed) > 5


def test_a_watch_whose_pulses_cost_too_much_takes_no_stacks() -> None:
    budget = WatchBudget()
    for _ in range(1000):
        budget.wait(5, ranks=1)
        budget.spend(0.02)
        assert not budget.allows_stacks
