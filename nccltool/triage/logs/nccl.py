"""NCCL's and RCCL's own lines: the grammar of the prefix, and what the lines say about how things are.

`host:pid:tid [dev] file:line NCCL LEVEL text`, versions 2.4 to 2.32, also several of them mixed into one line.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from nccltool.triage.logs import nccl_internal, nccl_warnings, prefixes
from nccltool.triage.logs.base import LONGEST_TEXT, LogEvent, SourceLine
from nccltool.triage.logs.patterns import LogPattern, PatternTable, event, table
from nccltool.triage.logs.prefixes import time_of

_PREFIX = re.compile(
    r"(?<![\w.-])(?:(?P<host>[A-Za-z0-9][\w.-]{0,79}|<host>):(?P<pid>\d{1,9}):(?P<tid>\d{1,9})[ ]+)?"
    r"(?:\[(?P<dev>-?\d{1,9})\][ ]+)?"
    r"(?:(?P<ms>\d{1,12}\.\d{1,9})[ ]+)?(?:(?P<where>[\w./-]{1,255}:\d{1,6})[ ]+)?(?:\([^)]{0,99}\)[ ]+)?"
    r"(?:(?:NCCL|RCCL|CCOM)[ ]+|(?<=\][ ])|(?<=:\d\d[ ])|(?<=:\d\d\d[ ]))"
    r"(?P<level>INFO|WARN|TRACE|CALL|ABORT|ATTN)\b[ ]?"
)

_MARK = re.compile(r"\b(?:NCCL|RCCL|CCOM) |:\d+:\d+ \[-?\d+\] ")
"""Before 2.4 the name of the library was not printed; then host, pid, tid and device stand before the level."""

_PLAIN = re.compile(r"[A-Za-z0-9][\w.-]{0,79}:\d{1,9}:\d{1,9} \[\d+\] NCCL (?:INFO|WARN) ")
_LEVELS = re.compile(r"INFO|WARN|TRACE|CALL|ABORT|ATTN")
"""Where none of them follows a plain prefix, it is the only one: most lines need no further search."""

_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_INFO = " NCCL INFO "
_MOST_WRITERS = 20_000
"""Beginnings of lines that are remembered: where each has a time in it, more would only cost memory."""

_NAME_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_STATES = table(
    r"""
echo
    nccl.trace          ^(?P<where>\S+):\d+` -> 1| -> 2| -> 3| -> 4| -> 5| -> 6`\b
doubt
    nccl.retry          connect to (?P<peer>[\w.:%-]+)<(?P<port>\d+)> returned (?P<error>[\w ]+), `retrying`(?:
                        [ ]\((?P<try>\d+)/(?P<of>\d+)\))?
    nccl.retry          [Cc]`onnect returned` (?P<error>[\w ]+), retrying(?: \((?P<try>\d+)/(?P<of>\d+)\))?
