"""Write a starting configuration for what trains: one framework a file, found by listing this folder."""

from typing import TYPE_CHECKING, cast

from nccltool.core import members

if TYPE_CHECKING:
    from nccltool.plan.result import Plan

KINDS = members.names(__path__, first=("torchrun", "slurm", "torchtitan", "deepspeed"))


def emit(plan: "Plan", kind: str) -> str:
    """The file of a plan that fits. Raises BadInput where the framework cannot do that."""
    return cast("str", members.module(__name__, kind).emit(plan))
