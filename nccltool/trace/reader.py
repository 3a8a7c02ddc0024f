"""One trace at a time, from its file to what is kept of it."""

from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped
from nccltool.trace.builder import TraceBuilder
from nccltool.trace.files import TraceFile
from nccltool.trace.json_events import TraceEventReader
from nccltool.trace.result import RankTrace


def read(file: Path) -> tuple[RankTrace, str]:
    """(the trace, how it is damaged; empty = it is not). Raises BadInput for what is no trace."""
    source, builder = TraceFile(file), TraceBuilder(escaped(str(file)))
    events = TraceEventReader(source.pieces())
    for key, value in events.entries():
        builder.take(key, value)
    damage = [source.damage] if source.damage else []
    ends_early = events.ends_early or bool(damage)
    if not damage and events.why_not:
        raise BadInput(f"{file} is not a trace: {events.why_not}", "name files that torch.profiler wrote")
    if events.ends_early and not damage:
        damage.append("it ends early")
    trace = builder.built(skipped=events.skipped, ends_early=ends_early)
    if trace.unread_events:
        damage.append(f"{trace.unread_events} of its values are damaged, too long, or have no valid time")
    return trace, "; ".join(damage)
