"""Whether settings pay: the same probe without and with them, in turns, and what `compare` says of the two."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nccltool.compare import inputs, judge
from nccltool.compare.effects import CompareSettings
from nccltool.compare.result import Comparison
from nccltool.core.documents import begun_now
from nccltool.core.errors import DidNotComplete, NotJudged
from nccltool.doctor.fabrics.base import FabricSetting
from nccltool.preflight import nested_runs
from nccltool.preflight.nested_runs import Call

_TURNS = 3
"""Runs of each side: the fewest that show how far runs differ anyway (docs/commands/compare.md)."""
_SIDES = ("without", "with")
GLOO = "gloo"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProofOrder:
    """What is to be run, and how long one run may take."""

    settings: tuple[FabricSetting, ...]
    words: tuple[str, ...]
    """Options of the probe."""
    deadline_s: float
    folder: Path
    """Where the runs are, until they are compared."""


def prove(order: ProofOrder, command: tuple[str, ...]) -> Comparison:
    """A = without the settings, B = with them.

    Raises DidNotComplete when a run of either failed; NotJudged when the settings are none of the backend's.
    """
    runs: dict[str, list[str]] = {side: [] for side in _SIDES}
    for turn in range(_TURNS):
        for side in _SIDES:
            runs[side].append(_run(order, side, turn))
    a, b = (inputs.side(",".join(runs[side]), order.folder, order.folder) for side in _SIDES)
    return judge.compare(begun_now(command), a, b, CompareSettings())


def _run(order: ProofOrder, side: str, turn: int) -> str:
    """The folder of one run."""
    call = Call(
        label=f"{side}-{turn + 1}",
        words=("probe", *order.words),
        nodes=(),
        end=time.monotonic() + order.deadline_s,
        fault=None,
        variables=variables(order.settings, is_set=side == "with"),
    )
    came = nested_runs.run([call], order.folder, 1, lambda: False)[0]
    if came.run is None or came.run.verdict.status not in ("pass", "warn"):
        raise DidNotComplete(f"a run {side} the settings failed: {came.why_not}", f"run it alone: {call.line}")
    if came.run.info.backend == GLOO:
        raise NotJudged(
            "probe ran on Gloo, which reads no setting of NCCL, so nothing was proved",
            "run it on hosts with GPUs: nccltool env --prove FABRIC --hosts a,b",
        )
    return came.folder


def variables(settings: Sequence[FabricSetting], *, is_set: bool) -> tuple[tuple[str, str | None], ...]:
    """What a run has, or must not have from its user's shell."""
    return tuple((one.name, one.value if is_set else None) for one in settings)
