"""NCCL's texts about what went wrong, matched without their file names: those change with every refactoring."""

from nccltool.triage.logs.base import LogPattern, pattern

UNKNOWN: LogPattern = pattern("nccl.warning", "doubt", " WARN ")
"""A warning that no pattern knows."""

_START = (
    pattern("nccl.no-interface", "failure", " interface found", r"(?i)\bno [\w ]{0,40}interface found"),
    pattern("nccl.no-interface", "failure", "verify NCCL_OOB_NET_IFNAME"),
    pattern("nccl.no-interface", "failure", "No interface found in the same subnet"),
    pattern("nccl.no-family", "failure", "Address family not supported", r"Socket creation failed"),
    pattern("nccl.shared-memory", "doubt", "exceeds device/fn maxSharedMem"),
    pattern(
        "nccl.bad-family",
        "failure",
        "is neither AF_INET",
        r"connecting to address (?P<address>\S*) ?with family (?P<family>\d+)",
    ),
    pattern("nccl.bad-comm-id", "failure", "Invalid NCCL_COMM_ID"),
    pattern("nccl.bad-comm-id", "failure", "should not be called when NCCL_COMM_ID is set"),
    pattern(
        "nccl.version-mismatch",
        "failure",
        "Mismatched NCCL version",
        r"rank (?P<rank>\d+) version (?P<a>\S+) rank (?P<other>\d+) version (?P<b>\S+)",
    ),
    pattern(
        "nccl.version-mismatch",
        "failure",
        "NCCL version mismatch with remote peer",
        r"peer (?P<peer>\S+) \(local: (?P<a>\S+?), remote:? (?P<b>[^)]+)",
    ),
    pattern("nccl.driver-old", "failure", "driver version is insufficient"),
    pattern(
        "nccl.driver-old",
        "failure",
        "Minimum requirement is",
        r"Driver version found is (?P<version>\S+)\. Minimum",
    ),
    pattern(
        "nccl.bootstrap-mismatch",
        "failure",
        "Bootstrap Root : mismatch in",
        r"mismatch in (?P<what>rank count|info)",
    ),
    pattern("nccl.bootstrap-mismatch", "failure", "has already checked in"),
    pattern(
        "nccl.truncated", "failure", "Message truncated", r"received (?P<got>\d+) bytes instead of (?P<want>\d+)"
    ),
    pattern(
        "nccl.truncated", "failure", "message truncated", r"receiving (?P<got>\d+) bytes instead of (?P<want>\d+)"
    ),
    pattern(
        "nccl.wrong-magic", "failure", "wrong magic", r"wrong magic (?P<magic>[0-9a-fx]+) != (?P<want>[0-9a-fx]+)"
    ),
    pattern("nccl.foreign-magic", "doubt", "magic mismatch", r"(?P<magic>0x[0-9a-f]+)\D+(?P<want>0x[0-9a-f]+)"),
    pattern("nccl.wrong-type", "failure", "wrong type", r"wrong type (?P<got>\d+) != (?P<want>\d+)"),
    pattern(
        "nccl.duplicate-gpu",
        "failure",
        "Duplicate GPU detected",
        r"rank (?P<rank>\d+) and rank (?P<other>\d+) both on CUDA device (?P<gpu>\w+)",
    ),
    pattern("nccl.duplicate-gpu", "failure", "Multiple Ranks are using the same GPU"),
    pattern("nccl.duplicate-gpu", "failure", "Multiple ranks use the same device"),
    pattern("nccl.bad-value", "failure", "Unrecognized element token", r'token "(?P<value>[^"]*)"'),
    pattern("nccl.bad-value", "failure", "Unrecognized prefix token", r'token "(?P<value>[^"]*)"'),
    pattern("nccl.bad-value", "failure", "All entries except the first must have a prefix"),
    pattern(
        "nccl.ignored-value",
        "doubt",
        "Invalid value ",
        r"Invalid value (?P<value>.+?) for (?P<name>[A-Z][A-Z0-9_]+), using default",
    ),
    pattern("nccl.ignored-value", "doubt", "Unable to recognize NCCL_", r"(?P<name>NCCL_[A-Z0-9_]+)"),
    pattern("nccl.ignored-value", "doubt", "unknown value", r"(?P<name>NCCL_[A-Z0-9_]+): unknown value"),
    pattern("nccl.ignored-value", "doubt", "Unknown CTA policy"),
    *(
        pattern("nccl.ignored-value", "doubt", words, rf"(?P<name>NCCL_[A-Z0-9_]+)(?:=\S+)? {words}")
        for words in ("is out of range", "is being ignored because", "is greater than the maximum")
    ),
    pattern(
        "nccl.no-algorithm",
        "failure",
        "o algorithm/protocol available",
        r"available(?:.*?(?P<name>NCCL_(?:ALGO|PROTO)) was set to (?P<value>[^.]+))?",
    ),
    pattern("nccl.bad-argument", "failure", "is not a valid pointer"),
    pattern(
        "nccl.bad-argument", "failure", " : invalid ", r"\w+ : invalid (?:root|type|reduction operation|rank)"
    ),
    pattern("nccl.bad-argument", "failure", "mismatchs with NCCL device"),
    pattern("nccl.bad-argument", "failure", "Attempt to use communicator before"),
    pattern("nccl.bad-argument", "failure", "communicators are not allowed in the same group"),
    pattern("nccl.bad-argument", "failure", "does not match the parent"),
    pattern("nccl.bad-argument", "failure", "nvalid config "),
    pattern("nccl.bad-argument", "failure", "nvalid rank requested"),
)

