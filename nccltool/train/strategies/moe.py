"""Experts (mixture of experts): ranks share the experts of each block, and each has a part of the batch."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nccltool.train.strategies.base import DataParallelOptions, Needs, option

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec

NO_TUNING = "experts need the result of each all_to_all at once, and no shared expert computes meanwhile"
EXPERTS = 8
"""Of a block: as many as the most ranks that share a model, so that each has one."""


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions):
    """Its options."""

    top_k: int = option(2, 200, "MoE: experts per token.", least=1, most=EXPERTS)
    capacity: float | None = option(
        None,
        210,
        "MoE: drop what exceeds FACTOR times an expert's even share.  [default: drop nothing]",
        metavar="FACTOR",
        least=0,
        is_above_least=True,
    )


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Its blocks have experts."""
    return Needs(experts=EXPERTS)
