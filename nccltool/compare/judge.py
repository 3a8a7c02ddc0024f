"""JUDGE two sets of runs against each other, noise-aware (effects.py says how). Pure."""

import math
from collections.abc import Collection, Sequence
from statistics import median

from nccltool.compare import result, run_samples, significance
from nccltool.compare.change_text import row_name, with_interval
from nccltool.compare.effects import MEASURED_FREEDOM, CompareSettings, effects_of
from nccltool.compare.paired_rows import PairedRow, RowOfRuns, busbw_at, paired, rows_of
from nccltool.compare.result import Comparable, ComparedRow, Effect, Side
from nccltool.core.documents import RunInfo
from nccltool.core.errors import BadInput
from nccltool.core.findings import CheckStatus, Finding, Subject, define
from nccltool.core.statistics import STATISTIC
from nccltool.core.text import named
from nccltool.core.verdicts import verdict
from nccltool.probe.result import Measurement

SLOWER = define("slower", "answer", page="findings-results.md")


def compare(info: RunInfo, a: Side, b: Side, settings: CompareSettings) -> result.Comparison:
    """B against A. Raises BadInput when they are not comparable; it names the keys that differ."""
    ignored = _comparable(a, b, settings.ignore)
    pairs, only_a, only_b = paired(a, b, settings.ignore)
    effects, overall = effects_of(pairs, len(a.runs), len(b.runs), settings)
    rows = tuple(_row(pair, effect) for pair, effect in zip(pairs, effects, strict=True))
    outcome = _outcome(overall, rows, settings.margin)
    return result.Comparison(
        info=info,
        verdict=verdict(failed=outcome == "worse", can_tell=outcome != "cannot-tell"),
        outcome=outcome,
        a=a,
        b=b,
        overall=overall,
        rows=rows,
        only_a=only_a,
        only_b=only_b,
        ignored=ignored,
        statistic=STATISTIC,
        margin=settings.margin,
        alpha=settings.alpha,
        notes=tuple(_notes(a, b, pairs)),
        findings=_findings(a, b, overall, rows) if outcome == "worse" else (),
    )


def _comparable(a: Side, b: Side, ignore: Collection[str]) -> tuple[result.Difference, ...]:
    """The differences that are ignored. Raises BadInput for those that are not."""
    found: dict[result.Difference, None] = {}
    first = a.runs[0]
    for side in (a, b):
        for run in side.runs:
            differs = run_samples.differences(first.circumstances, run.circumstances)
            found.update(dict.fromkeys(differs))
            if bad := [difference for difference in differs if run_samples.matters(difference, ignore)]:
                _refuse(bad, first, run)
    return tuple(found)


def _refuse(bad: Sequence[result.Difference], first: result.RunSample, other: result.RunSample) -> None:
    texts = [f"{difference.key} ({difference.a}; {difference.b})" for difference in bad]
    known = [difference for difference in bad if run_samples.matters(difference, {run_samples.UNKNOWN})]
    words = [difference.key for difference in known] + ([run_samples.UNKNOWN] if len(known) < len(bad) else [])
    raise BadInput(
        f"{first.id} and {other.id} are not comparable: {', '.join(texts)}",
        f"compare runs of the same kind; to compare them anyway: {' '.join(f'--ignore {word}' for word in words)}",
    )


def _row(pair: PairedRow, effect: Effect) -> ComparedRow:
    return ComparedRow(
        key=pair.key,
        runs_a=len(pair.a),
        runs_b=len(pair.b),
        time_a_s=math.exp(median(pair.a)),
        time_b_s=math.exp(median(pair.b)),
        busbw_a_bytes_per_s=pair.busbw_a,
        busbw_b_bytes_per_s=pair.busbw_b,
        effect=effect,
    )


def _outcome(overall: Effect | None, rows: Sequence[ComparedRow], margin: float) -> Comparable:
    """Of all rows together. A worse one is enough; a large change that cannot be told leaves all of it open."""
    effects = [row.effect for row in rows]
    every = [overall, *effects] if overall else effects
    outcomes = {effect.outcome for effect in every}
    if "worse" in outcomes:
        return "worse"
    if any(effect.outcome == "cannot-tell" and effect.change <= -margin for effect in every):
        return "cannot-tell"
    if "better" in outcomes:
        return "better"
    open_ones = any(effect.outcome == "cannot-tell" and abs(effect.change) >= margin for effect in every)
    return every[0].outcome if not open_ones else "cannot-tell"