_SOCKETS = (
    pattern(
        "nccl.connect-failed",
        "failure",
        "onnect to ",
        r"[Cc]onnect to (?P<peer>[\w.:%\-\[\]]+)<(?P<port>\d+)> "
        r"(?:failed ?: |returned \d+\()(?P<error>[A-Z][\w ]+)",
    ),
    pattern(
        "nccl.connect-failed",
        "failure",
        "exceeded error retry count",
        r"connect to (?P<peer>[\w.:%\-\[\]]+)<(?P<port>\d+)> returned (?P<error>[\w ]+), exceeded",
    ),
    pattern(
        "nccl.connect-failed",
        "failure",
        "Call to connect",
        r"Call to connect(?: to (?P<peer>[\w.:%\-\[\]]+?)(?:<(?P<port>\d+)>)?)? (?:failed|timeout)\s*:? (?"
        r"P<error>[A-Z][\w ]+)",
    ),
    pattern("nccl.bind-failed", "failure", "Call to bind", r"Call to bind .*failed ?: (?P<error>.+)"),
    pattern(
        "nccl.peer-closed",
        "echo",
        "Connection closed by remote peer",
        r"remote peer(?: (?P<peer>[\w.:%-]+)(?:<(?P<port>\d+)>)?)?",
    ),
    pattern("nccl.peer-closed", "echo", "Connection reset by peer", r"Call to \w+ .*failed ?: Connection reset"),
    pattern("nccl.peer-closed", "echo", "Broken pipe", r"Call to \w+ .*failed ?: Broken pipe"),
    pattern(
        "nccl.peer-lost",
        "failure",
        "Call to ",
        r"Call to (?:recv|send|read|write|poll)\w*(?: (?:from |to )?(?P<peer>[\w.:%\-\[\]]+)<\d+>)? failed ?: "
        r"(?P<error>Connection timed out|No route to host|Network is unreachable|Host is unreachable)",
    ),
    pattern("nccl.peer-closed", "echo", "Socket recv failed while polling"),
    pattern("nccl.peer-closed", "echo", "Accept failed"),
    pattern("nccl.proxy-failed", "echo", "Proxy Call to rank", r"Proxy Call to rank (?P<peer>\d+) failed"),
    pattern(
        "nccl.proxy-failed",
        "echo",
        "Failed to execute operation",
        r"(?:Proxy Service (?P<own>\d+)\] )?Failed to execute operation (?P<operation>\w+) from rank (?P<p"
        r"eer>\d+), retcode (?P<code>\d+)",
    ),
    pattern("nccl.proxy-failed", "echo", "Error encountered progressing operation"),
    pattern("nccl.proxy-failed", "echo", "Could not receive type from localRank"),
    pattern("nccl.proxy-failed", "echo", "ncclProxyC", r"ncclProxyC\w+ call to tpRank (?P<peer>\d+).* failed"),
    pattern("nccl.fatal", "echo", "communicator encountered a fatal error"),
    pattern("limits.files", "failure", "Too many open files"),
    pattern("limits.files", "failure", "EMFILE"),
)