state
    nccl.driver         `cudaDriverVersion` (?P<version>\d+)
    nccl.env            \b(?P<name>[A-Z][A-Z0-9]+_[A-Z0-9_]+)` set by environment to | set to `(?P<value>.*?)\.?$
    nccl.bootstrap      `Bootstrap` ?: Using (?:\[0\])?(?P<interface>[^\s:]+):(?P<address>[\w.:%]+|\[[^\]]*\])<
    nccl.bootstrap      NET : `Using interface` (?P<interface>[^\s:]+):(?P<address>[\w.:%]+)<
    nccl.network        `Using internal Network` (?P<name>\w+)
    nccl.ib             `NET/IB : Using` (?P<devices>\[.*?)\s*(?:; OOB (?P<oob>.*))?$
    nccl.no-ib          `NET/IB : No device found`
    nccl.no-verbs       `Failed to open libibverbs`
    nccl.socket         `NET/Socket : Using` (?P<interfaces>\[.*)
    nccl.network        `Using network `(?P<name>.+)$
    nccl.network        `Assigned NET plugin `(?P<name>\w+) to comm
    nccl.plugin-loaded  `Loaded net plugin` (?P<name>.+?) \(v(?P<api>\d+)\)
    nccl.init-start     comm (?P<comm>0x\w+) rank (?P<rank>\d+) n[rR]anks (?P<nranks>\d+).*?(?:busId
                        [ ](?P<bus>\w+))?(?: commId (?P<id>\w+))?(?: parent .*?)? ?- `Init START`
    nccl.init-complete  comm (?P<comm>0x\w+) rank (?P<rank>\d+) n[rR]anks (?P<nranks>\d+).*`Init COMPLETE`
    nccl.comm           comm (?P<comm>0x\w+) rank (?P<rank>\d+) nRanks (?P<nranks>\d+) `nNodes` (?P<nodes>\d+)
                        [ ]localRanks (?P<local>\d+)
    nccl.channel        (?:Channel|Ring) \S+ : (?P<from>\d+)\[\w+\] -> (?P<to>\d+)\[\w+\](?: \[(?P<way>send|
                        receive)\])?` via `(?P<via>\S.*)$
    nccl.rings          `Connected all rings`(?:, use ring PXN \d GDR (?P<gdr>\d))?
    nccl.channels       (?P<count>\d+)` coll channels`
    nccl.nvls-setup     `NVLS Creating Multicast group|NVLS Bind mem`
    nccl.nvls           `NVLS multicast support is `(?P<state>not available|available)
    nccl.gdr-hca        `GPU Direct RDMA `(?P<state>Enabled|Disabled) for HCA (?P<index>\d+)(?: '(?P<hca>[^']+)')?
    nccl.gdr-distance   `GPU Direct RDMA `(?P<state>Enabled|Disabled) for GPU (?P<gpu>\S+) / HCA (?P<hca>\S+)
                        [ ]\(distance (?P<distance>\d+) (?P<sign>\S+) (?P<limit>\d+)
    nccl.mnnvl          `MNNVL 1`(?: cliqueId (?P<clique>\w+))?
    nccl.mnnvl          `MNNVL busId`(?!.* UUID 0\.0 ).* state 3\b
    nccl.external       `loaded external `(?P<what>tuner|profiler) plugin (?P<name>\S+)
    nccl.external       (?P<what>PROFILER|TUNER)/Plugin: `Plugin name set by env to` (?P<name>\S+)
    plugin.named        NET/Plugin: `Plugin name set by env to` (?P<name>/\S+)
    plugin.no-symbol    `symbol in /` => Failed to find ncclNet\w* symbol in (?P<name>/\S+\w)
    plugin.named        `Plugin Path : `(?P<name>/\S+)
    nccl.gid            ` GID ` => NET/IB: .*(?:Dev|IbDev) (?P<device>\d+) Port \d+ .*GID (?P<gid>\d+)
                        [ ]\((?P<value>[^)]*)\)
    nccl.dmabuf         `DMA-BUF is available`
    nccl.p2p-disabled   `P2P is disabled between` connected GPUs (?P<a>\d+) and (?P<b>\d+)
    nccl.narrow         `=== System : maxBw` (?P<bw>0\.\d+) total
    topology.no-numa    ^\s*CPU/(?:\d+-)?`ffffffff|-1 `
    nccl.simple-order   `falling back to simple order`
    nccl.p2p-check      `isAllDirectP2p` (?P<direct>\d)
    nccl.call           (?P<op>\w+):` opCount `(?P<sequence>\w+) .*?count (?P<count>\d+) datatype (?P<type>\d+) op
                        [ ](?P<reduce>\d+) root (?P<root>\d+) comm (?P<comm>\S+)
    nccl.aborted        comm (?P<comm>0x\w+) rank (?P<rank>\d+).*`Abort COMPLETE`
success
    nccl.destroyed      comm (?P<comm>0x\w+) rank (?P<rank>\d+).*`Destroy COMPLETE`
""",
    before={" set by environment to ": _NAME_LETTERS, " set to ": _NAME_LETTERS},
)
"""How things are; what went wrong is in nccl_warnings."""
_VERSIONS = table(r"""
state
    nccl.version  \bR?N?`CCL version`\s*:?\s*(?P<version>\d+\.\d+(?:\.\d+)?[\w.+-]*)
    nccl.version  `nccl==`(?P<version>\d+\.\d+\.\d+)
""")
"""What NCCL and others print without the prefix too."""
PATTERNS = PatternTable(*nccl_warnings.PATTERNS, *nccl_internal.PATTERNS, *_VERSIONS, *_STATES)
_OF_INFO = PatternTable(*(item for item in PATTERNS if item.kind != "nccl.connect-failed"))
"""At level INFO a connection that fails is tried again."""
_WITHOUT = PatternTable(*nccl_warnings.PATTERNS, *nccl_internal.PATTERNS, *_VERSIONS)
"""Without the prefix a text of NCCL is one that torch repeats ("Last error:"), or a bare version line."""


def segments(line: SourceLine) -> Iterator[tuple[SourceLine, re.Match[str] | None]]:
    """The messages in a line: interleaved writers can put several behind one another."""
    starts = [match for match in _prefixes(line.text) if match["host"] or "CCL" in match[0]]
    if not starts:
        yield line, None
        return
    if before := line.text[: starts[0].start()].strip():
        yield _with(line, before, line.host, line.pid), None
    for match, following in zip(starts, [*starts[1:], None], strict=True):
        end = following.start() if following else len(line.text)
        yield _with(line, line.text[match.end() : end].rstrip(), line.host, line.pid), match


@lru_cache(maxsize=4)
def _prefixes(text: str) -> tuple[re.Match[str], ...]:
    plain = _PLAIN.match(text)
    if plain and not _LEVELS.search(text, plain.end()):
        only = _PREFIX.match(text)
        return (only,) if only else ()
    return tuple(_PREFIX.finditer(text)) if _MARK.search(text) else ()


def attributed(line: SourceLine) -> SourceLine:
    """The line with the host and process of its first prefix, so that other dialects know them too."""
    match = next(iter(_prefixes(line.text)), None)
    if match is None or match["host"] is None:
        return line
    return _with(line, line.text, match["host"], int(match["pid"]))


def _with(line: SourceLine, text: str, host: str | None, pid: int | None) -> SourceLine:
    """The line with another text or writer; four times as fast as `replace`."""
    return SourceLine(
        file=line.file,
        number=line.number,
        text=text,
        label=line.label,
        host=host,
        rank=line.rank,
        task=line.task,
        pid=pid,
        address=line.address,
        time=line.time,
    )


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What NCCL says in a line."""
    for part, prefix in segments(line):
        known: dict[str, int | str | None] = {}
        where: dict[str, str] = {}
        if prefix:
            known = {"host": prefix["host"], "pid": prefix["pid"], "device": prefix["dev"]}
            where = {"where": prefix["where"]} if prefix["where"] else {}
        known_texts = (_OF_INFO if prefix["level"] == "INFO" else PATTERNS) if prefix else _WITHOUT
        matches = list(known_texts.found(part.text))
        yield from (event(item, part, fields | where, **known) for item, fields in matches)
        if prefix and prefix["level"] == "WARN" and not matches:
            yield event(nccl_warnings.UNKNOWN, part, where, **known)


class PlainInfoLines:
    """What stands before ` NCCL INFO ` in plain lines: each process writes the same thousands of times."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._known: dict[str, tuple[SourceLine, int | None] | None] = {}

    def plain(self, number: int, text: str) -> "PlainInfoLine | None":
        """A line that NCCL wrote without another one in it. None: it is to be taken apart as any other line is."""
        head, mark, message = text.partition(_INFO)
        if not mark or _has_level(message):
            return None
        if head not in self._known and len(self._known) < _MOST_WRITERS:
            self._known[head] = self._taken_apart(head)
        known = self._known.get(head)
        if known is None:
            return None
        whole = text[len(head) - len(known[0].text) :]
        return PlainInfoLine(known[0], known[1], number, whole, message.rstrip(), time_of(text))

    def _taken_apart(self, head: str) -> tuple[SourceLine, int | None] | None:
        """What the labels and the prefix say, if there is one prefix with nothing around it."""
        line = attributed(prefixes.line(self._file, 0, head + _INFO))
        own, found = line.text.removesuffix(_INFO), _prefixes(line.text)
        if len(found) != 1 or found[0].span() != (0, len(line.text)) or not head.endswith(own):
            return None
        match = found[0]
        device = int(match["dev"]) if match["dev"] and _NUMBER.fullmatch(match["dev"]) else None
        return (_with(line, own, line.host, line.pid), device) if match["host"] and not match["where"] else None


def _has_level(text: str) -> bool:
    """Whether a second line may be in it; a search for all of these words at once takes three times as long."""
    return (
        "INFO" in text or "WARN" in text or "TRACE" in text or "CALL" in text or "ABORT" in text or "ATTN" in text
    )


class PlainInfoLine(NamedTuple):
    """A line with one message of level INFO, and whose it is."""

    writer: SourceLine
    device: int | None
    number: int
    text: str
    message: str
    time: str | None

    def line(self) -> SourceLine:
        return msgspec.structs.replace(self.writer, number=self.number, text=self.text, time=self.time)

    def events(self, there: tuple[str, ...]) -> list[LogEvent]:
        """What NCCL says in it; its literals are known."""
        return [self._event(*found) for found in _OF_INFO.found(self.message, there)]

    def _event(self, item: LogPattern, fields: dict[str, str]) -> LogEvent:
        """As `event` makes it; this is most of what is read of a large log."""
        writer, rank = self.writer, fields.get("rank")
        return LogEvent(
            kind=item.kind,
            role=item.role,
            text=self.message[:LONGEST_TEXT],
            file=writer.file,
            line=self.number,
            label=writer.label,
            host=writer.host,
            rank=int(rank) if rank and rank.isdecimal() and len(rank) < 10 else writer.rank,
            task=writer.task,
            pid=writer.pid,
            device=self.device,
            time=self.time,
            fields=fields,
        )
