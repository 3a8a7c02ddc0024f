"""LOOK at text: lines of NCCL, torch, launchers and kernels become typed events. One dialect a file."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import chain

from msgspec.structs import replace

from nccltool.core import json_file_logs
from nccltool.core.errors import BadInput
from nccltool.triage.defects import marks
from nccltool.triage.logs import (
    channel_lines,
    complaints,
    connections,
    cuda,
    dull_lines,
    fabrics,
    frameworks,
    gloo,
    job_ids,
    kernel,
    kubernetes,
    limits,
    line_decoder,
    literal_search,
    log_files,
    milestones,
    mpi,
    nccl,
    nccl_tests,
    nccl_warnings,
    prefixes,
    progress,
    rdma,
    remarks,
    rendezvous,
    schedulers,
    settings,
    shell,
    slurm,
    storage,
    torch,
    torchrun,
    tracebacks,
)
from nccltool.triage.logs.base import CUT, UNREAD, WORDS, LogEvent
from nccltool.triage.logs.patterns import literals
from nccltool.triage.wording.words import TextSample, words_of

_DIALECTS = (
    *(torch, gloo, rendezvous, connections, schedulers, slurm, kubernetes, job_ids, kernel, limits, cuda, fabrics),
    *(frameworks, mpi, rdma, storage, complaints),
    *(nccl_tests, progress, settings, shell, milestones, marks),
)
"""Those that look at one line at a time. NCCL's writers can share a line; torchrun's tables, stacks and tracebacks
have several lines."""
_STATELESS = tuple(
    (dialect.PATTERNS, getattr(dialect, "events", dialect.PATTERNS.events)) for dialect in _DIALECTS
)
_BY_LITERAL = (*(table for table, _ in _STATELESS), torchrun.PATTERNS, remarks.PATTERNS, tracebacks.PATTERNS)
PATTERNS = (*nccl.PATTERNS, nccl_warnings.UNKNOWN, *chain(*_BY_LITERAL))
"""All patterns; a line that contains none of their literals says nothing, unless a traceback is open."""
dull_lines.set_patterns(PATTERNS)
_OF_TRACEBACKS = len(_BY_LITERAL) - 1
_REMEMBERING = (torchrun.PATTERNS, tracebacks.PATTERNS)
"""Those of readers that keep something of a line of which they make no event."""
_ASKED: dict[str, list[int]] = {}
"""Literal -> the numbers of the dialects, NCCL's own aside, that are asked about a line that contains it."""
for _number, _table in enumerate(_BY_LITERAL):
    for _literal in {item.literal for item in _table}:
        _ASKED.setdefault(_literal, []).append(_number)
_REPEATS = 2000
"""Events of one kind that are handed on from one file."""
_REPEATS_OF = dict.fromkeys(("nccl.init-start", "nccl.init-complete", "nccl.comm"), 10_000)
"""More, where each line says it of another rank and communicator: which rank is missing must be seen."""
_CAN_END = frozenset(
    item.kind
    for item in (*nccl.PATTERNS, *chain(*(table for table, _ in _STATELESS if table is not nccl_tests.PATTERNS)))
    if item.role in ("state", "success")
) - {"nccl.channel"}
"""Kinds whose lines are no longer looked for when enough of them have been read: nothing else is made of them."""
_GOES_ON = "job.progress"
_GOES_ON_BEHIND = 64
"""Steps that are handed on behind a failure, however many have been before it."""


@lru_cache(maxsize=32)
def _search_without(ended: frozenset[str]) -> literal_search.LiteralSearch:
    return literal_search.LiteralSearch(item for item in PATTERNS if item.kind not in ended)


def cut(file: str, lines: int) -> LogEvent:
    """That a log ends early, behind so many lines."""
    return LogEvent(kind=CUT, role="doubt", text="(the file ends early)", file=shown_name(file), line=lines)


def unread(file: str, lines: int, why: str) -> LogEvent:
    """That a file could not be read behind so many lines."""
    return LogEvent(kind=UNREAD, role="doubt", text=shown_name(why), file=shown_name(file), line=lines)


def _worded(file: str, lines: int, sample: TextSample) -> Iterator[LogEvent]:
    """The words of a log of so many lines, if it has any."""
    if words := words_of(line_decoder.clean(json_file_logs.unwrapped(sample.text, times=False))):
        said = {"words": " ".join(sorted(words))}
        yield LogEvent(kind=WORDS, role="state", text="", file=shown_name(file), line=lines, fields=said)


def shown_name(file: str) -> str:
    """A name may not be UTF-8, documents are."""
    return file.encode(errors="backslashreplace").decode()


