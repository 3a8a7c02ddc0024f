"""Who meets next: rounds of nodes that meet at the same time, until enough is known."""

from nccltool.localize.schedule.adaptive import controls, next_round

__all__ = ["controls", "next_round"]
