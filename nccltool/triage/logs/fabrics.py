"""Lines of libfabric, UCX, NVSHMEM and GDRCopy."""

from nccltool.triage.logs.base import doubt, each, echo, failure

PATTERNS = (
    *each(failure, "efa.unreachable", "Unreachable remote", "Unresponsive receiver", "estination unreachable"),
    failure("efa.unreachable", "Unable to insert remote address", r"address vector for (?P<device>device \d+)"),
    failure("efa.failed", "completed with error", r"NET/OFI Request .*completed with error\. RC: (?P<code>\d+)"),
    failure("efa.failed", "fi_cq_readerr"),
    failure("plugin.ofi-failed", "output empty list", r"fi_getinfo: provider (?P<name>\w+) output empty list"),
    failure("ib.no-memory", "ibv_create_", r"(?P<call>ibv_create_\w+)\(.*failed: Cannot allocate memory"),
    failure("ib.memlock", "RLIMIT_MEMLOCK"),
    failure(
        "ib.memlock", "memlock", r"(?i)(?:ulimit|limit|raise|increase|set|check)\b.*\bmemlock\b(?!=-1|=unlimited)"
    ),
    failure(
        "ib.memlock",
        "locked memory",
        "(?i)(?:low|too small|insufficient|increase|limit).*locked memory|locked memory.*(?:low|too small"
        "|insufficient|exceed)",
    ),
    doubt("ib.memlock-warning", "RLIMIT_MEMLOCK", r"only be able to use \d+ bytes|is \d+ bytes"),
    echo("ucx.failed", "UCX  ERROR", r"UCX +ERROR (?P<error>.+)"),
    failure(
        "ucx.unreachable", "UCX", r"UCX +ERROR .*(?:[Dd]estination is unreachable|Connection timed out|no route)"
    ),
    failure("ucx.link", "UCX", r"UCX +ERROR .*(?:[Tt]ransport retry count exceeded|Endpoint timeout)"),
    failure("gdrcopy.missing", "GDRCopy", r"GDRCopy (?:open call failed|not available|.*(?:failed|not found))"),
    failure("gdrcopy.missing", "gdrcopy", r"gdr_open.*fail|gdrdrv.*(?:not loaded|not found|No such)"),
    failure(
        "gdrcopy.missing",
        "gdrdrv",
        r"(?:cannot access|No such).*(?P<path>/dev/gdrdrv)|(?P<late>/dev/gdrdrv).*(?:No such|not found)",
    ),
    failure(
        "gdr.no-peermem",
        "peermem",
        "(?:[Mm]odule )?nvidia[_-]peermem.*(?:not loaded|not found|missing|No such|failed|Unknown symbol"
        "|Invalid argument)|(?:not|could not|failed).*nvidia[_-]peermem",
    ),
    failure("gdr.no-peermem", "nv_peer_mem", r"nv_peer_mem.*(?:not loaded|not found|missing|inactive|failed)"),
    failure(
        "gdr.no-peermem",
        "memory_peers",
        r"memory_peers/\S+.*(?:No such|missing|not (?:exist|found))|(?:No such|cannot|missing).*memory_peers/",
    ),
    failure("gdr.failed", "allocate MR", r"Couldn't allocate MR|[Ff]ailed to (?:allocate|create) (?:GPU )?MR"),
    failure("gdr.failed", "DMA_BUF", r"DMA_BUF_SUPPORT [Ff]ailed|DMA_BUF.*not supported"),
    failure(
        "gdr.failed",
        "GPUDirect",
        r"GPUDirect(?: RDMA)?\b.*(?:not (?:supported|available|enabled)|unavailable|fail)",
    ),
    failure("gdr.failed", "GPU memory", r"(?:cannot|failed to|could not|unable to) register GPU memory"),
    failure("net.too-long", "essage too long"),
    echo("nvshmem.failed", "nvshmem", r"nvshmem (?:initialization failed|setup connections failed)"),
)
