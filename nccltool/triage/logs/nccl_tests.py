"""Output of nccl-tests and rccl-tests: rows, wrong elements, how they ended."""

from collections.abc import Iterator

from msgspec.structs import replace

from nccltool.triage.logs.base import LogEvent, SourceLine
from nccltool.triage.logs.patterns import table

_HALF = r"\s+[\d.]+\s+[\d.]+\s+(?P<{0}>[\d.]+)\s+(?P<{1}>\d+|N/A|\d(?:\.\d+)?e[+-]\d+)"
_ROW = (
    r"^\s*(?P<bytes>\d+)\s+(?P<count>\d+)\s+(?P<type>[a-z][a-z0-9_]+)\s+(?P<op>[a-z]+|N/A)(?:\s+-?\d+)?"
    + _HALF.format("busbw", "wrong")
    + f"(?:{_HALF.format('inbusbw', 'inwrong')})?\\s*$"
)
_UNCHECKED = (
    r"^\s*(?P<bytes>\d+)\s+(?P<count>\d+)\s+(?P<type>[a-z][a-z0-9_]+)(?:\s+(?P<op>[a-z]+|N/A))?(?:\s+-?\d+)?"
    r"\s+[\d.]+\s+[\d.]+\s+(?P<busbw>\d+\.\d+)(?:\s+N/A)?\s*$"
)
"""A row of a test that checked nothing (-c 0), as older ones print it."""

PATTERNS = table(
    r"""
failure
    data.wrong     `Out of bounds values` : (?P<count>[1-9]\d*) FAILED
    bench.timeout  ^(?P<node>[\w.-]+): `Test timeout` \((?P<limit>\d+)s\)
echo
    bench.failed   ^(?P<node>[\w.-]+): `Test NCCL failure` \S+ '(?P<error>[^'/]+)
    bench.failed   ^(?P<node>[\w.-]+): `Test CUDA failure` \S+ '(?P<error>[^']+)'
    bench.failed   `: Test failure`
state
    bench.row      ` float | half | bfloat16 | double | fp8_e4m3 | fp8_e5m2 ` => {ROW}
    bench.row      ` float | half | bfloat16 | double ` => {UNCHECKED}
    bench.row      ` int8 | uint8 | int32 | uint32 | int64 | uint64 ` => {ROW}
    bench.begin    ^(?:.*: )?`# nThread |# Using devices|# Collective test starting`
    bench.header   ^#?\s*size\s+count\s+.*`busbw`
    bench.device   ` device ` => #\s+Rank\s+(?P<of>\d+)\s.*?(?:Pid\s+(?P<pid>\d+) )?on\s+(?P<node>\S+)
                   [ ]device\s+\d+ \[(?P<bus>[^\]]+)\]\s*(?P<gpu>.*)
    bench.command  `_perf` => (?P<program>\w+_perf\w*)
success
    bench.average  `Avg bus bandwidth`\s*:\s*(?P<busbw>[\d.]+)
    bench.bounds   `Out of bounds values` : 0 OK
""",
    ROW=_ROW,
    UNCHECKED=_UNCHECKED,
    hosts_in=("node",),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What a test says in a line; wrong elements in a row are a failure."""
    for made in PATTERNS.events(line):
        yield made
        wrong = [made.get(name) for name in ("wrong", "inwrong") if made.get(name).isdecimal()]
        if made.kind == "bench.row" and any(int(number) for number in wrong):
            yield replace(made, kind="data.wrong", role="failure")
