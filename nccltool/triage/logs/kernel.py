"""Lines of the Linux kernel and of tools that ask the hardware."""

from nccltool.triage.logs.base import doubt, echo, failure, state

PATTERNS = (
    failure(
        "kernel.xid", "Xid (", r"(?<!S)Xid \((?:PCI:)?(?P<gpu>[\da-fA-F:.]+)\): (?P<xid>\d+)(?:, (?P<detail>.*))?"
    ),
    failure("kernel.sxid", "SXid", r"SXid \((?:PCI:)?(?P<switch>[\da-fA-F:.]+)\): (?P<xid>\d+)"),
    failure(
        "kernel.gpu-lost",
        "has fallen off the bus",
        r"(?:GPU (?:at PCI:)?(?P<gpu>[\da-fA-F]{4,8}:[\da-fA-F:.]+))?.*has fallen off the bus",
    ),
    failure(
        "kernel.gpu-lost",
        "nable to determine the device handle",
        r"device handle for [Gg][Pp][Uu] ?(?P<gpu>[\da-fA-F:.]+[\da-fA-F])",
    ),
    failure("kernel.gpu-lost", "GPU is lost"),
    failure("kernel.gpu-lost", "RmInitAdapter failed", r"GPU (?P<gpu>[\da-fA-F:.]+): RmInitAdapter failed"),
    failure("kernel.amdgpu", "by GPU node-", r"(?:Memory access fault|HW Exception) by GPU node-"),
    failure("kernel.amdgpu", "amdgpu", r"amdgpu (?P<gpu>[\da-f:.]+):.*GPU reset (?:begin|\(\d+\))"),
    failure("kernel.amdgpu", "amdgpu_job_timedout", r"\*ERROR\* ring \w+ timeout"),
    failure("kernel.gpu-lost", "(rev ff)", r"^(?P<gpu>[\da-fA-F:.]+) .*NVIDIA.*\(rev ff\)"),
    failure("kernel.gpu-lost", "No devices were found"),
    failure(
        "kernel.ecc",
        "ncorrectable",
        r"(?:(?P<gpu>[\da-fA-F]{4,8}:[\da-fA-F]{2}:[\da-fA-F.]+).*)?(?:DRAM|SRAM|ECC|HBM)\b.*[Uu]ncorrecta"
        r"ble(?!\s*:\s*0)\s*:?\s*[1-9]",
    ),
    failure("kernel.ecc", "row remap", r"[Rr]ow remap\w* (?:failure|failed)(?!.*: No)"),
    failure(
        "host.oom",
        "Killed process",
        r"(?:[Oo]ut of memory|oom).*Killed process (?P<victim>\d+) \((?P<name>[^)]*)\)",
    ),
    failure("host.oom", "invoked oom-killer"),
    failure(
        "kernel.link-down", "ink down", r"(?:mlx[45]\w*|bnxt\w*|ice|irdma)\b.*?(?P<device>[\w.-]+): Link down"
    ),
    failure("kernel.link-down", "ink is ", r"(?P<device>[\w.-]+): NIC Link is [Dd]own"),
    failure("kernel.nic-fault", "NETDEV WATCHDOG", r"NETDEV WATCHDOG: (?P<device>\S+) .*timed out"),
    failure(
        "kernel.link-down",
        "Port module event",
        r"(?:mlx5\w*)\b.*Port module event.*(?:[Uu]nplugged|error|[Ff]ailed)",
    ),
    failure("kernel.link-down", "lost carrier", r"(?P<device>[\w.-]+): (?:.* )?[Ll]ost carrier"),
    state("kernel.link-up", "ink up", r"(?:mlx[45]\w*)\b.*Link up"),
    failure(
        "kernel.nic-fault",
        "mlx5",
        r"mlx5\w*\b.*(?:health compromised|poll_health|fatal|hardware error|firmware.*(?:fail|error))",
    ),
    failure("ib.memlock", "CREATE_MKEY", r"CREATE_MKEY.*status limits exceeded"),
    failure("kernel.aer", "PCIe Bus Error", r"PCIe Bus Error: severity=(?P<severity>Uncorrect\w*)(?:.*?)"),
    doubt("kernel.aer", "AER", r"AER: (?:Multiple )?(?P<severity>[Cc]orrect\w*)"),
    failure("kernel.iommu-fault", "IO_PAGE_FAULT"),
    failure("kernel.iommu-fault", "DMAR", r"DMAR:.*(?:fault|DRHD: handling)"),
    echo("kernel.segfault", "segfault at", r"(?P<name>[\w./-]{1,60})\[(?P<pid>\d+)\]: segfault at"),
    doubt("kernel.hung", "blocked for more than", r"task (?P<name>\S+):(?P<pid>\d+) blocked for more than"),
    failure(
        "fabric.manager",
        "fabricmanager",
        r"nvidia-fabricmanager.*(?:[Ff]ail|error|inactive|dead|not (?:running|loaded))",
    ),
    failure(
        "fabric.manager",
        "abric Manager",
        "[Ff]abric ?[Mm]anager.*(?:fail|error|inactive|dead|not (?:running|loaded|started)|version.*misma"
        "tch)(?!.*NVSwitches)",
    ),
    failure(
        "fabric.manager",
        "abric manager",
        r"[Ff]abric manager.*(?:fail|error|inactive|dead|not (?:running|loaded|started))",
    ),
    failure("fabric.state", "In Progress", r"^\s*State\s+: In Progress"),
    failure(
        "fabric.link",
        "NVLink",
        r"(?i)nvlink.*(?:inactive|fatal|training failed|link \d+ (?:is )?down|error count)",
    ),
    failure(
        "imex.channel",
        "imex-channels",
        "(?:cannot|No such|denied|not found|missing).*imex-channels|imex-channels.*(?:No such|denied|not "
        "found|missing|cannot)",
    ),
    failure(
        "imex.daemon",
        "imex",
        r"nvidia-imex.*(?:[Ff]ail|[Ee]rror|inactive|dead|not (?:running|loaded|ready)|UNAVAILABLE|DEGRADED)",
    ),
)
