"""Lines of libfabric, UCX, NVSHMEM and GDRCopy."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine, event, found, pattern

PATTERNS = (
    pattern("efa.unreachable", "failure", "Unreachable remote"),
    pattern("efa.unreachable", "failure", "Unresponsive receiver"),
    pattern("efa.unreachable", "failure", "estination unreachable"),
    pattern(
        "efa.unreachable",
        "failure",
        "Unable to insert remote address",
        r"address vector for (?P<device>device \d+)",
    ),
    pattern(
        "efa.failed",
        "failure",
        "completed with error",
        r"NET/OFI Request .*completed with error\. RC: (?P<code>\d+)",
    ),
    pattern("efa.failed", "failure", "fi_cq_readerr"),
    pattern(
        "plugin.ofi-failed",
        "failure",
        "output empty list",
        r"fi_getinfo: provider (?P<name>\w+) output empty list",
    ),
    pattern(
        "ib.no-memory", "failure", "ibv_create_", r"(?P<call>ibv_create_\w+)\(.*failed: Cannot allocate memory"
    ),
    pattern("ib.memlock", "failure", "RLIMIT_MEMLOCK"),
    pattern(
        "ib.memlock",
        "failure",
        "memlock",
        r"(?i)(?:ulimit|limit|raise|increase|set|check)\b.*\bmemlock\b(?!=-1|=unlimited)",
    ),
    pattern(
        "ib.memlock",
        "failure",
        "locked memory",
        "(?i)(?:low|too small|insufficient|increase|limit).*locked memory|locked memory.*(?:low|too small"
        "|insufficient|exceed)",
    ),
    pattern("ib.memlock-warning", "doubt", "RLIMIT_MEMLOCK", r"only be able to use \d+ bytes|is \d+ bytes"),
    pattern("ucx.failed", "echo", "UCX  ERROR", r"UCX +ERROR (?P<error>.+)"),
    pattern(
        "ucx.unreachable",
        "failure",
        "UCX",
        r"UCX +ERROR .*(?:[Dd]estination is unreachable|Connection timed out|no route)",
    ),
    pattern("ucx.link", "failure", "UCX", r"UCX +ERROR .*(?:[Tt]ransport retry count exceeded|Endpoint timeout)"),
    pattern(
        "gdrcopy.missing",
        "failure",
        "GDRCopy",
        r"GDRCopy (?:open call failed|not available|.*(?:failed|not found))",
    ),
    pattern("gdrcopy.missing", "failure", "gdrcopy", r"gdr_open.*fail|gdrdrv.*(?:not loaded|not found|No such)"),
    pattern(
        "gdrcopy.missing",
        "failure",
        "gdrdrv",
        r"(?:cannot access|No such).*(?P<path>/dev/gdrdrv)|(?P<late>/dev/gdrdrv).*(?:No such|not found)",
    ),
    pattern(
        "gdr.no-peermem",
        "failure",
        "peermem",
        "(?:[Mm]odule )?nvidia[_-]peermem.*(?:not loaded|not found|missing|No such|failed|Unknown symbol"
        "|Invalid argument)|(?:not|could not|failed).*nvidia[_-]peermem",
    ),
    pattern(
        "gdr.no-peermem",
        "failure",
        "nv_peer_mem",
        r"nv_peer_mem.*(?:not loaded|not found|missing|inactive|failed)",
    ),
    pattern(
        "gdr.no-peermem",
        "failure",
        "memory_peers",
        r"memory_peers/\S+.*(?:No such|missing|not (?:exist|found))|(?:No such|cannot|missing).*memory_peers/",
    ),
    pattern(
        "gdr.failed",
        "failure",
        "allocate MR",
        r"Couldn't allocate MR|[Ff]ailed to (?:allocate|create) (?:GPU )?MR",
    ),
    pattern("gdr.failed", "failure", "DMA_BUF", r"DMA_BUF_SUPPORT [Ff]ailed|DMA_BUF.*not supported"),
    pattern(
        "gdr.failed",
        "failure",
        "GPUDirect",
        r"GPUDirect(?: RDMA)?\b.*(?:not (?:supported|available|enabled)|unavailable|fail)",
    ),
    pattern(
        "gdr.failed", "failure", "GPU memory", r"(?:cannot|failed to|could not|unable to) register GPU memory"
    ),
    pattern("net.too-long", "failure", "essage too long"),
    pattern("nvshmem.failed", "echo", "nvshmem", r"nvshmem (?:initialization failed|setup connections failed)"),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What a library under or beside NCCL says in a line."""
    for item, fields in found(PATTERNS, line.text):
        yield event(item, line, fields)
