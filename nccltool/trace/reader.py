"""One trace at a time, from its file to what is kept of it."""

from itertools import chain
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped
from nccltool.trace.builder import TraceBuilder
from nccltool.trace.files import TraceFile
from nccltool.trace.inspector_calls import InspectorCalls, is_log, is_snapshot
from nccltool.trace.json_events import TraceEventReader
from nccltool.trace.result import RankTrace


def read(file: Path, calls: InspectorCalls) -> tuple[RankTrace | None, str]:
    """(the trace, how it is damaged; empty = it is not). None = it is a log of NCCL Inspector, now in `calls`.

    Raises BadInput for what is neither.
    """
    source, builder = TraceFile(file), TraceBuilder(escaped(str(file)))
    pieces = source.pieces()
    begin = next(pieces, b"")
    if is_snapshot(begin):
        raise BadInput(
            f"{file} is a Prometheus file of NCCL Inspector: it has one value for many calls, without their times",
            "run with NCCL_INSPECTOR_PROM_DUMP=0, which writes a record for each call",
        )
    if is_log(begin):
        wrong = calls.take(escaped(str(file)), chain([begin], pieces))
        return None, "; ".join(filter(None, (wrong, source.damage)))
    events = TraceEventReader(chain([begin], pieces))
    for key, value in events.entries():
        builder.take(key, value)
    damage = [source.damage] if source.damage else []
    ends_early = events.ends_early or bool(damage)
    if not damage and events.why_not:
        raise BadInput(
            f"{file} is not a trace: {events.why_not}", "name files that torch.profiler or NCCL Inspector wrote"
        )
    if events.ends_early and not damage:
        damage.append("it ends early")
    trace = builder.built(skipped=events.skipped, ends_early=ends_early)
    if trace.unread_events:
        damage.append(f"{trace.unread_events} of its values are damaged, too long, or have no valid time")
    return trace, "; ".join(damage)
