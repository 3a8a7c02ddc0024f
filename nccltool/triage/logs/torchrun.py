"""torchrun, torch.distributed.launch, DeepSpeed's launcher: who ended how, and the table of failures."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from nccltool.triage.logs.base import LogEvent, SourceLine
from nccltool.triage.logs.patterns import LogPattern, event, table

PATTERNS = table(r"""
echo
    torchrun.sigterm     `closing signal SIGTERM` => Sending process (?P<victim>\d+)
    torchrun.sigterm     `Killing subprocess` => Killing subprocess (?P<victim>\d+)
    torchrun.unkillable  `forcefully exiting via` => shutdown process (?P<victim>\d+)
    torchrun.failed      `failed (exitcode:` (?P<code>-?\d+)\) local_rank: (?P<local>\d+) \(pid: (?P<pid>\d+)\)
    torchrun.failed      (?:--local[_-]rank[=', ]+(?P<local>\d+).*)?(?:Process (?P<pid>\d+)|
                         \]) `exits with return code` = (?P<code>-?[1-9]\d*)
    torchrun.failed      `died with <Signals.`(?P<signal>SIG\w+): (?P<number>\d+)>
    torchrun.failed      `returned non-zero exit status` => (?:--local[_-]rank[=', ]+(?P<local>\d+).*)?
                         exit status (?P<code>\d+)
    torchrun.failed      `signaled to shutdown with signal` => with signal (?P<number>\d+)
    torchrun.failed      process (?P<local>\d+) `terminated with signal` (?P<signal>SIG\w+)
    torchrun.failed      (?:[Pp]rocess|[Ww]orker)\b.* `exit code: `(?P<code>-?[1-9]\d*)
    torchrun.failed      `137` => (?i)exit(?:ed)?(?: with)?(?: status| code)?\D{0,12}(?P<code>137)\b
    torchrun.banner      ^\S+\.py` FAILED`$
state
    torchrun.restart     `will restart worker group` => (?P<left>\d+)/(?P<of>\d+) attempts left
    torchrun.joined      `restart_count=`(?P<count>\d+)
    torchrun.row         ` : ` => ^\s*(?P<key>time|host|rank|exitcode|error_file|traceback) *: (?P<value>.*)$
    torchrun.root        `Root Cause (first observed failure)`
success
    torchrun.succeeded   `worker group successfully finished|WorkerState.SUCCEEDED`
""")
_RANK = re.compile(r"(\d+) \(local_rank: (\d+)\)")
_EXIT = re.compile(r"(-?\d+) *\(pid: (\d+)\)(?: *\((SIG\w+)\))?")
_EXIT_ROW = LogPattern("torchrun.exit", "echo")


@dataclass(slots=True)
class _Row:
    """The failure that is being read."""

    time: str = ""
    host: str = ""
    rank: str = ""
    first: bool = False


def reader() -> Callable[[SourceLine], Iterator[LogEvent]]:
    """A reader that keeps the open row of each writer's table."""
    rows: dict[str, _Row] = {}

    def events(line: SourceLine) -> Iterator[LogEvent]:
        for item, fields in PATTERNS.found(line.text):
            if item.kind == "torchrun.root":
                rows[line.label] = _Row(first=True)
            elif item.kind == "torchrun.row":
                yield from _row(rows.setdefault(line.label, _Row()), fields, line)
            else:
                yield event(item, line, fields)

    return events


def _row(row: _Row, fields: dict[str, str], line: SourceLine) -> Iterator[LogEvent]:
    key, value = fields["key"], fields.get("value", "")
    if key == "time":
        row.time, row.host, row.rank = value.replace("_", " "), "", ""
    elif key == "host":
        row.host = value
    elif key == "rank" and (match := _RANK.match(value)):
        row.rank = match[1]
    elif key == "exitcode" and (match := _EXIT.match(value)):
        about = {"rank": row.rank, "code": match[1], "pid": match[2], "signal": match[3] or "", "node": row.host}
        about |= {"root": "yes"} if row.first else {}
        made = event(_EXIT_ROW, line, about, host=row.host.split(".")[0] or None)
        yield replace(made, time=row.time or made.time)