_RDMA = (
    pattern(
        "ib.qp-failed",
        "failure",
        "ibv_modify_qp failed",
        r"ibv_modify_qp failed with (?:error )?(?:(?P<number>\d+) )?(?P<error>[A-Z][\w ]+)(?!.*retrying)(?"
        r":.*?on dev (?P<hca>[\w.-]+?):\d+)?(?:.*?local GID index (?P<gid>\d+))?(?:.*?local GID (?P<local>"
        r"[\w:.]+))?(?:.*?remote GID (?P<remote>[\w:.]+))?",
    ),
    pattern("ib.qp-retry", "doubt", "retrying", r"ibv_modify_qp failed with .*retrying (?P<try>\d+)/(?P<of>\d+)"),
    pattern(
        "ib.no-memory",
        "failure",
        "Cannot allocate memory",
        r"(?P<call>ibv_(?:exp_)?(?:reg_mr\w*|create_\w+|alloc_pd))\b.*Cannot allocate memory",
    ),
    pattern("ib.bad-address", "failure", "Bad address", r"(?P<call>ibv_reg_mr\w*)\b.*Bad address"),
    pattern("gdr.failed", "failure", "ibv_reg_dmabuf_mr", r"ibv_reg_dmabuf_mr failed"),
    pattern(
        "ib.register-failed",
        "failure",
        "ibv_reg_",
        r"ibv_reg_mr\w* failed(?!.*(?:Cannot allocate|Bad address|fall))(?: with error (?P<err"
        "or>.+))?",
    ),
    pattern(
        "ib.completion",
        "failure",
        "Got completion",
        r"Got completion (?:from (?:peer|remote) (?P<peer>[\w.:%-]+?)(?:<\d+>)? )?with (?:error|status=)(?"
        r"P<prefix>[A-Z_ ]*\()? ?(?P<status>\d+)(?:.*?hca (?P<hca>[\w.-]+))?",
    ),
    pattern(
        "ib.port-error",
        "failure",
        "port error",
        r"(?:(?P<hca>[\w.-]+):\d+ )?[Gg]ot (?:async )?\w*-? ?(?:fatal )?(?:async )?(?:error )?event ?: port error",
    ),
    pattern("ib.port-active", "state", "port active"),
    pattern("ib.gid-change", "doubt", "GID table change"),
    pattern("ib.async-benign", "doubt", "client reregistration"),
    pattern(
        "ib.async-fatal",
        "failure",
        "async fatal event",
        r"(?:(?P<hca>[\w.-]+):\d+ )?async fatal event(?!.*work queue error)",
    ),
    pattern("ib.async-fatal", "failure", "catastrophic error", r"(?:(?P<hca>[\w.-]+):\d+ )?Got async"),
    pattern(
        "ib.access-violation",
        "failure",
        "work queue error",
        r"(?:(?P<hca>[\w.-]+):\d+ )?(?:Got async|async fatal) event.*work queue error",
    ),
    pattern("ib.uneven", "doubt", "Detected mixed local Net device counts"),
    pattern(
        "ib.create-failed",
        "failure",
        "Call to ibv_",
        r"Call to (?P<call>ibv_(?:create_\w+|alloc_pd)) failed(?!.*Cannot allocate)",
    ),
    pattern(
        "ib.open-failed",
        "failure",
        "Call to ibv_",
        r"Call to ibv_(?:open_device|query_\w+|get_device_list) failed",
    ),
    pattern("ib.mixed", "failure", "incompatible with the local"),
    pattern("ib.mixed", "failure", "incompatible devices", r"Attempted to (?:merge|connect) incompatible devices"),
    pattern("ib.open-failed", "failure", "Unable to open device", r"Unable to open device (?P<hca>\S+)"),
    pattern("nccl.mismatched", "failure", "Mismatched collective detected", r"around rank (?P<rank>\d+)"),
    pattern("ras.mismatch", "failure", "operation counts", r"have different (?P<op>\w+) operation counts"),
    pattern(
        "ras.rank",
        "state",
        " managed by process",
        r"Rank (?P<rank>\d+) -- GPU \d+ managed by process (?P<process>\d+) on node (?P<node>\S+)",
    ),
    pattern("ib.receive-mismatch", "failure", "posted incorrect receive info"),
    pattern("ib.receive-mismatch", "failure", "collective mismatch error"),
    pattern("ib.failover", "doubt", "marked as failed", r"Device (?P<hca>\S+) marked as failed"),
    pattern("ib.acs-hint", "doubt", "occurs when ACS is enabled"),
    pattern("ib.rail-hint", "doubt", "not cross-rail connected"),
    pattern("ib.gid-hint", "doubt", "incorrect GID index"),
)

