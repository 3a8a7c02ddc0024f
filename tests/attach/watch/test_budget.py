"""A share of a core for each rank."""

from nccltool.attach.watch.budget import SHARE, WatchBudget


def test_stacks_wait_until_they_are_earned() -> None:
    budget = WatchBudget()
    assert not budget.allows_stacks
    assert budget.share is None
    ticks = 0
    while not budget.allows_stacks:
        budget.wait(30, ranks=4)
        budget.spend(0.02)  # pulses
        ticks += 1
    budget.spend(0.2, stacks=4)
    assert budget.stack_cost_s == 0.05
    assert budget.share is not None
    assert budget.share <= SHARE
    assert 5 < ticks < 20


def test_a_watch_whose_pulses_cost_too_much_takes_no_stacks() -> None:
    budget = WatchBudget()
    for _ in range(1000):
        budget.wait(5, ranks=1)
        budget.spend(0.02)
        assert not budget.allows_stacks
