"""Output of nccl-tests and rccl-tests: rows, wrong elements, how they ended."""

from collections.abc import Iterator

from msgspec.structs import replace

from nccltool.triage.logs.base import LogEvent, SourceLine, echo, event, failure, found, state, success

_HALF = r"\s+[\d.]+\s+[\d.]+\s+(?P<{0}>[\d.]+)\s+(?P<{1}>\d+|N/A|\d(?:\.\d+)?e[+-]\d+)"
_ROW = (
    r"^\s*(?P<bytes>\d+)\s+(?P<count>\d+)\s+(?P<type>[a-z][a-z0-9_]+)\s+(?P<op>[a-z]+|N/A)(?:\s+-?\d+)?"
    + _HALF.format("busbw", "wrong")
    + f"(?:{_HALF.format('inbusbw', 'inwrong')})?\\s*$"
)
_TYPES = (
    "float",
    "half",
    "bfloat16",
    "double",
    "int8",
    "uint8",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "fp8_e4m3",
    "fp8_e5m2",
)

PATTERNS = (
    *(state("bench.row", f" {name} ", _ROW) for name in _TYPES),
    state("bench.header", "busbw", r"^#?\s*size\s+count\s+.*busbw"),
    success("bench.average", "Avg bus bandwidth", r"Avg bus bandwidth\s*:\s*(?P<busbw>[\d.]+)"),
    success("bench.bounds", "Out of bounds values", r"Out of bounds values : 0 OK"),
    failure("data.wrong", "Out of bounds values", r"Out of bounds values : (?P<count>[1-9]\d*) FAILED"),
    state(
        "bench.device",
        " device ",
        r"#\s+Rank\s+(?P<of>\d+)\s.*?(?:Pid\s+(?P<pid>\d+) )?on\s+(?P<node>\S+) device\s+\d+ \[(?P<bus>[^\]]+)"
        r"\]\s*(?P<gpu>.*)",
    ),
    echo("bench.failed", "Test NCCL failure", r"^(?P<node>[\w.-]+): Test NCCL failure \S+ '(?P<error>[^'/]+)"),
    echo("bench.failed", "Test CUDA failure", r"^(?P<node>[\w.-]+): Test CUDA failure \S+ '(?P<error>[^']+)'"),
    echo("bench.failed", ": Test failure"),
    failure("bench.timeout", "Test timeout", r"^(?P<node>[\w.-]+): Test timeout \((?P<limit>\d+)s\)"),
    state("bench.command", "_perf", r"(?P<program>\w+_perf\w*)"),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What a test says in a line; wrong elements in a row are a failure."""
    for item, fields in found(PATTERNS, line.text):
        made = event(item, line, fields, host=fields.get("node"))
        yield made
        wrong = [fields[name] for name in ("wrong", "inwrong") if fields.get(name, "").isdecimal()]
        if item.kind == "bench.row" and any(int(number) for number in wrong):
            yield replace(made, kind="data.wrong", role="failure")