_PLUGINS = (
    pattern("plugin.none", "failure", "Failed to initialize any NET plugin"),
    pattern("plugin.none", "failure", "Error: network ", r"Error: network (?P<name>\S+) not found"),
    pattern(
        "plugin.failed",
        "doubt",
        "Failed to initialize NET plugin",
        r"Failed to initialize NET plugin (?P<name>.+)$",
    ),
    pattern(
        "plugin.unsupported",
        "doubt",
        "External network plugin",
        r"External network plugin (?P<name>.+?) is unsupported",
    ),
    pattern("plugin.broken", "failure", "undefined symbol: nccl"),
    pattern(
        "plugin.broken",
        "failure",
        "undefined symbol",
        r"(?P<name>lib[\w.-]*nccl[\w.-]*\.so\S*):.*undefined symbol",
    ),
    pattern(
        "plugin.broken",
        "doubt",
        "/Plugin",
        r"/Plugin ?:.*?(?P<name>(?!libnccl-(?:net|tuner|profiler|env)\.so)lib[\w./-]+\.so[\w.]*): "
        r"(?:cannot open shared object file|undefined symbol|version .* not found)",
    ),
    pattern("plugin.ofi-failed", "failure", "aws-ofi-nccl initialization failed"),
    pattern(
        "plugin.ofi-failed",
        "failure",
        "NET/OFI",
        "NET/OFI (?P<text>(?:Failed|Unable|Couldn't|Could not|Error|No eligible|Only EFA|Creating new end"
        r"point|Call to fi_\w+ failed)(?!.*insert remote address).*)",
    ),
    pattern(
        "plugin.fastrak-failed",
        "failure",
        "NET/FasTrak",
        r"NET/FasTrak\b.*(?:[Ff]ailed|mismatch|[Ee]rror|timed out|not match|unsupported|must)",
    ),
    pattern(
        "plugin.fastrak-failed",
        "failure",
        "NET/GPUDirectTCPX",
        r"NET/GPUDirectTCPX\w*\b.*(?:[Ff]ailed|[Ee]rror|timed out)",
    ),
    pattern(
        "plugin.warned",
        "doubt",
        "NET/",
        r"^(?!.*completed with error)(?P<name>(?:NET|TUNER|PROFILER)/(?!Plugin|IB\b|IBext|Socket)\w+)\b.*("
        "?:[Ff]ail|[Ee]rror|[Uu]nable|[Cc]ould ?n.t|[Cc]annot|[Nn]o eligible|mismatch|unsupported|not (?:"
        "support|found|match))",
    ),
    pattern(
        "plugin.tuner-failed",
        "failure",
        "TUNER/Plugin",
        r"TUNER/Plugin.*(?:[Ff]ailed to init|returned error|invalid)",
    ),
    pattern("plugin.config", "failure", "NCCL config checker"),
    pattern("plugin.config", "failure", "guest config"),
    pattern("sharp.fallback", "doubt", "Cannot initialize CollNet"),
    pattern("sharp.failed", "failure", "SHARP coll init error"),
    pattern(
        "sharp.failed",
        "failure",
        "SHARP",
        r"(?:SHARP|SHArP)\b.*?(?:[Ff]ailed|Cannot create|init error|Job init error|not supported)",
    ),
    pattern("sharp.failed", "failure", "sharp_", r"sharp_\w+.*(?:[Ff]ailed|ERROR|error)"),
    pattern("sharp.failed", "failure", "COLLNET", r"(?:COLLNET|CollNet)\b.*(?:[Ff]ailed|error)"),
    pattern("sharp.crash", "failure", "sharp", r"^\s*\d+ 0x[0-9a-f]+ (?P<symbol>\w*[Ss]harp\w*)\("),
)

