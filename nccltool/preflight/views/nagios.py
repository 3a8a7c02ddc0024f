"""A preflight as a monitoring plugin says it: one line, and figures after a bar."""

from collections import Counter
from collections.abc import Iterator

from nccltool.core.host_lists import briefly
from nccltool.core.plugin_line import plugin_line
from nccltool.core.text import escaped, named
from nccltool.core.units import format_bytes
from nccltool.core.verdicts import Status
from nccltool.preflight.result import STATUSES, Preflight
from nccltool.probe.result import Measurement

_MOST_CODES = 3
_MOST_ROWS = 16
"""Measurements among the figures: NRPE before 3 carries 1 KiB."""


def render(preflight: Preflight) -> str:
    observed = preflight.would_exit is not None
    status: Status = "pass" if observed else preflight.verdict.status
    return plugin_line(preflight.verdict, "; ".join(_said(preflight)), _figures(preflight), status)


def _said(preflight: Preflight) -> Iterator[str]:
    yield f"{escaped(preflight.suite)}: {preflight.verdict.status}"
    if preflight.would_exit is not None:
        yield f"observed only, the exit code would have been {preflight.would_exit}"
    for status in ("fail", "unknown", "warn"):
        codes = dict.fromkeys(
            one.code
            for one in preflight.outcomes
            if one.status == status and (one.required or status != "unknown") and not one.check.is_stage
        )
        if codes:
            yield f"{status}: {escaped(named(codes, _MOST_CODES))}"
    for status in ("fail", "missing", "undetermined", "unknown"):
        hosts = [one.host for one in preflight.hosts if one.status == status]
        if hosts:
            yield f"hosts {status}: {escaped(briefly(hosts))}"


def _figures(preflight: Preflight) -> Iterator[str]:
    checks = Counter(one.status for one in preflight.outcomes)
    hosts = Counter(one.status for one in preflight.hosts)
    yield f"time={preflight.duration_s:.1f}s"
    yield from (f"checks_{status}={checks[status]}" for status in STATUSES)
    healthy = hosts["pass"] + hosts["warn"]
    yield f"hosts_healthy={healthy};;;0;{len(preflight.hosts)}"
    yield from (f"hosts_{status}={hosts[status]}" for status in ("fail", "missing", "undetermined", "unknown"))
    yield from (_row(row) for row in preflight.measurements[:_MOST_ROWS])


def _row(row: Measurement) -> str:
    """The plugins' units have no rate: GB/s is in the name."""
    size = format_bytes(row.bytes).replace(" ", "")
    return f"'{row.op} {size} {row.placement} busbw GB/s'={row.busbw_bytes_per_s / 1e9:.6g}"
