r"""Logs of containers as Docker's json-file driver stores them: an object a line, {"log": "...\n", "stream": ...}.

The line of the container takes the place of the object, in the same line of the file, so that numbers of lines
stay. The time comes first, as `kubectl logs --timestamps` writes it.
"""

import json
import re

_MARK = b'"log":'
_BEGINS = re.compile(rb'\s*\{\s*"(?:log|stream|time|attrs)"\s*:')
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)", re.ASCII)


def unwrapped(lines: bytes, *, times: bool) -> bytes:
    """The lines without what the driver put around them; other lines as they are."""
    if _MARK not in lines or not _BEGINS.match(lines):
        return lines
    return b"\n".join(_line(line, times) for line in lines.split(b"\n"))


def _line(line: bytes, times: bool) -> bytes:
    if not _BEGINS.match(line):
        return line
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):  # the last one of a log that was cut, or no line of a container
        return line
    text = entry.get("log") if isinstance(entry, dict) else None
    if not isinstance(text, str) or not ({"stream", "time"} & entry.keys()):
        return line
    time = entry.get("time")
    stamp = f"{time} " if times and isinstance(time, str) and _TIME.fullmatch(time) else ""
    # what a container writes as one line can hold returns, but no second line: its number would be another's
    own = f"{stamp}{text.removesuffix(chr(10))}".replace("\n", " ")
    return own.encode(errors="replace")
