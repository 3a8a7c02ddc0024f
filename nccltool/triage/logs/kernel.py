"""Lines of the Linux kernel and of tools that ask the hardware."""

from nccltool.triage.logs.patterns import table

NVLINK_XIDS = ("74", "108", "136", "144", "145", "146", "147", "148", "149", "150", "155", "166", "170")
"""Errors of the driver that are about NVLink."""

_NOTES = r"(?:37|63|92|93|121|141|160|162|163)\b"
"""Xids that report something without a failure: rows were remapped, a counter rose, a power saving began."""

PATTERNS = table(
    r"""
failure
    kernel.xid          (?<!S)`Xid (`(?:PCI:)?(?P<gpu>[\da-fA-F:.]+)\): (?P<xid>(?!{NOTES})\d+)(?:,
                        [ ](?P<detail>.*))?
    kernel.xid          `Detected XID `(?P<xid>\d+) for GPU (?P<gpu>\d+)
    kernel.sxid         `SXid` \((?:PCI:)?(?P<switch>[\da-fA-F:.]+)\): (?P<xid>\d+)
    kernel.gpu-lost     ^(?:.*?GPU (?:at PCI:)?(?P<gpu>[\da-fA-F]{4,8}:[\da-fA-F:.]+))?.*`fallen off the bus`
    kernel.gpu-lost     `nable to determine the device handle` => device handle for [Gg][Pp][Uu] ?(?:\d+: )?
                        (?P<gpu>[\da-fA-F:.]+[\da-fA-F])
    kernel.gpu-lost     `GPU is lost|GPU requires reset|GPU recovery action changed`
    kernel.gpu-lost     (?:GPU (?P<gpu>[\da-fA-F:.]+): )?`RmInitAdapter failed`
    kernel.gpu-lost     `NV_ERR_GPU_IS_LOST|GPU lost from the bus`
    kernel.gpu-broken   `rm_init_adapter failed|assigned to your NVIDIA device is invalid|probe routine failed for`
    kernel.gpu-broken   `krcWatchdog|GPU is in bad state|Cannot attach gpu|GSP-FMC reported`
    kernel.gpu-broken   `GPU is probably locked|kgspIsHeartbeatTimedOut|GSP RM heartbeat`
    kernel.nvml         `Failed to initialize NVML: ` => NVML: (?:Unknown|GPU access|Not [Ff]ound)
    kernel.nvml         `) failed: Unknown Error` => nvml\w+\(.*\) failed: Unknown
    kernel.nvml         `nvidia-container-cli: device error|devices unavailable for nvidia.com/gpu`
    kernel.amdgpu       `by GPU node-` => (?:Memory access fault|HW Exception) by GPU (?P<gpu>node-\d+)
    kernel.amdgpu       `amdgpu` (?P<gpu>[\da-f:.]+):.*GPU reset (?:begin|\(\d+\))
    kernel.amdgpu       `HSA_STATUS_ERROR`_(?:EXCEPTION|ILLEGAL_INSTRUCTION|MEMORY_APERTURE_VIOLATION|MEMORY_FAULT|
                        HARDWARE)
    kernel.amdgpu       `amdgpu` => amdgpu\b.*(?:ring \S+ timeout|page fault|
                        [Ff]ailed to (?:evict queue|respond to msg))
    kernel.amdgpu       `qcm fence wait|GPU Hang|unrecoverable state due to|Failed to evict queue|ring buffer hang`
    kernel.amdgpu       `amdgpu` => amdgpu (?P<gpu>[\da-f:.]+):.*(?:mode\d reset|GPU reset|reset failed|bad page|
                        bad status|is lost|RAS .*(?:poison|threshold)|SMU.*(?:fail|hang)|PSP.*fail|IB test failed|
                        ring test failed|Fatal error)
    kernel.amdgpu       `amdgpu_job_timedout|amdgpu_device_gpu_recover`
    kernel.gpu-lost     `config space inaccessible|from D3cold to D0` => (?:nvidia|amdgpu) (?P<gpu>[\da-f:.]+\d)
    kernel.ecc          `amdgpu` => amdgpu (?P<gpu>[\da-f:.]+):.*\b[Uu]ncorrectable (?:hardware )?errors? detected
                        (?! in xgmi)
    kernel.gpu-link     `xgmi` => amdgpu (?P<gpu>[\da-f:.]+):.*\b[Uu]ncorrectable .*errors? detected in xgmi
    kernel.acs          `ACSViol|ACS Violation`
    kernel.ecc          `HBM MULTI BIT ECC`
    kernel.ecc          `ncorrectable` => (?i)\b(?:hbm\d*|dram|sram|ddr)\b.{0,12}\buncorrectable (?:ecc|error)
                        (?!.*(?:[:=]|count|threshold))
    kernel.gpu-lost     (?P<gpu>\b[\da-fA-F:]+\.\d) .*NVIDIA.*`(rev ff)`
    kernel.gpu-lost     `No devices were found|cannot allocate unhealthy devices`
    kernel.ecc          (?:(?P<gpu>[\da-fA-F]{4,8}:[\da-fA-F]{2}:[\da-fA-F.]+).*)?(?:DRAM|SRAM|ECC|
                        HBM)\b.*[Uu]`ncorrectable`(?!\s*:\s*0)\s*:?\s*[1-9]
    kernel.ecc          `ECC error` => (?i)(?:dcgm|health|unhealthy).*(?:uncorrectable|double.bit) ECC error
    kernel.ecc          `faulty memory elements on GPU|memory mismatch was detected on GPU|in the L1 cache`
    kernel.ecc          `retired page|age retirements` => detected (?:in|on) GPU
    kernel.ecc          `row remappings are pending|row remap limit|uncorrectable memory errors and`
    kernel.ecc          `GPU had a`(?:n un| )contained error
    kernel.gpu-broken   GPU \d+ .*`to recover from a fault|fault may have left|capacity due to a fault`
    kernel.aer          `PCIe replay`s? (?:per minute for GPU|violation)
    kernel.throttled    `hermal violations totaling|due to thermal violation|due to power violation`
    kernel.sxid         `Detected fatal errors on NvSwitch|fatal NvSwitch SXID`
    fabric.link         `NvLink` => NvLink (?:errors (?:on|for|found)|(?:link |port )?\d+ is (?:currently )?down)|
                        Only \d+ NvLinks are up
    fabric.link         `in a peer-to-peer test` => over NVLink in a peer
    cuda.peer-garbled   `in a peer-to-peer test` => ^(?!.*over NVLink).*unsuccessfully
    kernel.ecc          `double-bit ECC` => (?i)detected [1-9]\d*\b.{0,30}double-bit ECC
    kernel.throttled    `are being throttled` => (?i)clocks are being throttled
    kernel.ecc          `ncorrectable ECC error` => (?i)uncorrectable ECC error (?:was )?(?:detected|found|on)\b
    kernel.gpu-lost     `ERR!` => (?i)gpu.*ERR!|ERR!.*(?:gpu|nvidia|tesla)|^\|?\s*ERR!\s+ERR!
    kernel.ecc          ^\s+`Pending`(?: Page Blacklist)?\s+: Yes$
    kernel.ecc          `Remapping Failure Occurred` => Occurred\s*: Yes
    kernel.throttled    `Thermal Slowdown|Power Brake Slowdown`\s*: Active(?:
                        .*?(?P<gpu>[\da-fA-F]{4,8}:[\da-fA-F:.]+))?
    kernel.ecc          `row remap` => [Rr]ow remap\w* (?:failure|failed)(?!.*: No)
    host.oom            (?:[Oo]ut of memory|oom).*`Killed process|Kill process` (?P<victim>\d+) \((?P<name>[^)]*)\)
    host.oom            `oom-kill:` => oom-kill:constraint=.*\btask=(?P<name>[^,]*),pid=(?P<victim>\d+)
    host.oom            `invoked oom-killer|killed as a result of limit of`
    kernel.link-down    (?:mlx[45]\w*|bnxt\w*|ice|irdma)\b.*?(?P<device>[\w.-]+): L`ink down`
    kernel.link-down    (?P<device>[\w.-]+): NIC L`ink is `[Dd]own
    kernel.link-down    (?P<device>mlx[45]_\w+): port \d+ `state DOWN`
    kernel.link-down    `-> DOWN` => (?P<device>mlx[45]_\w+): port \d+ state .*-> DOWN
    kernel.nic-fault    `NETDEV WATCHDOG`: (?P<device>\S+) .*timed out
    kernel.link-down    (?:mlx5\w*)\b.*`Port module event`.*(?:[Uu]nplugged|error|[Ff]ailed)
    kernel.link-down    `state changed from ACTIVE` => (?P<device>[\w.-]+): port \d+ state changed from ACTIVE
    kernel.link-down    `link status definitely down` => (?:for interface|for slave|\(slave) (?P<device>[\w.-]+)
    kernel.link-down    (?P<device>[\w.-]+)\b.* `NIC Link is Down`
    kernel.link-down    `lost carrier` => (?P<device>[\w.-]+): (?:.* )?[Ll]ost carrier
    kernel.nic-fault    `mlx5`\w*\b.*(?:health compromised|poll_health|health recovery|PCI reads|
                        [Hh]igh temperature|(?<!non-)fatal|hardware error|firmware.*(?:
                        fail|
                        error))
    kernel.nic-fault    `print_health_info|a leak of a command resource|ib_query_port failed`
    kernel.nic-fault    `Keep alive watchdog timeout`
    kernel.nic-fault    (?:mlx[45]_core|mlx5|bnxt_en|ice|i40e)\b.*?(?P<device>[\w.-]+): `TX timeout`
    kernel.nic-fault    `bnxt_en` => bnxt_en\b.*(?:Firmware not responding|[Ff]atal firmware|FW reset)
    ib.command-failed   mlx5_core (?P<hca>[\da-f]{4}:[\da-f:]+\.\d).* (?P<call>(?!ACCESS_REG|QUERY)[A-Z_]{6,})\(
                        0x[0-9a-f]+\) op_mod\(\w+\) `failed, status `(?P<error>[a-z ]+)
    kernel.aer          `PCIe Bus Error`: severity=(?P<severity>Uncorrect\w*)(?:.*?)
    kernel.aer          `AER: `(?:Multiple )?(?P<severity>Uncorrect\w*) \(
    kernel.aer          ` DPC: ` => DPC: (?:containment event|unmasked uncorrectable)
    kernel.aer          `pciehp: Slot`\(\S+\): (?:Link Down|Card not present)
    kernel.iommu-fault  `arm-smmu` => arm-smmu\S*.*(?:\bevent\b|context fault)
    kernel.iommu-fault  (?:\b(?:nvidia|amdgpu) (?P<device>[\da-f]{4}:[\da-f:.]+): .*)?`IO_PAGE_FAULT`(?:
                        [ ]device=(?P<other>[\da-f:.]+))?
    kernel.iommu-fault  `DMAR`:.*(?:fault|DRHD: handling)
    fabric.manager      `fabricmanager` => (?i)^(?!.*nothing to do).*fabricmanager.*(?:fail|error|inactive|dead|e
                     xited|could not be
                        [ ]found|not (?:running|loaded))
    fabric.manager      `abric Manager` => [Ff]abric ?[Mm]anager.*(?:fail|error|inactive|dead|not (?:running|
                        loaded|started)|version.*mismatch)(?!.*NVSwitches)
    fabric.manager      [Ff]`abric manager`.*(?:fail|error|inactive|dead|not (?:running|loaded|started))
    fabric.manager      `abric manager|abric Manager` => (?i)(?:fail\w*|could not|unable)\b.{0,40}fabric manager|
                        fabric manager.*(?:don't|doesn't|not) match
    fabric.manager      `fabricmanager` => (?i)fail\w* to start\b.*fabricmanager
    fabric.manager      `NVSwitch d` => (?i)fail\w* (?:to open|.{0,20}) NVSwitch device|NVSwitch driver failed
    fabric.state        ^\s*State\s+: `In Progress`
    fabric.state        ^\s*Status\s+: `Insufficient Resources`
    fabric.state        `Fabric State is `
    fabric.manager      `abric manager`.*(?:\bis not|isn't) (?:active|up|ready|started|running)
    fabric.state        `NVSwitch` => (?i)nvswitch\b.*(?:not ready|not initialized|fail|fatal)
    fabric.link         `NVLink` => (?i)link \d+\b.*failed to train
    fabric.link         `NVLink fabric` => (?i)nvlink fabric.*(?:error|fail|unhealthy|not attached)
    fabric.link         `ostRxDetLinkMask|ostRxDetectLinkMask`
    fabric.manager      `match with any supported system topology`
    fabric.state        `FABRIC_STATE_IN_PROGRESS|FABRIC_STATE_NOT_STARTED`
    fabric.state        `abric state` => (?i)fabric state\b.*(?:\bnot\b|in progress|fail)
    fabric.link         `NVLink`(?i:.*(?:inactive|\bfatal|training fail|link \d+\b.{0,40}\bdown\b|error count))
    fabric.link         `nvlink`(?i:.*(?:inactive|\bfatal|training fail|link \d+\b.{0,40}\bdown\b|error count))
    imex.channel        `imex-channels` => ^(?!.*modprobe)(?:.*(?:cannot|No such|denied|not found|missing).*
                        imex-channels|.*imex-channels.*(?:No such|denied|not found|missing|cannot))
    imex.channel        `IMEX channel` => (?i)\bno IMEX channel|IMEX channel.*(?:\bnot\b|missing|fail|denied)
    imex.channel        `switch/nvidia_imex` => (?i)nvidia_imex.*(?:fail|error|no channels|not permitted|unable)
    imex.daemon         `IMEX daemon` => (?i)is the IMEX daemon|IMEX daemon.*(?:\bnot\b|fail|exited|unavailable)
    imex.daemon         `memory reference` => Failed to (?:get new|allocate) memory reference
    imex.daemon         `nvidia-imex` => (?i)connection to node \d+ (?:was )?lost
    imex.daemon         `export ref for UUID|import response from node`
    imex.daemon         `compute-domain|computedomain|ComputeDomain` => (?i)^(?!.*nvlink).*?compute-?domain.*(?:
                        NotReady|not ready|fail|error|timed out)
    imex.daemon         `nvidia-imex` => (?i)fail\w* to start\b.*nvidia-imex|unit nvidia-imex\S* (?:
                        could not be found|is masked|not found)
    mnnvl.import        `MultinodeMemoryAllocation` => (?i)error|invalid|failed
    imex.daemon         `Domain State: `(?:DOWN|DEGRADED|INVALID|UNAVAILABLE)
    imex.daemon         `Node #` => ^\s*Node #\d+\W+(?P<node>[\w.-]*\w)\b.* - (?:DOWN|DEGRADED|INVALID|UNAVAILABLE|
                     UNREACHABLE)
    imex.daemon         `IMEX` => IMEX (?i:domain|daemon|node).*(?:DOWN|DEGRADED|UNAVAILABLE|not (?:ready|running))
    imex.daemon         nvidia-`imex`.*(?:[Ff]ail|FAIL|exited|[Ee]rror|inactive|dead|not (?:running|loaded|ready)|
                        UNAVAILABLE|DEGRADED)
    app.nccl-crash      `segfault at` => segfault at .* in libnccl\.so
    kernel.link-down    (?P<device>hfi1_\d+): `Link down reason`
    kernel.link-down    `cxi` => (?P<device>cxi\d+|hsn\d+)\b.*(?i:link (?:down|error|failed)|lost link)
    kernel.ecc          `DBE` => (?i)\b(?:volatile|aggregate|double.bit)?\b.*\bDBEs?\b.{0,40}(?:detected|error|oc
                     curred)
    kernel.gpu-lost     `GPU count ` => (?:(?:node|host)=(?P<node>[\w.-]+).*)?GPU count (?P<found>\d+) does
                        [ ]not match
    kernel.gpu-lost     `NvidiaGPUUnhealthy` => (?:(?:node|host)=(?P<node>[\w.-]+))?
    kernel.gpu-failed   `emtest|emory test|iagnostic|dcgmi diag` => (?i)\b(?:memtest|memory test|diagnostic|
                        diag)\b.{0,20}\bfail\w*\b.*\bgpu\W{0,3}(?P<gpu>\d+)
    kernel.gpu-lost     `GPU count ` => count (?:is|was|=|of) (?P<found>\d+),?
                        [ ](?:but )?expected (?!(?P=found)\b)\d+
    kernel.gpu-lost     `xpected ` => (?i)expected (?P<want>\d+) GPUs?,?
                        [ ](?:but )?(?:found|got|saw) (?!(?P=want)\b)\d+
    imex.daemon         `FailedPrepareDynamicResources` => (?i)imex|compute-?domain
    kernel.gpu-lost     `GPUFellOffTheBus|gpu_count_mismatch|gpu_smi_unhealthy` => (?:(?:node|host)=(?P<node>[\w.
                     -]+))?
    kernel.ecc          `gpu_ecc_dbe|gpu_row_remap_failure|gpu_remapped_rows_pending`
    kernel.nic-fault    `HCAFellOffTheBus` => (?:device=(?P<device>[\w.-]+))?
echo
    kernel.segfault     (?P<name>[\w./-]{1,60})\[(?P<pid>\d+)\]: `segfault at`
    kernel.segfault     `traps: `(?P<name>[\w./-]{1,60})\[(?P<pid>\d+)\] (?:general protection|
                        trap (?:invalid|divide))
doubt
    kernel.xid-note     (?<!S)`Xid (`(?:PCI:)?(?P<gpu>[\da-fA-F:.]+)\): (?P<xid>{NOTES})
    kernel.aer          `AER`: (?:Multiple )?(?P<severity>[Cc]orrect\w*)
    kernel.hung         `BUG: soft lockup|hard LOCKUP|self-detected stall|detected stalls on CPUs`
    kernel.hung         `uninterruptible sleep (D-state)|uninterruptible kernel sleep`
    kernel.hung         task (?P<name>\S+):(?P<pid>\d+) `blocked for more than`
state
    fabric.clique       `clique_id|cliqueId|CliqueId` => (?i)cliqueid\W{1,3}(?P<clique>\w+)|clique_id
                        \W{1,3}(?P<own>\d+)
    kernel.remapped     `Remapping Failure Occurred` => Occurred\s*: No
    kernel.gpu          `The NVIDIA GPU` (?P<gpu>[\da-fA-F:.]+\d)
    shell.iommu         `Default domain type: Translated`
    kernel.link-up      (?:mlx[45]\w*)\b.*?(?:(?P<device>[\w.-]+): )?L`ink up`
""",
    NOTES=_NOTES,
)
