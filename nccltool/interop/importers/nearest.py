"""What an unrecognized file is nearest to, so that its refusal says more than what was looked for."""

import re
from dataclasses import dataclass

LOOKED_FOR = "nccl-tests, rccl-tests, OSU, perftest, mpiGraph, PARAM, NCCL Inspector, or SuperBench"
UNCHANGED = "pass the complete, unchanged output"


@dataclass(frozen=True, slots=True)
class _Hint:
    """What a line of a known kind looks like, and what is missing or to be done."""

    line: re.Pattern[str]
    what: str
    remedy: str = UNCHANGED


_NUMBER = r"[ \t]+\d+(?:\.\d+)?"
_HINTS = (
    _Hint(
        re.compile(r'"kind"\s*:\s*"(?:probe|train|preflight|doctor|triage|compare)"'),
        "a document of nccltool itself",
        "pass a saved run to nccltool runs or nccltool compare",
    ),
    _Hint(
        re.compile(r"^\s*\d+\s+\d+\s+(?:float|half|double|bfloat16|u?int\d+)\s.*\d\.\d\d", re.MULTILINE),
        "a row of nccl-tests, without the heading '# size count type ...' above it",
    ),
    _Hint(
        re.compile(r"(?:RDMA_Write|RDMA_Read|Send) (?:BW|Latency|Bidirectional BW) Test"),
        "a title of perftest, without the heading '#bytes #iterations ...' under it",
    ),
    _Hint(
        re.compile(r"^#\s*Size\s.*(?:Latency|Bandwidth)", re.MULTILINE),
        "a heading of OSU, without the title '# OSU ... Test' above it",
    ),
    _Hint(
        re.compile(r"# nThread \d+ nGpus \d+|# Using devices"),
        "the head of nccl-tests, without its table",
    ),
    _Hint(
        re.compile(r"nccom-test|Intel\(R\) MPI Benchmarks|IMB-MPI1|iperf|bandwidthTest|p2pBandwidthLatencyTest"),
        "another benchmark, which nccltool does not import",
        "import one of the benchmarks that `nccltool help import` lists",
    ),
    _Hint(
        re.compile(r"NCCL (?:INFO|WARN) "),
        "a log of NCCL",
        "use nccltool triage to find why a job failed",
    ),
    _Hint(re.compile(rf"^\s*\d+{_NUMBER}{_NUMBER}", re.MULTILINE), "a row of numbers, of no known benchmark"),
)


def of(content: str) -> tuple[str, str]:
    """(what was looked for and what is nearest to it, in one sentence; the remedy)."""
    for hint in _HINTS:
        if match := hint.line.search(content):
            number = content.count("\n", 0, match.end()) + 1
            return f"no result of {LOOKED_FOR} found; nearest: {hint.what}, in line {number}", hint.remedy
    return f"no result of {LOOKED_FOR} found, and nothing like one", UNCHANGED
