"""RAS's text: the only form of NCCL 2.24 to 2.28.3, and read for every later version too."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from nccltool.attach.ras.document import (
    ALL_OPERATIONS,
    NotRas,
    RasCommunicator,
    RasCount,
    RasDocument,
    RasError,
    RasGroup,
    RasMissing,
    RasProcess,
    RasStatus,
    RasStatusCount,
)

_MOST_NOT_UNDERSTOOD = 10
_LONGEST_LINE = 65536
"""A line of 65,536 characters names more than 5,000 processes."""
_N = r"(\d{1,12})"
_LIST = r"(\d{1,6}(?:,\d{1,6})*)"
_WHERE = rf"GPUs? {_LIST}(?: \(NVML {_LIST}\))? managed by process {_N} on node (\S{{1,64}})"
_NO_INFORMATION = r"\[process information not found\]"
_Handler = Callable[["_Reader", "re.Match[str]"], None]


@dataclass(slots=True)
class _Communicator:
    """A communicator under construction."""

    hash: str
    group: int
    missing: list[RasMissing] = field(default_factory=list)
    missing_ranks: int = 0
    statuses: list[RasStatusCount] = field(default_factory=list)
    errors: list[RasError] = field(default_factory=list)
    counts: list[RasCount] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    """What has been read so far, and to what the next members belong."""

    facts: dict[str, Any] = field(default_factory=dict)
    groups: list[RasGroup] = field(default_factory=list)
    communicators: dict[str, _Communicator] = field(default_factory=dict)
    dead: list[RasProcess] = field(default_factory=list)
    silent: list[RasProcess] = field(default_factory=list)
    not_understood: list[str] = field(default_factory=list)
    current: _Communicator | None = None
    operation: str = ALL_OPERATIONS
    error_when: Literal["initialization", "asynchronous"] = "asynchronous"
    add_member: Callable[[RasProcess], None] | None = None

    def document(self) -> RasDocument:
        sizes = {one.number: one.ranks_per_communicator for one in self.groups}
        count = sum(one.communicators for one in self.groups) if self.facts.get("table") else None
        return RasDocument(
            form="text",
            nccl_version=self.facts["version"],
            communicators=tuple(
                RasCommunicator(
                    hash=one.hash,
                    size=sizes.get(one.group),
                    missing=tuple(one.missing),
                    missing_ranks=max(one.missing_ranks, len(one.missing)),
                    statuses=tuple(one.statuses),
                    errors=tuple(one.errors),
                    counts=tuple(sorted(one.counts, key=lambda part: (part.operation, -part.count))),
                )
                for one in self.communicators.values()
            ),
            communicator_count=count,
            groups=tuple(self.groups),
            processes=self.facts.get("processes"),
            dead=tuple(self.dead),
            dead_processes=max(self.facts.get("dead", 0), len(self.dead)),
            silent=tuple(self.silent),
            silent_processes=max(self.facts.get("silent", 0), len(self.silent)),
            collection_s=self.facts.get("collection_s"),
            timeouts=self.facts.get("timeouts", 0),
            not_understood=tuple(self.not_understood),
        )


def parse(data: bytes) -> RasDocument:
    """The answer in `data`; raises NotRas. A document without its last heading was cut off."""
    reader = _Reader()
    for raw in data.decode(errors="replace").splitlines():
        _read(reader, raw[:_LONGEST_LINE].rstrip())
    if "version" not in reader.facts:
        raise NotRas("the text does not begin as RAS's does")
    if "warnings" not in reader.facts or not data.endswith(b"\n"):
        raise NotRas("the text ended before its last section")
    return reader.document()


def _read(reader: _Reader, line: str) -> None:
    if not line:
        reader.add_member = None
        return
    for form, handle in _LINES:
        if match := form.fullmatch(line):
            handle(reader, match)
            return
    if len(reader.not_understood) < _MOST_NOT_UNDERSTOOD:
        reader.not_understood.append(line[:200])


def _ints(text: str | None) -> tuple[int, ...]:
    return tuple(int(one) for one in text.split(",")) if text else ()


def _version(reader: _Reader, match: "re.Match[str]") -> None:
    reader.facts.setdefault("version", match[1])


def _uniform(reader: _Reader, match: "re.Match[str]") -> None:
    reader.facts["processes"] = int(match[4])


def _three(reader: _Reader, match: "re.Match[str]") -> None:
    """The last row of three is the sum."""
    reader.facts["processes"] = int(match[2])


def _communicators(reader: _Reader, match: "re.Match[str]") -> None:
    reader.facts["collection_s"] = float(match[1]) if match[1] else None


def _table(reader: _Reader, match: "re.Match[str]") -> None:
    reader.facts["table"] = True


def _group(reader: _Reader, match: "re.Match[str]") -> None:
    reader.groups.append(
        RasGroup(
            number=int(match[1]),
            communicators=int(match[2]),
            nodes=int(match[3]),
            ranks_per_communicator=int(match[5]),
            ranks=int(match[6]),
            status=match[7],
            errors=match[8],
        )
    )


def _heading(name: str) -> _Handler:
    def handle(reader: _Reader, match: "re.Match[str]") -> None:
        reader.facts[name] = True
        reader.current = reader.add_member = None

    return handle


def _ignore(reader: _Reader, match: "re.Match[str]") -> None:
    """A heading or an underline."""


def _block(reader: _Reader, match: "re.Match[str]") -> None:
    value = f"{int(match[3], 16):016x}"
    reader.current = reader.communicators.setdefault(value, _Communicator(value, int(match[1])))
    reader.add_member = None


def _silent(reader: _Reader, match: "re.Match[str]") -> None:
    reader.facts["silent"] = int(match[1])
    reader.add_member = reader.silent.append


def _dead(reader: _Reader, match: "re.Match[str]") -> None:
    reader.facts["dead"] = int(match[1])
    reader.add_member = reader.dead.append


def _missing(reader: _Reader, match: "re.Match[str]") -> None:
    if (one := reader.current) is None:
        return
    one.missing_ranks = int(match[1])
    reader.add_member = lambda process: one.missing.append(RasMissing(process=process, unresponsive=True))


def _missing_list(reader: _Reader, match: "re.Match[str]") -> None:
    for rank in _ints(match[1]):
        _member(reader, RasProcess(rank=rank))


def _member(reader: _Reader, process: RasProcess) -> None:
    if reader.add_member:
        reader.add_member(process)


def _process(reader: _Reader, match: "re.Match[str]") -> None:
    gpus, nvml = _ints(match[3]), _ints(match[4])
    _member(reader, RasProcess(host=match[2], pid=int(match[1]), gpus=gpus, nvml_gpus=nvml))


def _rank(reader: _Reader, match: "re.Match[str]") -> None:
    _member(reader, _placed(match, 2))


def _placed(match: "re.Match[str]", first: int) -> RasProcess:
    """Group 1 is the rank; the four of _WHERE begin at `first`, all None where NCCL found no process."""
    gpus, nvml, pid, host = match.groups()[first - 1 : first + 3]
    return RasProcess(
        rank=int(match[1]),
        host=host or "",
        pid=int(pid) if pid else None,
        gpus=_ints(gpus),
        nvml_gpus=_ints(nvml),
    )


def _when(reader: _Reader, match: "re.Match[str]") -> None:
    reader.error_when = "initialization" if match[1] == "Initialization" else "asynchronous"


def _error(reader: _Reader, match: "re.Match[str]") -> None:
    _add(reader, "errors", RasError(when=reader.error_when, error=match[2], ranks=int(match[1])))


def _error_of_one(reader: _Reader, match: "re.Match[str]") -> None:
    process = _placed(match, 3)
    _add(reader, "errors", RasError(when=reader.error_when, error=match[2], ranks=1, members=(process,)))


def _status(reader: _Reader, match: "re.Match[str]") -> None:
    _add(reader, "statuses", RasStatusCount(status=_of_word(match[2]), ranks=int(match[1])))


def _status_of_one(reader: _Reader, match: "re.Match[str]") -> None:
    process = _placed(match, 3)
    _add(reader, "statuses", RasStatusCount(status=_of_word(match[2]), ranks=1, members=(process,)))


def _of_word(word: str) -> RasStatus:
    return cast("RasStatus", word) if word in get_args(RasStatus) else "UNKNOWN"


def _operation(reader: _Reader, match: "re.Match[str]") -> None:
    reader.operation = ALL_OPERATIONS if match[1] == "collective" else match[1]
    reader.add_member = None


def _launched(reader: _Reader, match: "re.Match[str]") -> None:
    count = RasCount(operation=reader.operation, count=int(match[2] or 0), ranks=int(match[1]))
    _add(reader, "counts", count)


def _launched_by_one(reader: _Reader, match: "re.Match[str]") -> None:
    process = _placed(match, 3)
    count = RasCount(operation=reader.operation, count=int(match[2] or 0), ranks=1, members=(process,))
    _add(reader, "counts", count)


def _add(reader: _Reader, part: str, item: RasError | RasStatusCount | RasCount) -> None:
    """A set of ranks; the lines after it name its members."""
    if reader.current is None:
        return
    parts: list[Any] = getattr(reader.current, part)
    parts.append(item)
    place = len(parts) - 1

    def add_member(process: RasProcess) -> None:
        one = parts[place]
        if len(one.members) < one.ranks:
            parts[place] = _with_member(one, process)

    reader.add_member = add_member


def _with_member(one: Any, process: RasProcess) -> Any:
    values = {name: getattr(one, name) for name in one.__dataclass_fields__}
    return type(one)(**{**values, "members": (*one.members, process)})


def _timeouts(reader: _Reader, match: "re.Match[str]") -> None:
    reader.facts["timeouts"] = int(match[1])


def _lines(*rows: tuple[str, _Handler]) -> tuple[tuple[re.Pattern[str], _Handler], ...]:
    return tuple((re.compile(form), handle) for form, handle in rows)


_PLACE = rf"(?: -- (?:{_WHERE}|{_NO_INFORMATION}))?"
_LINES = _lines(
    (rf"\s+Rank {_N} -- (?:{_WHERE}|{_NO_INFORMATION})", _rank),
    (rf"\s+{_N} ranks? (?:have|has) (?:launched up to operation {_N}|not launched any operations)", _launched),
    (rf"\s+Rank {_N} has (?:launched up to operation {_N}|not launched any operations){_PLACE}", _launched_by_one),
    (rf"\s+{_N} ranks? (?:have|has) status (\w{{1,20}})", _status),
    (rf"\s+Rank {_N} has status (\w{{1,20}}){_PLACE}", _status_of_one),
    (rf"\s+{_N} ranks? reported ([\w ]{{1,60}})", _error),
    (rf"\s+Rank {_N} reported ([\w ]{{1,60}}?){_PLACE}", _error_of_one),
    (rf"\s+Process {_N} on node (\S{{1,64}}) managing GPUs? {_LIST}(?: \(NVML {_LIST}\))?", _process),
    (r"\s+\[could not find information on \d+ process(?:es)?\]", _ignore),
    (r"#(\d{1,6})-(\d{1,6}) \(([0-9a-f]{1,16})\) (?:INCOMPLETE|ERROR|MISMATCH)", _block),
    (r"\s+Communicator ranks have different status", _ignore),
    (r"\s+Communicator ranks have different (\w{1,30}) operation counts", _operation),
    (rf"\s+Missing communicator data from {_N} ranks?", _missing),
    (rf"\s+The missing ranks?: {_LIST}", _missing_list),
    (r"\s+(Initialization|Asynchronous) errors? on \d+ ranks?", _when),
    (rf"\s+Missing communicator data from {_N} job process(?:es)?", _silent),
    (rf"\s+{_N} job process(?:es)? (?:is|are) considered dead.{{0,60}}", _dead),
    (rf"\s+Encountered {_N} communication timeouts? while gathering communicator data", _timeouts),
    (rf"\s*{_N}\s+{_N}\s+{_N}\s+(\d+(?:-\d+)?)\s+{_N}\s+{_N}\s+([A-Z]{{1,20}})\s+(\S[\w, ]{{0,60}})", _group),
    (rf"\s*{_N}\s+{_N}\s+{_N}\s+{_N}\s+{_N}", _uniform),
    (rf"\s*{_N}\s+{_N}\s+{_N}", _three),
    (rf"\s*{_N}\s+{_N}", _ignore),
    (r"NCCL version (\S{1,60}) compiled with CUDA \S{1,60}", _version),
    (r"CUDA runtime version \d+, driver version \d+", _ignore),
    (r"Job summary|=+|INCOMPLETE|DEAD|TIMEOUT|No communicator data collected!", _ignore),
    (r"\s*(?:Nodes|Processes|\(total\)|per node)\s.*", _ignore),
    (r"\s*The outlier nodes?:|\s+Node \S{1,64} running process(?:es)? [\d,]+", _ignore),
    (r"Communicators\.\.\.(?: \((\d{1,6}\.\d{1,6})s\))?", _communicators),
    (r"Group\s+Comms\s+Nodes.*", _table),
    (r"\s*# +in group.*", _ignore),
    (r"Errors", _heading("errors")),
    (r"Warnings", _heading("warnings")),
)