class LogReader:
    """Reads any number of logs, one after the other; holds no lines."""

    def __init__(self, may_skip: Collection[str] = ()) -> None:
        """`may_skip`: files that are left out where they cannot be read; of these an event tells why."""
        self._may_skip = frozenset(may_skip)
        self.lines_read = 0
        self.lines_of: Counter[str] = Counter()

    def read_file(self, file: str) -> Iterator[LogEvent]:
        """The events of one file; behind them its words, and that it ends early.

        Raises BadInput when it cannot be read.
        """
        content, before, sample = log_files.LogContent(file), self.lines_read, TextSample()
        try:
            yield from self.read(file, sample.of(content))
        except BadInput as error:
            if file not in self._may_skip:
                raise
            yield unread(file, self.lines_read - before, error.message)
        self.lines_of[file] += self.lines_read - before
        yield from _worded(file, self.lines_read - before, sample)
        if content.ends_early:
            yield cut(file, self.lines_read - before)

    def read(self, file: str, chunks: Iterable[bytes]) -> Iterator[LogEvent]:
        """The events of one log, in the order of its lines."""
        log, before = IncrementalLogReader(file), self.lines_read
        for block in line_decoder.blocks(chunks):
            yield from log.read(block)
            self.lines_read = before + log.lines_read
        yield from log.counted()


class IncrementalLogReader:
    """Reads one log whose lines come little by little; holds no lines."""

    def __init__(self, file: str) -> None:
        self.lines_read = 0
        self._file = shown_name(file)
        self._channels = channel_lines.ChannelLines()
        self._ends = tracebacks.Tracebacks()
        self._answers = shell.Answers()
        self._writers = nccl.PlainInfoLines(self._file)
        own = (torchrun.reader(), remarks.reader(), self._ends.events)
        self._readers = (*(events for _, events in _STATELESS), *own)
        self._counts: Counter[str] = Counter()
        self._ended: frozenset[str] = frozenset()
        self._dull = dull_lines.DullLines()
        self._search = _search_without(self._ended)

    def read(self, block: bytes) -> Iterator[LogEvent]:
        """The events of the lines that come next; only the last one of a log can be without its end."""
        for piece in self._channels.without(json_file_logs.unwrapped(block, times=True)):
            yield from self._events(piece)
        self.lines_read = self._channels.lines

    def of_a_part(self, line: bytes) -> Iterator[LogEvent]:
        """What the beginning of the next line would say if it were all of it. Nothing is remembered of that."""
        yield from IncrementalLogReader(self._file)._events(channel_lines.LineBlock(line, [self.lines_read + 1]))

    def counted(self) -> Iterator[LogEvent]:
        """The events that stand for many lines, since this was asked last."""
        for event, more in self._channels.counted():
            yield replace(event, repeats=more)

    def _events(self, piece: channel_lines.LineBlock) -> Iterator[LogEvent]:
        """The events of whole lines."""
        for number, raw in self._worth_reading(piece):
            for part in line_decoder.parts(raw):
                if part in self._dull and not self._waits(number):
                    continue
                text = line_decoder.clean(part)
                found = self._of(number, text)
                wanted = [event for event in found if self._is_wanted(event)]
                if alike := piece.alike:
                    channels = [event for event in found if event.kind == "nccl.channel"]
                    alike.event = channels[-1] if channels else alike.event
                    alike.handed += sum(event in wanted for event in channels)
                elif not wanted and not self._waits(number):
                    self._learn(part, number, text, found)
                yield from wanted

    def _waits(self, number: int) -> bool:
        """Whether the line of this number is read whatever it contains."""
        return number == self._answers.number or self._ends.waits(number)

    def _is_wanted(self, event: LogEvent) -> bool:
        kind = event.kind
        self._counts[kind] += 1
        most = _REPEATS_OF.get(kind, _REPEATS)
        if self._counts[kind] == most and kind in _CAN_END:
            self._ended |= {kind}
            self._search = _search_without(self._ended)
        if event.role in ("failure", "echo") and self._counts[_GOES_ON] > _REPEATS - _GOES_ON_BEHIND:
            self._look_for_steps()
        return self._counts[kind] <= most

    def _look_for_steps(self) -> None:
        """Whether a job goes on behind a failure must be seen, however many steps came before it."""
        self._counts[_GOES_ON] = _REPEATS - _GOES_ON_BEHIND
        self._ended -= {_GOES_ON}
        self._search = _search_without(self._ended)
        self._dull.forget_full()

    def _learn(self, part: bytes, number: int, text: str, found: list[LogEvent]) -> None:
        """That nothing is handed on of a line, unless a reader keeps something of it."""
        line = prefixes.line(self._file, number, text).text
        if not any(True for table in _REMEMBERING for _ in table.found(line)):
            self._dull.learn(part, line, is_full=bool(found))

    def _of(self, number: int, text: str) -> list[LogEvent]:
        there = literals(text)
        waits = self._ends.waits(number)
        if number == self._answers.number and not waits:
            return list(self._answers.events(prefixes.line(self._file, number, text)))
        if not there and not waits:
            return []
        asked = {index for literal in there for index in _ASKED.get(literal, ())}
        plain = self._writers.plain(number, text)
        if plain and not asked and not waits:
            return _settled(plain.events(there))
        line = plain.line() if plain else nccl.attributed(prefixes.line(self._file, number, text))
        line = self._ends.placed(line) if waits else line
        events = plain.events(there) if plain else list(nccl.events(line))
        for index in sorted(asked):
            events += self._readers[index](line)
        if waits and _OF_TRACEBACKS not in asked:
            events += self._ends.events(line)
        if "ulimit" in text:
            self._answers.asked(number, text)
        return _settled(events)

    def _worth_reading(self, piece: channel_lines.LineBlock) -> Iterator[tuple[int, bytes]]:
        """The lines that contain something; while a traceback is open, each line."""
        lines, numbers = piece.lines.split(b"\n"), piece.numbers
        places = self._of_interest(piece, lines)
        index, following = 0, next(places, len(numbers))
        while index < len(numbers):
            number = numbers[index]
            if number != self._answers.number and not self._ends.waits(number):
                while following < index:
                    following = next(places, len(numbers))
                index = following
            if index < len(numbers):
                yield numbers[index], lines[index]
                index += 1

    def _of_interest(self, piece: channel_lines.LineBlock, lines: list[bytes]) -> Iterator[int]:
        """The places of the lines that contain a literal and are not known to be dull."""
        some = None if piece.alike else self._dull.others(piece.lines)
        text = piece.lines if some is None else b"\n".join([lines[place] for place in some])
        after = self._search.searcher(text)
        start = index = 0
        while start < len(text) and (place := after(start)) >= 0:
            begin = max(start, text.rfind(b"\n", start, place) + 1)
            index += text.count(b"\n", start, begin)
            yield index if some is None else some[index]
            end = text.find(b"\n", place)
            index, start = index + 1, (len(text) if end < 0 else end + 1)


