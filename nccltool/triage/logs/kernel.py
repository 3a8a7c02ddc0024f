"""Lines of the Linux kernel and of tools that ask the hardware."""

from nccltool.triage.logs.patterns import table

NVLINK_XIDS = ("74", "144", "145", "146", "147", "148", "149", "150")
"""Errors of the driver that are about NVLink."""

PATTERNS = table(r"""
failure
    kernel.xid          (?<!S)`Xid (`(?:PCI:)?(?P<gpu>[\da-fA-F:.]+)\): (?P<xid>\d+)(?:, (?P<detail>.*))?
    kernel.sxid         `SXid` \((?:PCI:)?(?P<switch>[\da-fA-F:.]+)\): (?P<xid>\d+)
    kernel.gpu-lost     (?:GPU (?:at PCI:)?(?P<gpu>[\da-fA-F]{4,8}:[\da-fA-F:.]+))?.*`has fallen off the bus`
    kernel.gpu-lost     `nable to determine the device handle` => device handle for [Gg][Pp][Uu] ?
                        (?P<gpu>[\da-fA-F:.]+[\da-fA-F])
    kernel.gpu-lost     `GPU is lost`
    kernel.gpu-lost     GPU (?P<gpu>[\da-fA-F:.]+): `RmInitAdapter failed`
    kernel.amdgpu       (?:Memory access fault|HW Exception) `by GPU node-`
    kernel.amdgpu       `amdgpu` (?P<gpu>[\da-f:.]+):.*GPU reset (?:begin|\(\d+\))
    kernel.amdgpu       `amdgpu_job_timedout` => \*ERROR\* ring \w+ timeout
    kernel.gpu-lost     ^(?P<gpu>[\da-fA-F:.]+) .*NVIDIA.*`(rev ff)`
    kernel.gpu-lost     `No devices were found`
    kernel.ecc          (?:(?P<gpu>[\da-fA-F]{4,8}:[\da-fA-F]{2}:[\da-fA-F.]+).*)?(?:DRAM|SRAM|ECC|
                        HBM)\b.*[Uu]`ncorrectable`(?!\s*:\s*0)\s*:?\s*[1-9]
    kernel.ecc          `row remap` => [Rr]ow remap\w* (?:failure|failed)(?!.*: No)
    host.oom            (?:[Oo]ut of memory|oom).*`Killed process` (?P<victim>\d+) \((?P<name>[^)]*)\)
    host.oom            `invoked oom-killer`
    kernel.link-down    (?:mlx[45]\w*|bnxt\w*|ice|irdma)\b.*?(?P<device>[\w.-]+): L`ink down`
    kernel.link-down    (?P<device>[\w.-]+): NIC L`ink is `[Dd]own
    kernel.nic-fault    `NETDEV WATCHDOG`: (?P<device>\S+) .*timed out
    kernel.link-down    (?:mlx5\w*)\b.*`Port module event`.*(?:[Uu]nplugged|error|[Ff]ailed)
    kernel.link-down    `lost carrier` => (?P<device>[\w.-]+): (?:.* )?[Ll]ost carrier
    kernel.nic-fault    `mlx5`\w*\b.*(?:health compromised|poll_health|fatal|hardware error|firmware.*(?:fail|
                        error))
    ib.memlock          `CREATE_MKEY`.*status limits exceeded
    kernel.aer          `PCIe Bus Error`: severity=(?P<severity>Uncorrect\w*)(?:.*?)
    kernel.iommu-fault  `IO_PAGE_FAULT`
    kernel.iommu-fault  `DMAR`:.*(?:fault|DRHD: handling)
    fabric.manager      nvidia-`fabricmanager`.*(?:[Ff]ail|error|inactive|dead|not (?:running|loaded))
    fabric.manager      `abric Manager` => [Ff]abric ?[Mm]anager.*(?:fail|error|inactive|dead|not (?:running|
                        loaded|started)|version.*mismatch)(?!.*NVSwitches)
    fabric.manager      [Ff]`abric manager`.*(?:fail|error|inactive|dead|not (?:running|loaded|started))
    fabric.state        ^\s*State\s+: `In Progress`
    fabric.link         `NVLink` => (?i)nvlink.*(?:inactive|fatal|training failed|link \d+ (?:is )?down|error
                        [ ]count)
    imex.channel        `imex-channels` => (?:cannot|No such|denied|not found|missing).*imex-channels|
                        imex-channels.*(?:No such|denied|not found|missing|cannot)
    imex.daemon         nvidia-`imex`.*(?:[Ff]ail|[Ee]rror|inactive|dead|not (?:running|loaded|ready)|UNAVAILABLE|
                        DEGRADED)
echo
    kernel.segfault     (?P<name>[\w./-]{1,60})\[(?P<pid>\d+)\]: `segfault at`
doubt
    kernel.aer          `AER`: (?:Multiple )?(?P<severity>[Cc]orrect\w*)
    kernel.hung         task (?P<name>\S+):(?P<pid>\d+) `blocked for more than`
state
    kernel.link-up      (?:mlx[45]\w*)\b.*L`ink up`
""")
