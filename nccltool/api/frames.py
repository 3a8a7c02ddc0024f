"""The rows of results as data frames, where pandas is installed."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import msgspec

from nccltool.compare.result import Comparison
from nccltool.core.errors import BadInput
from nccltool.doctor.diagnosis import Diagnosis
from nccltool.localize.localized import LocalizedRun
from nccltool.preflight.result import Preflight
from nccltool.probe.result import Run
from nccltool.train.result import TrainRun
from nccltool.triage.incident import TriageReport

Result = Run | Preflight | Comparison | Diagnosis | TriageReport


def to_pandas(result: Result) -> Any:
    """A data frame with a row for each of `records`. Raises BadInput where there is no pandas."""
    if not isinstance(result, Result):
        raise BadInput(f"result must be what a function of nccltool.api returns, not {type(result).__name__}")
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise BadInput("to_pandas() needs pandas, which is not installed", "pip install pandas") from error
    return pandas.DataFrame(records(result))


def records(result: Result) -> list[dict[str, Any]]:
    """The rows of a result, with flat keys: `time_s_mean`, `key_op`, `effect_change`."""
    return [dict(_flat(msgspec.to_builtins(row))) for row in _rows(result)]


def _rows(result: Result) -> Sequence[Any]:
    match result:
        case TrainRun():
            return [
                {"strategy": one.strategy, **msgspec.to_builtins(s)} for one in result.trainings for s in one.steps
            ]
        case LocalizedRun():
            return result.encounters
        case Run():
            return result.measurements
        case Preflight():
            return result.outcomes
        case Comparison():
            return result.rows
        case Diagnosis():
            return result.findings
    return [
        {"job": job.name, **msgspec.to_builtins(one)} for job in result.jobs for one in job.incident.candidates
    ]


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}_")
        else:
            yield f"{before}{name}", value
