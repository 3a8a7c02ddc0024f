"""Baselines for people and programs: a list of them, and what one expects."""

from collections.abc import Sequence

from nccltool.compare.result import Baseline, BaselineRow
from nccltool.compare.run_samples import OF_A_RUN, shown
from nccltool.core.documents import headed
from nccltool.core.look import PLAIN, Align, Look
from nccltool.core.text import counted, escaped, named
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds

_RUNS_SHOWN = 12
HEADERS = (
    "op",
    "size",
    "dtype",
    "reduce",
    "placement",
    "cadence",
    "runs",
    "time",
    "busbw GB/s",
    "spread",
    "range",
)
_LEFT = ("op", "dtype", "reduce", "placement", "cadence", "range")
_ALIGN: tuple[Align, ...] = tuple("left" if name in _LEFT else "right" for name in HEADERS)
_BRIEF = [HEADERS.index(name) for name in ("op", "size", "runs", "time", "busbw GB/s", "spread")]


def saved(baseline: Baseline, form: str) -> str:
    count = len(baseline.runs)
    if form == "json":
        return headed("saved-baseline", name=baseline.name, runs=count)
    return f"baseline {escaped(baseline.name)}: {counted(count, 'run')}\n"


def removed(name: str, form: str) -> str:
    return headed("removed-baseline", name=name) if form == "json" else ""


def render_list(baselines: Sequence[Baseline], form: str, look: Look = PLAIN) -> str:
    if form == "json":
        listed = [
            {
                **{name: getattr(baseline, name) for name in ("name", "created", "changed", "note")},
                "runs": len(baseline.runs),
                "circumstances": baseline.runs[0].circumstances,
            }
            for baseline in baselines
        ]
        return headed("baselines", baselines=listed)
    if not baselines:
        return "no baselines yet\n"
    headers = ["baseline", "runs", "changed", "nodes", "ranks", "transport", "GPU", "versions", "note"]
    rows = [[escaped(text) for text in _listed(baseline)] for baseline in baselines]
    if _is_small(look):  # `nccltool baseline show` has the versions
        for row in (headers, *rows):
            del row[-2]
    return look.table(headers, rows, flexible=len(headers) - 1) + "\n"


def _listed(baseline: Baseline) -> tuple[str, ...]:
    of = baseline.runs[0].circumstances
    backend = f"nccl {of.backend_version}" if of.backend == "nccl" else of.backend
    versions = ", ".join(text for text in (of.tool, of.torch and f"torch {of.torch}", backend) if text)
    numbers = (str(number or "?") for number in (of.nodes, of.ranks))
    gpu = "?" if of.gpu is None else of.gpu or "none"
    changed = (str(len(baseline.runs)), baseline.changed)
    return (baseline.name, *changed, *numbers, of.transport or "?", gpu, versions, baseline.note)


def render(baseline: Baseline, expected: Sequence[BaselineRow], form: str, look: Look = PLAIN) -> str:
    """Text, with a newline at its end; `expected` is worked out of its runs."""
    if form == "json":
        return headed("baseline", baseline=baseline, expected=expected)
    return (
        "\n".join(_brief(baseline, expected, look) if _is_small(look) else _whole(baseline, expected, look)) + "\n"
    )


def _is_small(look: Look) -> bool:
    return look.width is not None and not look.verbose


def _brief(baseline: Baseline, expected: Sequence[BaselineRow], look: Look) -> list[str]:
    """What a small screen has room for."""
    first, last = baseline.runs[0], baseline.runs[-1]
    when = first.started if first is last else f"{first.started} to {last.started}"
    told = [
        f"baseline {baseline.name}: {counted(len(baseline.runs), 'run')}, {when}",
        *([baseline.note] if baseline.note else []),
        ", ".join(
            f"{name.replace('_', ' ')} {shown(name, getattr(first.circumstances, name))}" for name in OF_A_RUN
        ),
    ]
    rows = [tuple(row[column] for column in _BRIEF) for row in _rows(expected)]
    table = look.table([HEADERS[column] for column in _BRIEF], rows, [_ALIGN[column] for column in _BRIEF])
    return [*(line for text in told for line in look.wrapped(escaped(text), "    ")), "", *table.split("\n")]


def _whole(baseline: Baseline, expected: Sequence[BaselineRow], look: Look) -> list[str]:
    of = baseline.runs[0].circumstances
    head = [
        f"baseline {baseline.name}, changed {baseline.changed}",
        *([baseline.note] if baseline.note else []),
        *(f"{name.replace('_', '-')}: {shown(name, getattr(of, name))}" for name in OF_A_RUN),
    ]
    foot = [
        "time: median of the runs' means",
        "busbw: computed from that time; 1 GB/s = 10**9 B/s",
        "spread: relative standard deviation between runs, from the median absolute deviation; ? = only one run",
    ]
    runs = [f"run {run.id}, {run.started}, {named(run.hosts, 8)}" for run in baseline.runs[:_RUNS_SHOWN]]
    if len(baseline.runs) > _RUNS_SHOWN:
        runs.append(f"and {len(baseline.runs) - _RUNS_SHOWN} more runs")
    table = look.table(HEADERS, _rows(expected), _ALIGN).split("\n")
    texts = ((*head, ""), (*foot, "", *runs))
    above, below = ([line for text in part for line in look.wrapped(escaped(text), "    ")] for part in texts)
    return [*above, *table, *below]


def _rows(expected: Sequence[BaselineRow]) -> list[tuple[str, ...]]:
    return [
        (
            *(row.key.op, format_bytes(row.key.bytes), row.key.dtype, row.key.reduce_op or "-"),
            *(row.key.placement, row.key.cadence, str(row.runs), format_seconds(row.time_s)),
            format_gb_per_s(row.busbw_bytes_per_s),
            "?" if row.spread is None else f"{row.spread:.1%}",
            f"{format_seconds(row.least_s)} to {format_seconds(row.most_s)}",
        )
        for row in expected
    ]
