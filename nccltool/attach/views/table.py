"""A look at a job for people: the verdict, who holds it up, what ranks do, their stacks, and what was not read."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nccltool.attach.judge.result import AttachVerdict, PhaseGroup, RankNow
from nccltool.attach.report import AttachReport
from nccltool.attach.seen.job import HostSample, Unread
from nccltool.attach.views import stack_tree
from nccltool.core import notices
from nccltool.core.host_lists import briefly
from nccltool.core.look import Look
from nccltool.core.notices import BELOW, INDENT, verdict_line
from nccltool.core.text import counted, escaped

_MOST_GROUPS = 12
_MOST_UNREAD = 4
_MOST_RANGES = 6
_TREE_LINES = 14
"""Of the merged stacks on a screen."""


def render(report: AttachReport, look: Look) -> str:
    head = verdict_line(look, report.verdict.status, _headline(report))
    head += look.wrapped(INDENT + escaped(_circumstances(report)), 2 * INDENT)
    below = [list(_groups(report, look)), list(_stacks(report, look)), list(_notes(report, look))]
    taken = len(head) + sum(len(block) + 1 for block in below if block) + 2
    found = notices.shown(look, [notices.of_finding(one) for one in report.findings], taken)
    blocks = (head, found, *below)
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _headline(report: AttachReport) -> str:
    return f"attach: {report.answer.message}"


def _circumstances(report: AttachReport) -> str:
    ranks = [rank for _, rank in report.look.ranks()]
    programs = dict.fromkeys(rank.program for rank in ranks if rank.program)
    parts = [next(iter(programs))] if programs else []
    world = report.look.world_size
    of = f" of {world}" if world is not None and world != len(ranks) else ""
    parts.append(f"{len(ranks)}{of} ranks on {briefly(report.info.hosts)}")
    launchers = dict.fromkeys(rank.launcher for rank in ranks if rank.launcher)
    parts += launchers
    restarts = max((rank.restarts for rank in ranks if rank.restarts is not None), default=0)
    parts += [f"attempt {restarts + 1}"] if restarts else []
    parts += list(_samples(report))
    return ", ".join(parts)


def _samples(report: AttachReport) -> Iterator[str]:
    """How long was looked: a job that moves slower than that looks as if it hung."""
    series = [host.samples for host in report.look.hosts if host.samples]
    if series:
        yield f"{counted(len(series[0]), 'sample')} over {max(map(_span_s, series)):.1f} s"
    yield from progress_told(report.answer)
    if (rate := report.answer.operations_per_s) is not None:
        yield f"{rate:.3g} operations/s"
    kill_in_s = report.answer.kill_in_s
    if not report.is_live:
        yield f"seen at {report.seen or 'an unknown time'}"
    elif kill_in_s is not None:
        is_watchdog = report.answer.kill_by == "watchdog"
        ends = "the watchdog ends the job" if is_watchdog else "the waiting calls time out"
        yield f"{ends} in {_duration(kill_in_s)} by default"


def progress_told(answer: AttachVerdict) -> Iterator[str]:
    """`step 120`, `0.9 s a step`, and whom a slow job waits for."""
    progress, slow = answer.progress, answer.slow
    if progress.step is not None:
        yield f"step {progress.step}"
    if progress.step_s is not None:
        usual = "" if progress.usual_step_s is None else f", {progress.usual_step_s:.3g} s before"
        yield f"{progress.step_s:.3g} s a step{usual}"
    if slow is not None and slow.phase:
        who = "most ranks: it" if slow.rank is None else f"rank {slow.rank}: it"
        since = "" if slow.since_s is None else f" for {_duration(slow.since_s)}"
        yield f"slow{since}, {who} {slow.phase}"
    elif progress.data_bytes_per_s:
        yield f"{progress.data_bytes_per_s / 1e6:.3g} MB/s between the ranks"


def _span_s(samples: Sequence[HostSample]) -> float:
    return samples[-1].at_s - samples[0].at_s


def _groups(report: AttachReport, look: Look) -> Iterator[str]:
    """Ranks that do the same are one row."""
    groups = report.answer.groups
    most = len(groups) if look.verbose or look.height is None else _MOST_GROUPS
    rows = [_row(group, report.answer.ranks, look) for group in groups[:most]]
    if rows:
        yield from look.table(("ranks", "hosts", "what they do", "where", "for"), rows, flexible=2).splitlines()
    if len(groups) > most:
        yield f"and {counted(len(groups) - most, 'more group')}; -v shows all"


def _row(group: PhaseGroup, ranks: Sequence[RankNow], look: Look) -> tuple[str, ...]:
    of = [one for one in ranks if one.rank in group.ranks or (one.host, one.pid) in group.pids]
    since = [one.since_s for one in of if one.since_s is not None]
    what = f"{group.condition}, {group.phase.text}" if group.condition else group.phase.text
    if group.condition:
        what = look.painted(escaped(what), "warn")
    return (
        _ranks(group),
        escaped(briefly(dict.fromkeys(one.host for one in of))),
        what if group.condition else escaped(what),
        escaped(group.phase.where),
        f"{_duration(min(since))}" if since else "",
    )


def _ranks(group: PhaseGroup) -> str:
    """`0-62, 64`."""
    parts = list(_ranges(group.ranks))
    text = ", ".join(parts[:_MOST_RANGES]) + (", ..." if len(parts) > _MOST_RANGES else "")
    if len(group.ranks) > 1:
        text += f" ({len(group.ranks)})"
    nameless = [f"pid {pid}" for _, pid in group.pids][:_MOST_RANGES] if not group.ranks else []
    return text or ", ".join(nameless)


def _ranges(ranks: Sequence[int]) -> Iterator[str]:
    begin = last = None
    for rank in sorted(ranks):
        if last is not None and begin is not None and rank != last + 1:
            yield f"{begin}-{last}" if last > begin else f"{begin}"
            begin = rank
        begin, last = (rank if begin is None else begin), rank
    if begin is not None and last is not None:
        yield f"{begin}-{last}" if last > begin else f"{begin}"


def _stacks(report: AttachReport, look: Look) -> Iterator[str]:
    if report.answer.state == "healthy" and not look.verbose:
        return
    lines = stack_tree.lines(report.look)
    most = len(lines) if look.verbose or look.height is None else _TREE_LINES
    if lines:
        yield look.painted("stacks", "strong")
        yield from (INDENT + escaped(line) for line in lines[:most])
    if len(lines) > most:
        yield f"{INDENT}and {counted(len(lines) - most, 'more line')}; -v shows all"


def _notes(report: AttachReport, look: Look) -> Iterator[str]:
    unread = report.unread[len(report.look.unreached) :]
    told = [_told(one) for one in unread] if look.verbose else list(_folded(unread))
    most = len(told) if look.verbose else _MOST_UNREAD
    for line in told[:most]:
        yield from look.wrapped(escaped(line), INDENT)
    if len(told) > most:
        yield f"and {len(told) - most} more could not be read; -v shows all"
    if look.verbose or look.height is None or look.height > 2 * (_TREE_LINES + BELOW):
        yield from (line for note in report.answer.notes for line in look.wrapped(escaped(note), INDENT))


def _told(one: Unread) -> str:
    needs = f" (needs: {one.missing})" if one.missing else ""
    return f"not read: {one.what} on {one.host}: {one.reason}{needs}"


def _folded(unread: Sequence[Unread]) -> Iterator[str]:
    """What many ranks have in common is one line."""
    alike: dict[tuple[str, str, str], list[Unread]] = {}
    for one in unread:
        source, sign, _ = one.what.partition(" of ")
        alike.setdefault((source if sign else one.what, one.reason, one.missing), []).append(one)
    for (source, _, _), same in alike.items():
        of = len({(one.host, one.pid, one.what) for one in same})
        hosts = briefly(dict.fromkeys(one.host for one in same))
        yield _told(same[0] if of == 1 else replace(same[0], what=f"{source} of {of} ranks", host=hosts))


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
