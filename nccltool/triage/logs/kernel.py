"""Lines of the Linux kernel and of tools that ask the hardware."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine, event, found, pattern

PATTERNS = (
    pattern(
        "kernel.xid",
        "failure",
        "Xid (",
        r"(?<!S)Xid \((?:PCI:)?(?P<gpu>[\da-fA-F:.]+)\): (?P<xid>\d+)(?:, (?P<detail>.*))?",
    ),
    pattern("kernel.sxid", "failure", "SXid", r"SXid \((?:PCI:)?(?P<switch>[\da-fA-F:.]+)\): (?P<xid>\d+)"),
    pattern(
        "kernel.gpu-lost",
        "failure",
        "has fallen off the bus",
        r"(?:GPU (?:at PCI:)?(?P<gpu>[\da-fA-F]{4,8}:[\da-fA-F:.]+))?.*has fallen off the bus",
    ),
    pattern(
        "kernel.gpu-lost",
        "failure",
        "nable to determine the device handle",
        r"device handle for [Gg][Pp][Uu] ?(?P<gpu>[\da-fA-F:.]+[\da-fA-F])",
    ),
    pattern("kernel.gpu-lost", "failure", "GPU is lost"),
    pattern(
        "kernel.gpu-lost", "failure", "RmInitAdapter failed", r"GPU (?P<gpu>[\da-fA-F:.]+): RmInitAdapter failed"
    ),
    pattern("kernel.amdgpu", "failure", "by GPU node-", r"(?:Memory access fault|HW Exception) by GPU node-"),
    pattern("kernel.amdgpu", "failure", "amdgpu", r"amdgpu (?P<gpu>[\da-f:.]+):.*GPU reset (?:begin|\(\d+\))"),
    pattern("kernel.amdgpu", "failure", "amdgpu_job_timedout", r"\*ERROR\* ring \w+ timeout"),
    pattern("kernel.gpu-lost", "failure", "(rev ff)", r"^(?P<gpu>[\da-fA-F:.]+) .*NVIDIA.*\(rev ff\)"),
    pattern("kernel.gpu-lost", "failure", "No devices were found"),
    pattern(
        "kernel.ecc",
        "failure",
        "ncorrectable",
        r"(?:(?P<gpu>[\da-fA-F]{4,8}:[\da-fA-F]{2}:[\da-fA-F.]+).*)?(?:DRAM|SRAM|ECC|HBM)\b.*[Uu]ncorrecta"
        r"ble(?!\s*:\s*0)\s*:?\s*[1-9]",
    ),
    pattern("kernel.ecc", "failure", "row remap", r"[Rr]ow remap\w* (?:failure|failed)(?!.*: No)"),
    pattern(
        "host.oom",
        "failure",
        "Killed process",
        r"(?:[Oo]ut of memory|oom).*Killed process (?P<victim>\d+) \((?P<name>[^)]*)\)",
    ),
    pattern("host.oom", "failure", "invoked oom-killer"),
    pattern(
        "kernel.link-down",
        "failure",
        "ink down",
        r"(?:mlx[45]\w*|bnxt\w*|ice|irdma)\b.*?(?P<device>[\w.-]+): Link down",
    ),
    pattern("kernel.link-down", "failure", "ink is ", r"(?P<device>[\w.-]+): NIC Link is [Dd]own"),
    pattern("kernel.nic-fault", "failure", "NETDEV WATCHDOG", r"NETDEV WATCHDOG: (?P<device>\S+) .*timed out"),
    pattern(
        "kernel.link-down",
        "failure",
        "Port module event",
        r"(?:mlx5\w*)\b.*Port module event.*(?:[Uu]nplugged|error|[Ff]ailed)",
    ),
    pattern("kernel.link-down", "failure", "lost carrier", r"(?P<device>[\w.-]+): (?:.* )?[Ll]ost carrier"),
    pattern("kernel.link-up", "state", "ink up", r"(?:mlx[45]\w*)\b.*Link up"),
    pattern(
        "kernel.nic-fault",
        "failure",
        "mlx5",
        r"mlx5\w*\b.*(?:health compromised|poll_health|fatal|hardware error|firmware.*(?:fail|error))",
    ),
    pattern("ib.memlock", "failure", "CREATE_MKEY", r"CREATE_MKEY.*status limits exceeded"),
    pattern(
        "kernel.aer", "failure", "PCIe Bus Error", r"PCIe Bus Error: severity=(?P<severity>Uncorrect\w*)(?:.*?)"
    ),
    pattern("kernel.aer", "doubt", "AER", r"AER: (?:Multiple )?(?P<severity>[Cc]orrect\w*)"),
    pattern("kernel.iommu-fault", "failure", "IO_PAGE_FAULT"),
    pattern("kernel.iommu-fault", "failure", "DMAR", r"DMAR:.*(?:fault|DRHD: handling)"),
    pattern("kernel.segfault", "echo", "segfault at", r"(?P<name>[\w./-]{1,60})\[(?P<pid>\d+)\]: segfault at"),
    pattern(
        "kernel.hung", "doubt", "blocked for more than", r"task (?P<name>\S+):(?P<pid>\d+) blocked for more than"
    ),
    pattern(
        "fabric.manager",
        "failure",
        "fabricmanager",
        r"nvidia-fabricmanager.*(?:[Ff]ail|error|inactive|dead|not (?:running|loaded))",
    ),
    pattern(
        "fabric.manager",
        "failure",
        "abric Manager",
        "[Ff]abric ?[Mm]anager.*(?:fail|error|inactive|dead|not (?:running|loaded|started)|version.*misma"
        "tch)(?!.*NVSwitches)",
    ),
    pattern(
        "fabric.manager",
        "failure",
        "abric manager",
        r"[Ff]abric manager.*(?:fail|error|inactive|dead|not (?:running|loaded|started))",
    ),
    pattern("fabric.state", "failure", "In Progress", r"^\s*State\s+: In Progress"),
    pattern(
        "fabric.link",
        "failure",
        "NVLink",
        r"(?i)nvlink.*(?:inactive|fatal|training failed|link \d+ (?:is )?down|error count)",
    ),
    pattern(
        "imex.channel",
        "failure",
        "imex-channels",
        "(?:cannot|No such|denied|not found|missing).*imex-channels|imex-channels.*(?:No such|denied|not "
        "found|missing|cannot)",
    ),
    pattern(
        "imex.daemon",
        "failure",
        "imex",
        r"nvidia-imex.*(?:[Ff]ail|[Ee]rror|inactive|dead|not (?:running|loaded|ready)|UNAVAILABLE|DEGRADED)",
    ),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What the kernel or a tool for hardware says in a line."""
    for item, fields in found(PATTERNS, line.text):
        yield event(item, line, fields)