def _settled(events: list[LogEvent]) -> list[LogEvent]:
    """The events of one line, where a text that is known precisely silences the general ones.

    An exception whose text says what failed is only its echo; a warning is not unknown when another dialect
    knows it.
    """
    if events and _PASSED.match(events[0].text):
        return [event for event in events if event.role in ("state", "success")]
    if events and _DEBUG.search(events[0].text):
        return [event for event in events if event.role not in ("failure", "echo")]
    if events and _INFO.search(events[0].text):
        events = [event for event in events if event.family not in ("gdr", "gdrcopy")]
    if len(events) < 2:
        return events
    if any(event.kind == "plugin.broken" for event in events):
        events = [event for event in events if event.kind != "version.library"]
    if any(event.kind not in _VAGUE and event.kind != "shell.env" for event in events):
        events = [event for event in events if event.kind != "log.complaint"]
    if any(event.role == "failure" and event.kind not in ("app.exception", "nccl.warning") for event in events):
        events = [event for event in events if event.kind != "nccl.warning"]
        return [_as_echo(event) if event.kind == "app.exception" else event for event in events]
    return events


_INFO = re.compile(r"\b(?:NCCL|RCCL) INFO (?!GDRCOPY|NET/OFI)|\bUCX +(?:DIAG|INFO|DEBUG)\b")
"""What NCCL and UCX say in passing about what a host lacks is no failure."""
_DEBUG = re.compile(r"\bUCX +(?:DEBUG|TRACE|DATA|REQ)\b|\bpinned memory pool will not be available\b")
"""What UCX looks for in vain on most hosts, and what Triton says before it serves from the CPU."""
_PASSED = re.compile(
    r"\W{0,4}(?:PASS(?:ED)?|OK|\u2713|\u2714)\b\W{0,3}\s"
    r"|(?:\[gw\d+\] )?\S+\.py::\S+ (?:PASSED|XFAIL|XPASS|SKIPPED)\b"
)
"""A check that says so, or a test of pytest that went as expected, whatever it has looked for."""
_VAGUE = (
    "log.complaint",
    "job.milestone",
    "nccl.warning",
    "ucx.failed",
    "efa.warned",
    "job.of-slurm",
    "gdr.buffer",
    "nvshmem.version",
    "version.release",
    "log.mention",
    "nccl.frame",
)
"""Kinds of lines of which another dialect knows only who says them."""


def _as_echo(event: LogEvent) -> LogEvent:
    return replace(event, kind="app.echo", role="echo")