_MEMORY = (
    pattern(
        "shm.full",
        "failure",
        "No space left on device",
        r"(?:posix_fallocate|shm|/dev/shm|shared memory).*No space left on device",
    ),
    pattern("shm.full", "failure", "failed to extend", r"failed to extend (?P<path>\S+)"),
    pattern(
        "shm.segment",
        "failure",
        "shared memory segment",
        r"Error while (?:creating|attaching to) shared memory segment (?P<path>\S+)",
    ),
    pattern("shm.segment", "failure", "create shared memory"),
    pattern("shm.segment", "failure", "unlink shared memory", r"unlink shared memory (?P<path>\S+) failed"),
    pattern(
        "shm.segment",
        "failure",
        "Call to ",
        r"Call to (?:shm_open|posix_fallocate|ftruncate|mmap) failed(?!.*Too many open files)",
    ),
    pattern("shm.full", "failure", "/dev/shm", r"No space left on device.*/dev/shm"),
    pattern("shm.segment", "failure", "Could not map ", r"Could not map (?P<path>/dev/shm\S*)"),
    pattern(
        "cuda.oom", "failure", "out of memory", r"(?:[Cc]uda|HIP) (?:failure|error)\s*\d* ?:? ?'?\s*out of memory"
    ),
    pattern("cuda.oom", "failure", "Failed to CUDA ", r"Failed to CUDA (?:calloc|malloc|host alloc)"),
    pattern("host.malloc", "failure", "returned null", r"malloc\(size=\d+\) returned null"),
    pattern("cuda.not-ready", "failure", "system not yet initialized"),
    pattern(
        "cuda.not-permitted",
        "failure",
        "operation not permitted",
        r"(?i:(?:cuda|hip)[ _]?(?:failure|error)?[ _]?)(?:800|NOT_PERMITTED\])? ?'?operation not permitted",
    ),
    pattern("cuda.illegal", "failure", "an illegal memory access was encountered"),
    pattern("cuda.launch", "failure", "unspecified launch failure"),
    pattern("cuda.ecc", "failure", "uncorrectable ECC error"),
    pattern("cuda.no-peer", "failure", "peer access is not supported between"),
    pattern("cuda.no-peer", "failure", "failed to peer with device"),
    pattern(
        "cuda.peer-refused",
        "doubt",
        "peer query failed",
        r"peer query failed between dev (?P<a>\d+)\S* and dev (?P<b>\d+)",
    ),
    pattern(
        "cuda.peer-refused",
        "doubt",
        "Could not enable P2P between",
        r"Could not enable P2P between dev (?P<a>\d+)\S* and dev (?P<b>\d+)",
    ),
    pattern("cuda.peer-import", "failure", "failed to open CUDA IPC handle"),
    pattern("cuda.peer-import", "failure", "IpcOpenMemHandle", r"cudaIpcOpenMemHandle.*(?:fail|error)"),
    pattern("cuda.no-peer", "failure", "peer mapping resources exhausted"),
    pattern("cuda.no-device", "failure", "no CUDA-capable device is detected"),
    pattern("cuda.no-device", "failure", "CUDA-capable device(s) is/are busy"),
    pattern("cuda.no-device", "failure", "all CUDA-capable devices are busy"),
    pattern("version.build", "failure", "invalid device function"),
    pattern("cuda.peer-import", "failure", "P2P/CUMEM import failed"),
    pattern("cuda.peer-import", "failure", "hipIpc", r"hipIpc(?:Get|Open)MemHandle failed"),
    pattern("iommu.hint", "doubt", "from kernel command line", r"Missing \"\w*iommu=\w+\""),
    pattern("cuda.no-library", "failure", "Failed to find CUDA library"),
    *(
        pattern("cuda.failed", "failure", word, word + r":? ?(?:(?P<number>\d+) ?)?'?(?P<error>[^']+)")
        for word in ("Cuda failure", "HIP failure")
    ),
    pattern("nvls.failed", "failure", "Failed to bind NVLink SHARP"),
    pattern("nvls.fabric-hint", "failure", "configuration error in the Fabric Manager"),
    pattern(
        "nvls.p2p-off",
        "failure",
        "P2P is disabled between NVLINK connected GPUs",
        r"NVLINK connected GPUs (?P<a>\d+) and (?P<b>\d+)",
    ),
    pattern("nvls.conflict", "failure", "ranks using the same NVML device"),
    pattern(
        "mnnvl.broken",
        "failure",
        "is available but not working",
        r"MNNVL \(cliqueSize (?P<size>\d+)\) is available but not working",
    ),
    pattern("mnnvl.import", "failure", "isFabric=true"),
    pattern(
        "mnnvl.import",
        "failure",
        "ImportFromShareableHandle",
        r"cuMemImportFromShareableHandle.*(?:[Ff]ail|error)",
    ),
    pattern("mnnvl.unsupported", "failure", "MNNVL is not supported on this system"),
    pattern(
        "mnnvl.imex",
        "failure",
        "IMEX",
        r"(?:Check the IMEX|imex|IMEX)\b.*(?:not|fail|error|FAIL|ERROR|UNAVAILABLE|DOWN|Lost|lost)",
    ),
    pattern("nvml.failed", "doubt", "nvmlInit() failed"),
    pattern("nvml.failed", "doubt", "Failed to open libnvidia-ml"),
)

