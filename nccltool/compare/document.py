"""The JSON documents of comparisons and baselines."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from nccltool.compare.result import Baseline, BaselineRow, Comparison
from nccltool.core.documents import SCHEMA, encoded
from nccltool.core.errors import BadInput


def comparison_to_json(comparison: Comparison) -> str:
    """The document of a comparison, as indented JSON."""
    plain: dict[str, Any] = msgspec.to_builtins(comparison)
    verdict = plain.pop("verdict")
    document = {"schema": SCHEMA, "kind": "compare", **verdict, "run": plain.pop("info"), **plain}
    for side in (document["a"], document["b"]):
        for run in side["runs"]:
            del run["rows"], run["left_out"]
    return encoded(document)


class _Baseline(msgspec.Struct, kw_only=True):
    schema: int
    kind: Literal["baseline"]
    baseline: Baseline


def baseline_to_json(baseline: Baseline, expected: Sequence[BaselineRow]) -> str:
    """The document of a baseline, as indented JSON; `expected` is worked out of its runs."""
    return encoded({"schema": SCHEMA, "kind": "baseline", "baseline": baseline, "expected": expected})


def baselines_to_json(baselines: Sequence[Baseline]) -> str:
    """The document of a list of baselines, as indented JSON."""
    listed = [
        {
            **{name: getattr(baseline, name) for name in ("name", "created", "changed", "note")},
            "runs": len(baseline.runs),
            "circumstances": baseline.runs[0].circumstances,
        }
        for baseline in baselines
    ]
    return encoded({"schema": SCHEMA, "kind": "baselines", "baselines": listed})


def baseline_from_json(text: bytes, where: str) -> Baseline:
    """Read the document of a baseline. Raises BadInput that names `where` and the key that is wrong."""
    try:
        document = msgspec.json.decode(text, type=_Baseline)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(
            f"{where} is not a baseline of nccltool: {error}", "nccltool baseline export NAME writes one"
        ) from error
    if document.schema != SCHEMA:
        raise BadInput(
            f"{where} has schema {document.schema}, this nccltool reads {SCHEMA}", "use its own version"
        )
    return document.baseline
