"""A preflight for people: a line a stage, then what failed, then the hosts, then the word."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tabulate import tabulate

from nccltool.core.host_lists import briefly
from nccltool.core.look import PLAIN, Look
from nccltool.core.text import escaped, named, shortened
from nccltool.preflight.result import STATUSES, CheckOutcome, HostVerdict, Preflight, worst
from nccltool.preflight.views import base

_MOST_REASONS = 300
_MOST_HOSTS = 24


def render(preflight: Preflight, look: Look = PLAIN) -> str:
    blocks = [_circumstances(preflight), _stages(preflight)]
    for status in ("fail", "unknown", "warn"):
        told = [_outcome(some) for some in _alike(_worth_a_line(preflight.outcomes, status))]
        blocks += ["\n".join(told)] if told else []
    blocks += ["\n".join(_hosts(preflight.hosts)), "\n".join(_last_lines(preflight))]
    return "\n\n".join(blocks) + "\n"


def _circumstances(preflight: Preflight) -> str:
    info = preflight.info
    hosts = escaped(named(info.hosts, 4))
    nodes = f"{info.nodes or '?'} node{'' if info.nodes == 1 else 's'}"
    lines = [
        f"nccltool {info.nccltool}, suite {escaped(preflight.suite)}, run {info.id}",
        f"{nodes}, {info.world_size or '?'} ranks on {hosts}",
    ]
    if info.backend:
        lines.append(f"backend {info.backend}: {info.backend_reason}")
    if info.emulated:
        lines.append("EMULATED: the nodes are processes of one host; no network between nodes was measured")
    return "\n".join(lines)


def _stages(preflight: Preflight) -> str:
    names = dict.fromkeys(one.stage for one in preflight.outcomes)
    rows = [_stage(name, [one for one in preflight.outcomes if one.stage == name]) for name in names]
    return str(tabulate(rows, ("rung", "result", "checks"), tablefmt="simple", disable_numparse=True))


def _stage(name: str, outcomes: Sequence[CheckOutcome]) -> tuple[str, str, str]:
    if len(outcomes) == 1 and outcomes[0].code == name:  # the stage as a whole
        return name, worst(outcomes), escaped(outcomes[0].reason)
    return name, worst(outcomes), _counted(outcomes)


def _counted(outcomes: Sequence[CheckOutcome]) -> str:
    counts = Counter(one.status for one in outcomes)
    return ", ".join(f"{counts[status]} {status}" for status in reversed(STATUSES) if counts[status])


def _worth_a_line(outcomes: Sequence[CheckOutcome], status: str) -> list[CheckOutcome]:
    """Those that failed; of those that could not be judged, the ones that matter. The table has the rest."""
    told = [one for one in outcomes if one.status == status and not one.check.is_stage]
    return [one for one in told if one.required] if status == "unknown" else told


def _alike(outcomes: Sequence[CheckOutcome]) -> list[list[CheckOutcome]]:
    """Those that differ in their host alone are told once."""
    groups: dict[CheckOutcome, list[CheckOutcome]] = {}
    for one in outcomes:
        groups.setdefault(replace(one, host=None), []).append(one)
    return list(groups.values())


def _outcome(alike: Sequence[CheckOutcome]) -> str:
    one = alike[0]
    hosts = briefly(each.host for each in alike if each.host)
    where = f" on {escaped(hosts)}" if hosts else ""
    head = f"{one.status.upper()} {one.code}{where}: {escaped(shortened(one.reason, _MOST_REASONS))}"
    return "\n".join([head, *(f"    {line}" for line in base.lines(one))])


def _hosts(hosts: Sequence[HostVerdict]) -> Iterator[str]:
    """Every host that is not fit, and how many are."""
    ordered = sorted(hosts, key=lambda one: one.status in ("pass", "warn"))
    rows = [
        (escaped(one.host), one.status, "yes" if one.exclude else "", escaped(shortened(one.reason, 100)))
        for one in ordered[:_MOST_HOSTS]
    ]
    yield str(tabulate(rows, ("host", "result", "exclude", "why"), tablefmt="simple", disable_numparse=True))
    if len(ordered) > _MOST_HOSTS:
        rest = Counter(one.status for one in ordered[_MOST_HOSTS:])
        yield f"and {', '.join(f'{count} {status}' for status, count in rest.items())}"


def _last_lines(preflight: Preflight) -> Iterator[str]:
    code = preflight.verdict.exit_code
    if preflight.would_exit is not None and preflight.would_exit != code:
        yield f"observed only: the exit code would have been {preflight.would_exit}"
    took = f"in {preflight.duration_s:.1f} s, exit code {code}"
    yield f"{preflight.verdict.status}: {_counted(preflight.outcomes)} {took}"
