"""Has a process with torch count what planned layouts do: this one imports no torch."""

import os
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from nccltool.core.errors import BadInput
from nccltool.core.text import shortened
from nccltool.launch import torch_needed
from nccltool.plan import sample
from nccltool.plan.checked import CheckedStrategy, checked
from nccltool.plan.counted import CountOrder, CountResult
from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe
from nccltool.plan.result import PlannedStrategy

_DEADLINE_S = 900.0
"""A layout takes a second or two; of a hundred on two busy processors, a quarter of an hour."""


def check(model: Model, recipe: Recipe, strategies: Sequence[PlannedStrategy]) -> tuple[CheckedStrategy, ...]:
    """Raises BadInput without torch."""
    lacking = torch_needed.missing()
    if lacking:
        remedy = torch_needed.remedy(lacking, "omit --check")
        raise BadInput(f"--check counts what torch does, but {sys.executable} has no {lacking[0]}", remedy)
    reasons = [next(sample.refused(model, one.layout, recipe), "") for one in strategies]
    orders = [
        () if reason else tuple(_orders(model, recipe, one))
        for one, reason in zip(strategies, reasons, strict=True)
    ]
    found = iter(counted([order for some in orders for order in some]))
    return tuple(
        checked(one.layout.name, some, [next(found) for _ in some])
        if some
        else CheckedStrategy(name=one.layout.name, sample="", reason=reason)
        for one, reason, some in zip(strategies, reasons, orders, strict=True)
    )


def _orders(model: Model, recipe: Recipe, one: PlannedStrategy) -> list[CountOrder]:
    small, layout, batch = sample.sampled(model, one.layout, recipe)
    ranks = sorted({0, min(1, layout.pipeline - 1), layout.pipeline - 1})
    return [CountOrder(model=small, layout=layout, recipe=batch, rank=rank) for rank in ranks]


def counted(orders: Sequence[CountOrder]) -> list[CountResult]:
    """Of each order. Raises BadInput where the process fails."""
    if not orders:
        return []
    command = (sys.executable, "-P", "-m", "nccltool.worker.plan")
    try:
        done = subprocess.run(
            command,
            input=msgspec.json.encode(orders),
            capture_output=True,
            timeout=_DEADLINE_S,
            check=False,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise BadInput(
            f"--check did not end within {_DEADLINE_S:g} s", "use --strategy for fewer layouts"
        ) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = shortened(said[-1], 300) if said else f"exit code {done.returncode}"
        raise BadInput(f"--check: torch failed: {why}", "use torch 2.6 or newer, or omit --check")
    return msgspec.json.decode(done.stdout, type=list[CountResult])