_TOPOLOGY = (
    pattern(
        "topology.attribute",
        "failure",
        "of node ",
        r"Attribute (?P<attribute>\S+) of node (?P<node>\S+) not found",
    ),
    pattern("topology.graph-file", "failure", "XML Import Channel"),
    pattern(
        "topology.file",
        "failure",
        "Could not open XML",
        r"Could not open XML (?P<what>topology|graph) file (?P<path>\S+)",
    ),
    pattern(
        "topology.file",
        "failure",
        "XML",
        r"XML (?:Parse|parse|Load|load)\b.*(?:[Ee]rror|[Uu]nexpected|[Ee]xpected|failed)",
    ),
    pattern(
        "topology.no-device",
        "failure",
        "nvmlDeviceGetHandleByPciBusId",
        r"nvmlDeviceGetHandleByPciBusId\(.*\) failed",
    ),
    pattern(
        "topology.sysfs",
        "failure",
        "Could not find real path of",
        r"Could not find real path of (?P<path>(?!/sys/class/net)\S+)",
    ),
    pattern(
        "topology.sysfs", "doubt", "/sys/class/net", r"Could not find real path of (?P<path>/sys/class/net\S+)"
    ),
    pattern("topology.no-graph", "failure", "Failed to find reverse path"),
    pattern("topology.no-device", "failure", "Could not read node #"),
    pattern("topology.sysfs", "doubt", "could not read /sys", r"could not read (?P<path>/sys\S+)"),
    pattern("topology.no-net", "failure", "Could not find any local path from gpu"),
    pattern(
        "topology.no-net-id", "failure", "Could not find NET with id", r"Could not find NET with id (?P<id>\S+)"
    ),
    pattern("topology.no-net-id", "failure", "Could not find GPU with rank"),
    pattern("topology.no-graph", "failure", "Unable to find paths between"),
    pattern(
        "topology.no-graph",
        "failure",
        "topology",
        r"(?:[Tt]opology|topo)\b.*(?:unconnected|unreachable|inconsistent)",
    ),
    pattern(
        "topology.no-transport",
        "failure",
        "No transport found for rank",
        r"No transport found for rank (?P<from>\d+)\[\w+\] -> rank (?P<to>\d+)",
    ),
    pattern("topology.uds", "failure", "UDS:", r"UDS: (?:Binding to socket|Cannot connect|Sending data)"),
)

PATTERNS = (*_START, *_SOCKETS, *_RDMA, *_PLUGINS, *_MEMORY, *_TOPOLOGY)