def _notes(a: Side, b: Side, pairs: Sequence[PairedRow]) -> list[str]:
    found = [text for side in (a, b) for run in side.runs for text in run.left_out]
    if {run.id for run in a.runs} & {run.id for run in b.runs}:
        found.append("A and B share runs, which cannot differ")
    if any(pair.freedom < MEASURED_FREEDOM for pair in pairs):
        found.append(
            f"too few runs ({len(a.runs)} against {len(b.runs)}) to measure the spread between runs, "
            "so it is estimated from iterations and rows; compare 3 runs with 3, or 5 with 1"
        )
    hosts = [sorted({host for run in side.runs for host in run.hosts}) for side in (a, b)]
    if hosts[0] != hosts[1]:
        found.append(f"hosts differ: A {named(hosts[0], 6) or 'unknown'}; B {named(hosts[1], 6) or 'unknown'}")
    unknown = [name for name in run_samples.OF_A_RUN if getattr(a.runs[0].circumstances, name) is None]
    if unknown:
        found.append(f"unknown on both sides: {', '.join(name.replace('_', '-') for name in unknown)}")
    return found


def _findings(a: Side, b: Side, overall: Effect | None, rows: Sequence[ComparedRow]) -> tuple[Finding, ...]:
    slower = sorted((row for row in rows if row.effect.outcome == "worse"), key=lambda row: row.effect.change)
    parts = [f"the typical row is {with_interval(overall)}"] if overall and overall.outcome == "worse" else []
    parts += [f"{row_name(row)} is {with_interval(row.effect)}" for row in slower]
    return (
        SLOWER.finding(
            subject=Subject(kind="run", name=b.name),
            message=f"{b.name} is slower than {a.name}: {parts[0]}",
            evidence=tuple(parts[1:6]),
            remedy="to confirm, run both again, alternating between them; "
            "then find what changed with nccltool doctor and nccltool triage",
        ),
    )


def summary(baseline: result.Baseline) -> tuple[result.BaselineRow, ...]:
    """What a baseline expects of each measurement."""
    found = rows_of(Side(name=baseline.name, runs=baseline.runs), ())
    return tuple(_summarised(rows) for rows in found.values())


def _summarised(rows: RowOfRuns) -> result.BaselineRow:
    times = [row.seconds for row in rows]
    middle = median(times)
    return result.BaselineRow(
        key=rows[0].key,
        runs=len(rows),
        time_s=middle,
        busbw_bytes_per_s=busbw_at(rows, middle),
        spread=significance.robust_sigma([math.log(time) for time in times]),
        least_s=min(times),
        most_s=max(times),
    )


_STATUS: dict[str, CheckStatus] = {"worse": "fail", "same": "pass", "better": "pass", "cannot-tell": "unknown"}


def against(
    baseline: result.Baseline, info: RunInfo, measurements: Sequence[Measurement]
) -> tuple[result.Against, ...]:
    """Each measurement of a run held against a baseline; never raises: what is not comparable is unknown."""
    run = run_samples.of_run(info, measurements)
    source = f"baseline {baseline.name} of {len(baseline.runs)} run{'' if len(baseline.runs) == 1 else 's'}"
    a, b = Side(name=source, runs=baseline.runs), Side(name=run.id, runs=(run,))
    try:
        rows = {row.key: row for row in compare(info, a, b, CompareSettings()).rows}
        reason = f"{source} does not have this measurement"
    except BadInput as error:
        rows, reason = {}, error.message
    status: CheckStatus = "skip" if rows else "unknown"
    return tuple(_against(row, rows.get(run_samples.key_of(row)), source, status, reason) for row in measurements)


def _against(
    row: Measurement, compared: ComparedRow | None, source: str, status: CheckStatus, reason: str
) -> result.Against:
    effect = compared.effect if compared else None
    if row.wrong:
        status, reason = "unknown", "wrong data"
    return result.Against(
        key=run_samples.key_of(row),
        status=_STATUS[effect.outcome] if effect else status,
        measured_busbw_bytes_per_s=compared.busbw_b_bytes_per_s if compared else row.busbw_bytes_per_s,
        expected_busbw_bytes_per_s=compared.busbw_a_bytes_per_s if compared else None,
        effect=effect,
        reason=effect.reason if effect else reason,
        source=source,
    )
