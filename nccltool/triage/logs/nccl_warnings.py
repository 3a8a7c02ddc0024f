"""NCCL's texts about what went wrong, matched without their file names: those change with every refactoring."""

from nccltool.triage.logs.patterns import table

(UNKNOWN,) = table(r"""
doubt
    nccl.warning  ` WARN `
""")
"""A warning that no pattern knows."""

PATTERNS = table(r"""
failure
    nccl.no-interface        ` interface found` => (?i)\bno [\w ]{0,40}interface found
    nccl.no-interface        `verify NCCL_OOB_NET_IFNAME|No interface found in the same subnet`
    nccl.no-family           `Address family not supported` => Socket creation failed
    nccl.bad-family          `is neither AF_INET` => connecting to address (?P<address>\S*) ?with family
                             [ ](?P<family>\d+)
    nccl.bad-comm-id         `Invalid NCCL_COMM_ID|should not be called when NCCL_COMM_ID is set|Net : No valid |
                             when getting address info`
    nccl.version-mismatch    `Mismatched NCCL version` => rank (?P<rank>\d+) version (?P<a>\S+) rank
                             [ ](?P<other>\d+) version (?P<b>\S+)
    nccl.version-mismatch    `NCCL version mismatch with remote peer` => peer (?P<peer>\S+) \(local: (?P<a>\S+?),
                             [ ]remote:? (?P<b>[^)]+)
    nccl.driver-old          `driver version is insufficient`
    nccl.driver-old          `requires CUDA driver|minimum version (R465)|driver < R465`
    version.build            `NCCL library is too old|NCCL library is not backwards|not supported prior to CUDA`
    version.build            `compiled with too old version`
    nccl.driver-old          `Minimum requirement is` => Driver version found is (?P<version>\S+)\. Minimum
    nccl.bootstrap-mismatch  `Bootstrap Root : mismatch in` => mismatch in (?P<what>rank count|info)
    nccl.bootstrap-mismatch  `has already checked in|Bootstrap Root : localId`
    nccl.truncated           `Message truncated` => received (?P<got>[\d,]+) bytes instead of (?P<want>[\d,]+)
    nccl.truncated           `message truncated` => receiving (?P<got>\d+) bytes instead of (?P<want>\d+)
    nccl.wrong-magic         `wrong magic` (?P<magic>[0-9a-fx]+) != (?P<want>[0-9a-fx]+)
    nccl.wrong-type          `wrong type` (?P<got>\d+) != (?P<want>\d+)
    nccl.duplicate-gpu       `Duplicate GPU detected` => rank (?P<rank>\d+) and rank (?P<other>\d+) both on CUDA
                             [ ]device (?P<gpu>\w+)
    nccl.duplicate-gpu       `Multiple Ranks are using the same GPU|Multiple ranks use the same device`
    nccl.bad-value           `Unrecognized element token|Unrecognized prefix token` => token "(?P<value>[^"]*)"
    nccl.bad-value           `All entries except the first must have a prefix`
    nccl.no-algorithm        `o algorithm/protocol available` => available(?:.*?(?P<name>NCCL_(?:ALGO|PROTO)) was
                             [ ]set to (?P<value>[^.]+))?
    nccl.bad-argument        `is not a valid pointer`
    nccl.bad-argument        \w+` : invalid `(?:root|type|reduction operation|rank)
    nccl.bad-argument        `mismatchs with NCCL device|Attempt to use communicator before`
    nccl.bad-argument        `communicators are not allowed in the same group|does not match the parent`
    nccl.bad-argument        `nvalid config |nvalid device count|corrupted comm object`
    nccl.bad-rank            I`nvalid rank requested` : \d+/\d+
    nccl.bad-argument        `argument is NULL|initialized via NCCL_|communicator was revoked`
    nccl.bad-argument        comm 0x\w+` has already been destroyed`
    nccl.bad-argument        `self without a matching|none or all communicators in|be all uncaptured`
    nccl.bad-argument        `not in a group call|mixing different streams within|to user-created ncclRedOp`
    nccl.bad-argument        `unknown to this communicator|ncclRedOpDestroy : |ncclCommGrow: `
    nccl.bad-argument        `FP8 reduction support|improper usage of ncclComm|support symmetric memory`
    nccl.connect-failed      [Cc]`onnect to `(?P<peer>[\w.:%\-\[\]]+)<(?P<port>\d+)> (?:failed ?: |returned \d+\()
                             (?P<error>[A-Z][\w ]+)
    nccl.connect-failed      `no POLLOUT events`
    nccl.connect-failed      `exceeded error retry count` => connect to (?P<peer>[\w.:%\-\[\]]+)<
                             (?P<port>\d+)> returned (?P<error>[\w ]+), exceeded
    nccl.connect-failed      `connect returned` (?P<error>[A-Z][\w ]+), exceeded
    nccl.connect-failed      `PollConnect to `(?P<peer>[\w.:%\-\[\]]+)<(?P<port>\d+)> failed with error
                             [ ](?P<error>[A-Z][\w ]+)
    nccl.connect-failed      `exceeded timeouts (|exceeded retries (`
    nccl.connect-failed      `Call to connect`(?: to (?P<peer>[\w.:%\-\[\]]+?)(?:<(?P<port>\d+)>)?)? (?:failed|
                             timeout)\s*:? (?P<error>[A-Z][\w ]+)
    nccl.bind-failed         `Call to bind` .*failed ?: (?P<error>.+)
    nccl.peer-lost           `Call to `(?:recv|send|read|write|poll)\w*(?: (?:from |to )?
                             (?P<peer>[\w.:%\-\[\]]+)<\d+>)? failed ?: (?P<error>Connection timed out|No route to
                             [ ]host|Network is unreachable|Host is unreachable)
    limits.files             `Too many open files|too many open files|EMFILE`
    ib.qp-failed             `ibv_modify_qp failed` with (?:error )?(?:(?P<number>\d+) )?(?P<error>[A-Z][\w ]+)
                             (?!.*retrying)(?:.*?on dev (?P<hca>[\w.-]+?):\d+)?(?:.*?local GID index
                             [ ](?P<gid>\d+))?(?:.*?local GID (?P<local>[\w:.]+))?(?:.*?remote GID
                             [ ](?P<remote>[\w:.]+))?
    ib.qp-failed             `ibv_modify_qp to `R\w+ failed: (?P<error>[A-Z][\w ]+)
    ib.no-memory             (?P<call>ibv_(?:exp_)?(?:reg_mr\w*|create_\w+|alloc_pd))\b.*`Cannot allocate memory`
    ib.bad-address           (?P<call>ibv_reg_mr\w*)\b.*`Bad address`
    gdr.failed               `ibv_reg_dmabuf_mr` failed
    gdrcopy.missing          `GDRCOPY failure|GDRCOPY lib wrapper|GDRCopy >= `
    ib.register-failed       `ibv_reg_`mr\w* failed(?!.*(?:Cannot allocate|Bad address|fall))(?: with error
                             [ ](?P<error>.+))?
    ib.completion            `Got completion` (?:from (?:peer|remote) (?P<peer>[\w.:%-]+?)(?:<\d+>)? |
                             from peer )?with (?:error|status=)(?P<prefix>[A-Z_ ]*\()? ?(?P<status>\d+)(?:.*?hca
                             [ ](?P<hca>[\w.-]+))?
    ib.port-error            (?:(?P<hca>[\w.-]+):\d+ )?[Gg]ot (?:async )?\w*-? ?(?:fatal )?(?:async )?(?:error
                             [ ])?event ?: `port error`
    ib.async-fatal           (?:(?P<hca>[\w.-]+):\d+ )?`async fatal event`(?!.*work queue error)
    ib.async-fatal           `catastrophic error` => (?:(?P<hca>[\w.-]+):\d+ )?Got async
    ib.access-violation      (?:(?P<hca>[\w.-]+):\d+ )?(?:Got async|async fatal) event.*`work queue error`
    ib.create-failed         `Call to ibv_` => Call to (?P<call>ibv_(?:create_\w+|alloc_pd)) failed(?!.*Cannot
                             [ ]allocate)
    ib.open-failed           `Call to ibv_`(?:open_device|query_\w+|get_device_list) failed
    ib.mixed                 `incompatible with the local`
    ib.mixed                 `different link_layer`
    ib.mixed                 Attempted to (?:merge|connect) `incompatible devices`
    ib.open-failed           `NET/IB : Unable to query|failed in ncclIbRoceGetVersionNum`
    ib.open-failed           `Unable to open device` (?P<hca>\S+)
    nccl.mismatched          `Mismatched collective detected` => around rank (?P<rank>\d+)
    nccl.mismatched          `symmetric registration check failed` on rank (?P<rank>\d+)
    nccl.mismatched          rank (?P<rank>\d+) .*`must have identical segment`
    ras.mismatch             have different (?P<op>\w+) `operation counts`
    ib.receive-mismatch      `posted incorrect receive info|collective mismatch error`
    plugin.none              `Failed to initialize any NET plugin`
    plugin.none              `Error: network `(?P<name>.+?) not found
    plugin.broken            `undefined symbol: nccl` => ^(?!.*undefined symbol: nccl\w*Plugin_v)
    plugin.broken            ^(?!.*undefined symbol: nccl\w*Plugin_v).*?
                             (?P<name>lib[\w.-]*nccl[\w.-]*\.so\S*):.*`undefined symbol`
    plugin.ofi-failed        `aws-ofi-nccl initialization failed`
    plugin.ofi-failed        `NET/OFI` (?P<text>(?:Failed|Unable|Couldn't|Could not|Error|No eligible|Only EFA|
                             Caught exception|Creating new endpoint|Call to fi_\w+ failed|Received an? (?:in
                             valid|unexpected)|[Uu]nexpected|[Ii]nvalid)(?!.*(?:insert remote address|GPU ?Direct|
                             FI_HMEM|register memory \(type = [24]\))).*)
    gdr.failed               `egister memory (type = ` => NET/OFI.*register memory \(type = [24]\).*(?:Bad address|
                             [Nn]ot supported|not implemented)
    ib.no-memory             `egister memory (type = ` => NET/OFI.*register memory \(type = \d\).*Cannot allocate
    gdr.failed               `NET/OFI`.*(?:[Cc]ould not|[Cc]annot|[Uu]nable|[Ff]ailed).*(?:GPU ?Direct|FI_HMEM)
    plugin.fastrak-failed    `NET/FasTrak`\b.*(?:[Ff]ailed|mismatch|[Ee]rror|timed out|not match|unsupported|must)
    plugin.fastrak-failed    `NET/GPUDirectTCPX`\w*\b.*(?:[Ff]ailed|[Ee]rror|timed out)
    plugin.tuner-failed      `TUNER/Plugin`.*(?:[Ff]ailed to init|returned error|invalid)
    plugin.config            `NCCL config checker|guest config`
    sharp.failed             device (?P<hca>[\w.-]+) port \d+ `is not valid (port is used by SM)`
    sharp.failed             `SHARP coll init error`
    sharp.failed             `SHARP` => (?<!NVLink )(?:SHARP|SHArP)\b.*?(?:[Ff]ailed|Cannot create|init error|
                             Job init error|not supported|unsupported|unable to|group create)
    sharp.failed             `sharp_`\w+.*(?:[Ff]ailed|ERROR|error)
    sharp.failed             `COLLNET` => (?:COLLNET|CollNet)\b.*(?:[Ff]ailed|error)
    sharp.crash              `sharp` => ^\s*\d+ 0x[0-9a-f]+ (?P<symbol>\w*[Ss]harp\w*)\(
    shm.full                 (?:posix_fallocate|shm|/dev/shm|shared memory).*`No space left on device`
    shm.full                 `failed to extend` (?P<path>\S+)
    shm.segment              Error while (?:creating|attaching to) `shared memory segment` (?P<path>\S+)
    shm.segment              `create shared memory`(?: file (?P<path>/dev/shm\S+))?
    shm.segment              `unlink shared memory` (?P<path>\S+) failed
    shm.segment              `Call to `(?:shm_open|posix_fallocate|ftruncate|mmap) failed(?!.*Too many open files)
    shm.full                 No space left on device.*`/dev/shm`
    shm.segment              `Could not map `(?P<path>/dev/shm\S*)
    cuda.oom                 (?:[Cc]uda|HIP) (?:failure|error)\s*\d* ?:? ?'?\s*`out of memory`
    cuda.oom                 `Failed to CUDA `(?:calloc|malloc|host alloc)
    host.malloc              malloc\(size=\d+\) `returned null`
    host.malloc              `Failed to malloc `\d+ bytes
    host.malloc              `malloc of `\d+ bytes failed
    cuda.not-ready           `system not yet initialized`
    cuda.not-permitted       (?i:(?:cuda|hip)[ _]?(?:failure|error)?:?[ _]?)(?:800|
                             NOT_PERMITTED\])? ?'?`operation not permitted`(?! when)
    cuda.illegal             `an illegal memory access was encountered`
    cuda.launch              `unspecified launch failure`
    cuda.ecc                 `uncorrectable ECC error`
    cuda.no-peer             `peer access is not supported between|failed to peer with device`
    cuda.peer-import         `failed to open CUDA IPC handle|failed to get CUDA IPC handle`
    cuda.peer-import         `cudaIpcGetMemHandle failed`
    cuda.peer-import         cuda`IpcOpenMemHandle`.*(?:fail|error)
    cuda.no-peer             `peer mapping resources exhausted`
    cuda.no-device           `no CUDA-capable device is detected|CUDA-capable device(s) is/are busy`
    cuda.no-device           `all CUDA-capable devices are busy`
    version.build            `invalid device function`
    cuda.peer-import         `P2P/CUMEM import failed`
    cuda.peer-import         `hipIpc`(?:Get|Open)MemHandle failed
    cuda.no-library          `Failed to find CUDA library`
    version.library          `Failed to find ROCm runtime library|ROCr missing symbol|CUDA missing symbol`
    cuda.failed              `Cuda failure|HIP failure`:? ?(?:(?P<number>\d+) ?)?'?(?P<error>[^']+)
    nvls.failed              `Failed to bind NVLink SHARP`
    nvls.fabric-hint         `configuration error in the Fabric Manager|NVswitch links mismatch`
    cuda.multicast           `Multicast support requested|does not support multimem`
    nvls.p2p-off             `P2P is disabled between NVLINK connected GPUs` => NVLINK connected GPUs (?P<a>\d+)
                             [ ]and (?P<b>\d+)
    nvls.conflict            `ranks using the same NVML device`
    mnnvl.broken             MNNVL \(cliqueSize (?P<size>\d+)\) `is available but not `(?:working|supported)
    mnnvl.import             `isFabric=true|import fabric handle`
    imex.handle              `(FABRIC) failed|FABRIC handle not valid`
    mnnvl.unsupported        `MNNVL is not supported on this system`
    mnnvl.imex               `IMEX` => (?:Check the IMEX|imex|IMEX)\b.*(?:not|fail|error|FAIL|ERROR|UNAVAILABLE|
                             DOWN|Lost|lost)
    topology.attribute       Attribute (?P<attribute>\S+) `of node `(?P<node>\S+) not found
    topology.graph-file      `XML Import Channel`
    topology.file            `Could not open XML` (?P<what>topology|graph) file (?P<path>\S+)
    topology.file            `XML` (?:Parse|parse|Load|load)\b.*(?:[Ee]rror|[Uu]nexpected|[Ee]xpected|failed|
                             unterminated)
    topology.file            `XML Mismatch|XML parser is limited|too many XML |node not found in XML`
    topology.file            `XML Topology has wrong|XML Graph has wrong`
    topology.no-device       `nvmlDeviceGetHandleByPciBusId`\(.*\) failed
    topology.file            `NCCL_TOPO_FILE|NCCL_GRAPH_FILE` => (?i)NCCL_(?:TOPO|GRAPH)_FILE\b.*(?:could not|
                             cannot|fail|
                             unable|invalid|no such)
    topology.sysfs           `Could not find real path of` (?P<path>(?!/sys/class/net)\S+)
    topology.no-graph        `Failed to find reverse path|Could not find rev link|No path computed to go from`
    topology.no-graph        `Error : ring `\d+ does not
    topology.no-graph        `find CPU close to GPU|ould not find intermediate GPU|Could not find node of type`
    topology.no-graph        `error : could not find ` => Add (?:NVLink|PCI Link|C2c|XGMI) error
    topology.no-graph        `too many nodes of type|too many Topo links|too many DEV nodes`
    topology.no-smi          `ROCm SMI ` => ROCm SMI (?:init )?failure
    topology.no-numa         `could not find CPU numa ID|Unknown CPU architecture`
    topology.no-device       `Could not read node #`
    topology.no-net          `Could not find any local path from gpu`
    topology.no-net-id       `Could not find NET with id` (?P<id>\S+)
    topology.no-net-id       `Could not find GPU with rank|but that NIC is not available for rank`
    topology.no-net          `Network returned 0 device`
    topology.no-graph        `Unable to find paths between`
    topology.no-graph        `topology` => (?:[Tt]opology|topo)\b.*(?:unconnected|unreachable|inconsistent)
    topology.no-transport    `find transport to connect|No transport found !`
    topology.no-transport    [Rr]ank \d+ has `no transport for `(?:send|recv)
    topology.no-transport    `No transport found for rank` (?P<from>\d+)\[\w+\] -> rank (?P<to>\d+)
    topology.uds             `UDS:` (?:Binding to socket|Cannot (?:connect|bind)|Sending data|Socket creation|
                             Receiving data)
    env.refused              `TOPO/NET : `(?:Only matched|Could not force)
    env.refused              `Specified fused NIC|OOO RQ is force enabled but`
echo
    nccl.peer-closed         `Connection closed by remote peer` => remote peer(?: (?P<peer>[\w.:%-]+)(?:<
                             (?P<port>\d+)>)?)?
    nccl.peer-closed         `Connection reset by peer|Broken pipe` => Call to \w+ (?:(?:from |to )?
                             (?P<peer>[\w.:%-]+)<(?P<port>\d+)>)?.*failed ?: (?:Connection reset|Broken pipe)
    nccl.peer-closed         `Socket recv failed while polling|Accept failed`
    nccl.proxy-failed        `Proxy Call to rank` (?P<peer>\d+) failed
    nccl.proxy-failed        (?:Proxy Service (?P<own>\d+)\] )?`Failed to execute operation` (?P<operation>\w+)
                             [ ]from rank (?P<peer>\d+), retcode (?P<code>\d+)
    nccl.proxy-failed        `Error encountered progressing operation|Could not receive type from localRank`
    nccl.proxy-failed        `ncclProxyC`\w+ call to tpRank (?P<peer>\d+).* failed
    nccl.fatal               `communicator encountered a fatal error`
doubt
    nccl.tuning-hint         `NUMA auto balancing enabled|from environment which can lead to low`
    nccl.shared-memory       `exceeds device/fn maxSharedMem`
    nccl.foreign-magic       `magic mismatch` => (?P<magic>0x[0-9a-f]+)\D+(?P<want>0x[0-9a-f]+)
    nccl.ignored-value       `Invalid value `(?P<value>.+?) for (?P<name>[A-Z][A-Z0-9_]+), using default
    nccl.ignored-value       `Unable to recognize NCCL_` => (?P<name>NCCL_[A-Z0-9_]+)
    nccl.ignored-value       (?P<name>NCCL_[A-Z0-9_]+): `unknown value`
    nccl.setting-ignored     (?P<name>NCCL_[A-Z0-9_]+) `set by environment is ignored`
    nccl.ignored-value       `Unknown CTA policy`
    nccl.ignored-value       `Invalid NCCL_` => Invalid (?P<name>NCCL_(?!COMM_ID)[A-Z0-9_]+) (?:value )?
                             (?P<value>-?\d+)
    nccl.ignored-value       (?P<name>NCCL_[A-Z0-9_]+)(?: value)?(?: \S+)? `is too big. Limiting|
                             is not a power of two|leaving it set at`
    nccl.ignored-value       (?P<name>NCCL_[A-Z0-9_]+)(?:=\S+)? `is out of range|is being ignored because|
                             is greater than the maximum`
    ib.qp-retry              ibv_modify_qp failed with .*`retrying` (?P<try>\d+)/(?P<of>\d+)
    ib.gid-change            `GID table change`
    ib.async-benign          `client reregistration`
    ib.uneven                `Detected mixed local Net device counts|has a different number of devices=`
    ib.failover              Device (?P<hca>\S+) `marked as failed`
    ib.failover              `as permanently failed|Port recovery failed|failed devices out of`
    ib.acs-hint              `occurs when ACS is enabled`
    ib.rail-hint             `not cross-rail connected`
    ib.gid-hint              `incorrect GID index`
    plugin.failed            `Failed to initialize NET plugin` (?P<name>.+)$
    plugin.unsupported       External \w+ plugin (?P<name>.+?)` is unsupported`
    plugin.unsupported       (?P<name>\S+) plugin `has incompatible version`
    plugin.failed            `Profiler init failed with error`
    plugin.broken            `/Plugin` ?:.*?(?P<name>(?!lib[nr]ccl-(?:net|tuner|
                             profiler|env)\.so)lib[\w.+-]+\.so[\w.]*): (?:cannot open shared object file|
                             undefined symbol|version .* not found)
    plugin.warned            `NET/|TUNER/|PROFILER/` => ^(?!.*(?:completed with error|
                             register memory \(type = [24]))(?P<name>(?:NET|TUNER|PROFILER)/(?!Plugin|IB\b|
                             IBext|Socket)\w+)\b.*(?:[Ff]ail|[Ee]rror|[Uu]nable|[Cc]ould ?n.t|[Cc]annot|[Nn]o
                             [ ]eligible|mismatch|unsupported|not (?:support|found|match))
    sharp.fallback           `Cannot initialize CollNet`
    cuda.peer-refused        `peer query failed` between dev (?P<a>\d+)\S* and dev (?P<b>\d+)
    cuda.peer-refused        `Could not enable P2P between` dev (?P<a>\d+)\S* and dev (?P<b>\d+)
    iommu.hint               `from kernel command line` => Missing "\w*iommu=\w+"
    nvml.failed              `nvmlInit() failed|Failed to open libnvidia-ml`
    topology.sysfs           `/sys/class/net` => Could not find real path of (?P<path>/sys/class/net\S+)
    topology.sysfs           `could not read /sys` => could not read (?P<path>/sys[^\s,]+)
state
    ib.port-active           (?:(?P<hca>[\w.-]+):\d+ .*)?`port active`
    ras.rank                 Rank (?P<rank>\d+) -- GPU \d+` managed by process` (?P<process>\d+) on node
                             [ ](?P<node>\S+)
""")
