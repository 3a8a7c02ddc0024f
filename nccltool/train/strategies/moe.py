"""Experts (mixture of experts): ranks share the experts of each block, and each has a part of the batch."""

from typing import TYPE_CHECKING

from nccltool.train.strategies.base import EXPERTS, ExpertOptions, Needs

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec

NO_TUNING = "experts need the result of each all_to_all at once, and no shared expert computes meanwhile"
Options = ExpertOptions


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Its blocks have experts."""
    return Needs(experts=EXPERTS)
