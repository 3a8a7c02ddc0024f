"""Labels that launchers and collectors put before the lines of other benchmarks, taken off writer by writer."""

import re
from collections import defaultdict
from collections.abc import Iterator

from nccltool.triage.logs import prefixes

_MARK = re.compile(r"# OSU \S|#bytes\s+#iterations|COMMS-RES[-\s]|START mpiGraph v")
"""What only benchmarks print that are read as text."""


_HOST = re.compile(r"([\w.@-]{1,200}): .*?(?:# OSU \S|#bytes\s+#iterations|COMMS-RES[-\s]|START mpiGraph v)")
"""pdsh and others: a host, a colon, and a space before the line."""


def texts(content: str) -> Iterator[str]:
    """The text of each writer that prints a benchmark; every line keeps its number, a last one without end too."""
    if not _MARK.search(content):
        return
    by_label: dict[str, dict[int, str]] = defaultdict(dict)
    marked: dict[str, None] = {}
    lines = content.split("\n")
    hosts = {match[1] for line in lines if (match := _HOST.match(line))}
    for number, line in enumerate(lines):
        label, own = _unlabelled(line.rstrip("\r"), hosts)
        by_label[label][number] = own
        if _MARK.search(own):
            marked[label] = None
    for label in marked:
        yield "\n".join(by_label[label].get(number, "") for number in range(len(lines)))


def _unlabelled(line: str, hosts: set[str]) -> tuple[str, str]:
    """(label, rest)"""
    host, colon, rest = line.partition(": ")
    if colon and host in hosts:
        return host, rest
    parsed = prefixes.line("", 0, line)
    return parsed.label, parsed.text
