"""NCCL's texts about what went wrong, matched without their file names: those change with every refactoring."""

from nccltool.triage.logs.base import LogPattern, doubt, each, echo, failure, state

UNKNOWN: LogPattern = doubt("nccl.warning", " WARN ")
"""A warning that no pattern knows."""

_START = (
    failure("nccl.no-interface", " interface found", r"(?i)\bno [\w ]{0,40}interface found"),
    *each(failure, "nccl.no-interface", "verify NCCL_OOB_NET_IFNAME", "No interface found in the same subnet"),
    failure("nccl.no-family", "Address family not supported", r"Socket creation failed"),
    doubt("nccl.shared-memory", "exceeds device/fn maxSharedMem"),
    failure(
        "nccl.bad-family",
        "is neither AF_INET",
        r"connecting to address (?P<address>\S*) ?with family (?P<family>\d+)",
    ),
    *each(failure, "nccl.bad-comm-id", "Invalid NCCL_COMM_ID", "should not be called when NCCL_COMM_ID is set"),
    failure(
        "nccl.version-mismatch",
        "Mismatched NCCL version",
        r"rank (?P<rank>\d+) version (?P<a>\S+) rank (?P<other>\d+) version (?P<b>\S+)",
    ),
    failure(
        "nccl.version-mismatch",
        "NCCL version mismatch with remote peer",
        r"peer (?P<peer>\S+) \(local: (?P<a>\S+?), remote:? (?P<b>[^)]+)",
    ),
    failure("nccl.driver-old", "driver version is insufficient"),
    failure("nccl.driver-old", "Minimum requirement is", r"Driver version found is (?P<version>\S+)\. Minimum"),
    failure("nccl.bootstrap-mismatch", "Bootstrap Root : mismatch in", r"mismatch in (?P<what>rank count|info)"),
    failure("nccl.bootstrap-mismatch", "has already checked in"),
    failure("nccl.truncated", "Message truncated", r"received (?P<got>\d+) bytes instead of (?P<want>\d+)"),
    failure("nccl.truncated", "message truncated", r"receiving (?P<got>\d+) bytes instead of (?P<want>\d+)"),
    failure("nccl.wrong-magic", "wrong magic", r"wrong magic (?P<magic>[0-9a-fx]+) != (?P<want>[0-9a-fx]+)"),
    doubt("nccl.foreign-magic", "magic mismatch", r"(?P<magic>0x[0-9a-f]+)\D+(?P<want>0x[0-9a-f]+)"),
    failure("nccl.wrong-type", "wrong type", r"wrong type (?P<got>\d+) != (?P<want>\d+)"),
    failure(
        "nccl.duplicate-gpu",
        "Duplicate GPU detected",
        r"rank (?P<rank>\d+) and rank (?P<other>\d+) both on CUDA device (?P<gpu>\w+)",
    ),
    *each(
        failure,
        "nccl.duplicate-gpu",
        "Multiple Ranks are using the same GPU",
        "Multiple ranks use the same device",
    ),
    failure("nccl.bad-value", "Unrecognized element token", r'token "(?P<value>[^"]*)"'),
    failure("nccl.bad-value", "Unrecognized prefix token", r'token "(?P<value>[^"]*)"'),
    failure("nccl.bad-value", "All entries except the first must have a prefix"),
    doubt(
        "nccl.ignored-value",
        "Invalid value ",
        r"Invalid value (?P<value>.+?) for (?P<name>[A-Z][A-Z0-9_]+), using default",
    ),
    doubt("nccl.ignored-value", "Unable to recognize NCCL_", r"(?P<name>NCCL_[A-Z0-9_]+)"),
    doubt("nccl.ignored-value", "unknown value", r"(?P<name>NCCL_[A-Z0-9_]+): unknown value"),
    doubt("nccl.ignored-value", "Unknown CTA policy"),
    *(
        doubt("nccl.ignored-value", words, rf"(?P<name>NCCL_[A-Z0-9_]+)(?:=\S+)? {words}")
        for words in ("is out of range", "is being ignored because", "is greater than the maximum")
    ),
    failure(
        "nccl.no-algorithm",
        "o algorithm/protocol available",
        r"available(?:.*?(?P<name>NCCL_(?:ALGO|PROTO)) was set to (?P<value>[^.]+))?",
    ),
    failure("nccl.bad-argument", "is not a valid pointer"),
    failure("nccl.bad-argument", " : invalid ", r"\w+ : invalid (?:root|type|reduction operation|rank)"),
    *each(
        failure,
        "nccl.bad-argument",
        "mismatchs with NCCL device",
        "Attempt to use communicator before",
        "communicators are not allowed in the same group",
        "does not match the parent",
        "nvalid config ",
        "nvalid rank requested",
    ),
)

_SOCKETS = (
    failure(
        "nccl.connect-failed",
        "onnect to ",
        r"[Cc]onnect to (?P<peer>[\w.:%\-\[\]]+)<(?P<port>\d+)> "
        r"(?:failed ?: |returned \d+\()(?P<error>[A-Z][\w ]+)",
    ),
    failure(
        "nccl.connect-failed",
        "exceeded error retry count",
        r"connect to (?P<peer>[\w.:%\-\[\]]+)<(?P<port>\d+)> returned (?P<error>[\w ]+), exceeded",
    ),
    failure(
        "nccl.connect-failed",
        "Call to connect",
        r"Call to connect(?: to (?P<peer>[\w.:%\-\[\]]+?)(?:<(?P<port>\d+)>)?)? (?:failed|timeout)\s*:? (?"
        r"P<error>[A-Z][\w ]+)",
    ),
    failure("nccl.bind-failed", "Call to bind", r"Call to bind .*failed ?: (?P<error>.+)"),
    echo(
        "nccl.peer-closed",
        "Connection closed by remote peer",
        r"remote peer(?: (?P<peer>[\w.:%-]+)(?:<(?P<port>\d+)>)?)?",
    ),
    echo("nccl.peer-closed", "Connection reset by peer", r"Call to \w+ .*failed ?: Connection reset"),
    echo("nccl.peer-closed", "Broken pipe", r"Call to \w+ .*failed ?: Broken pipe"),
    failure(
        "nccl.peer-lost",
        "Call to ",
        r"Call to (?:recv|send|read|write|poll)\w*(?: (?:from |to )?(?P<peer>[\w.:%\-\[\]]+)<\d+>)? failed ?: "
        r"(?P<error>Connection timed out|No route to host|Network is unreachable|Host is unreachable)",
    ),
    *each(echo, "nccl.peer-closed", "Socket recv failed while polling", "Accept failed"),
    echo("nccl.proxy-failed", "Proxy Call to rank", r"Proxy Call to rank (?P<peer>\d+) failed"),
    echo(
        "nccl.proxy-failed",
        "Failed to execute operation",
        r"(?:Proxy Service (?P<own>\d+)\] )?Failed to execute operation (?P<operation>\w+) from rank (?P<p"
        r"eer>\d+), retcode (?P<code>\d+)",
    ),
    *each(
        echo,
        "nccl.proxy-failed",
        "Error encountered progressing operation",
        "Could not receive type from localRank",
    ),
    echo("nccl.proxy-failed", "ncclProxyC", r"ncclProxyC\w+ call to tpRank (?P<peer>\d+).* failed"),
    echo("nccl.fatal", "communicator encountered a fatal error"),
    *each(failure, "limits.files", "Too many open files", "EMFILE"),
)

_RDMA = (
    failure(
        "ib.qp-failed",
        "ibv_modify_qp failed",
        r"ibv_modify_qp failed with (?:error )?(?:(?P<number>\d+) )?(?P<error>[A-Z][\w ]+)(?!.*retrying)(?"
        r":.*?on dev (?P<hca>[\w.-]+?):\d+)?(?:.*?local GID index (?P<gid>\d+))?(?:.*?local GID (?P<local>"
        r"[\w:.]+))?(?:.*?remote GID (?P<remote>[\w:.]+))?",
    ),
    doubt("ib.qp-retry", "retrying", r"ibv_modify_qp failed with .*retrying (?P<try>\d+)/(?P<of>\d+)"),
    failure(
        "ib.no-memory",
        "Cannot allocate memory",
        r"(?P<call>ibv_(?:exp_)?(?:reg_mr\w*|create_\w+|alloc_pd))\b.*Cannot allocate memory",
    ),
    failure("ib.bad-address", "Bad address", r"(?P<call>ibv_reg_mr\w*)\b.*Bad address"),
    failure("gdr.failed", "ibv_reg_dmabuf_mr", r"ibv_reg_dmabuf_mr failed"),
    failure(
        "ib.register-failed",
        "ibv_reg_",
        r"ibv_reg_mr\w* failed(?!.*(?:Cannot allocate|Bad address|fall))(?: with error (?P<err" "or>.+))?",
    ),
    failure(
        "ib.completion",
        "Got completion",
        r"Got completion (?:from (?:peer|remote) (?P<peer>[\w.:%-]+?)(?:<\d+>)? )?with (?:error|status=)(?"
        r"P<prefix>[A-Z_ ]*\()? ?(?P<status>\d+)(?:.*?hca (?P<hca>[\w.-]+))?",
    ),
    failure(
        "ib.port-error",
        "port error",
        r"(?:(?P<hca>[\w.-]+):\d+ )?[Gg]ot (?:async )?\w*-? ?(?:fatal )?(?:async )?(?:error )?event ?: port error",
    ),
    state("ib.port-active", "port active"),
    doubt("ib.gid-change", "GID table change"),
    doubt("ib.async-benign", "client reregistration"),
    failure(
        "ib.async-fatal", "async fatal event", r"(?:(?P<hca>[\w.-]+):\d+ )?async fatal event(?!.*work queue error)"
    ),
    failure("ib.async-fatal", "catastrophic error", r"(?:(?P<hca>[\w.-]+):\d+ )?Got async"),
    failure(
        "ib.access-violation",
        "work queue error",
        r"(?:(?P<hca>[\w.-]+):\d+ )?(?:Got async|async fatal) event.*work queue error",
    ),
    doubt("ib.uneven", "Detected mixed local Net device counts"),
    failure(
        "ib.create-failed",
        "Call to ibv_",
        r"Call to (?P<call>ibv_(?:create_\w+|alloc_pd)) failed(?!.*Cannot allocate)",
    ),
    failure("ib.open-failed", "Call to ibv_", r"Call to ibv_(?:open_device|query_\w+|get_device_list) failed"),
    failure("ib.mixed", "incompatible with the local"),
    failure("ib.mixed", "incompatible devices", r"Attempted to (?:merge|connect) incompatible devices"),
    failure("ib.open-failed", "Unable to open device", r"Unable to open device (?P<hca>\S+)"),
    failure("nccl.mismatched", "Mismatched collective detected", r"around rank (?P<rank>\d+)"),
    failure("ras.mismatch", "operation counts", r"have different (?P<op>\w+) operation counts"),
    state(
        "ras.rank",
        " managed by process",
        r"Rank (?P<rank>\d+) -- GPU \d+ managed by process (?P<process>\d+) on node (?P<node>\S+)",
    ),
    *each(failure, "ib.receive-mismatch", "posted incorrect receive info", "collective mismatch error"),
    doubt("ib.failover", "marked as failed", r"Device (?P<hca>\S+) marked as failed"),
    doubt("ib.acs-hint", "occurs when ACS is enabled"),
    doubt("ib.rail-hint", "not cross-rail connected"),
    doubt("ib.gid-hint", "incorrect GID index"),
)

_PLUGINS = (
    failure("plugin.none", "Failed to initialize any NET plugin"),
    failure("plugin.none", "Error: network ", r"Error: network (?P<name>\S+) not found"),
    doubt("plugin.failed", "Failed to initialize NET plugin", r"Failed to initialize NET plugin (?P<name>.+)$"),
    doubt(
        "plugin.unsupported", "External network plugin", r"External network plugin (?P<name>.+?) is unsupported"
    ),
    failure("plugin.broken", "undefined symbol: nccl"),
    failure("plugin.broken", "undefined symbol", r"(?P<name>lib[\w.-]*nccl[\w.-]*\.so\S*):.*undefined symbol"),
    doubt(
        "plugin.broken",
        "/Plugin",
        r"/Plugin ?:.*?(?P<name>(?!libnccl-(?:net|tuner|profiler|env)\.so)lib[\w./-]+\.so[\w.]*): "
        r"(?:cannot open shared object file|undefined symbol|version .* not found)",
    ),
    failure("plugin.ofi-failed", "aws-ofi-nccl initialization failed"),
    failure(
        "plugin.ofi-failed",
        "NET/OFI",
        "NET/OFI (?P<text>(?:Failed|Unable|Couldn't|Could not|Error|No eligible|Only EFA|Creating new end"
        r"point|Call to fi_\w+ failed)(?!.*insert remote address).*)",
    ),
    failure(
        "plugin.fastrak-failed",
        "NET/FasTrak",
        r"NET/FasTrak\b.*(?:[Ff]ailed|mismatch|[Ee]rror|timed out|not match|unsupported|must)",
    ),
    failure(
        "plugin.fastrak-failed", "NET/GPUDirectTCPX", r"NET/GPUDirectTCPX\w*\b.*(?:[Ff]ailed|[Ee]rror|timed out)"
    ),
    doubt(
        "plugin.warned",
        "NET/",
        r"^(?!.*completed with error)(?P<name>(?:NET|TUNER|PROFILER)/(?!Plugin|IB\b|IBext|Socket)\w+)\b.*("
        "?:[Ff]ail|[Ee]rror|[Uu]nable|[Cc]ould ?n.t|[Cc]annot|[Nn]o eligible|mismatch|unsupported|not (?:"
        "support|found|match))",
    ),
    failure("plugin.tuner-failed", "TUNER/Plugin", r"TUNER/Plugin.*(?:[Ff]ailed to init|returned error|invalid)"),
    *each(failure, "plugin.config", "NCCL config checker", "guest config"),
    doubt("sharp.fallback", "Cannot initialize CollNet"),
    failure("sharp.failed", "SHARP coll init error"),
    failure(
        "sharp.failed",
        "SHARP",
        r"(?:SHARP|SHArP)\b.*?(?:[Ff]ailed|Cannot create|init error|Job init error|not supported)",
    ),
    failure("sharp.failed", "sharp_", r"sharp_\w+.*(?:[Ff]ailed|ERROR|error)"),
    failure("sharp.failed", "COLLNET", r"(?:COLLNET|CollNet)\b.*(?:[Ff]ailed|error)"),
    failure("sharp.crash", "sharp", r"^\s*\d+ 0x[0-9a-f]+ (?P<symbol>\w*[Ss]harp\w*)\("),
)

_MEMORY = (
    failure(
        "shm.full",
        "No space left on device",
        r"(?:posix_fallocate|shm|/dev/shm|shared memory).*No space left on device",
    ),
    failure("shm.full", "failed to extend", r"failed to extend (?P<path>\S+)"),
    failure(
        "shm.segment",
        "shared memory segment",
        r"Error while (?:creating|attaching to) shared memory segment (?P<path>\S+)",
    ),
    failure("shm.segment", "create shared memory"),
    failure("shm.segment", "unlink shared memory", r"unlink shared memory (?P<path>\S+) failed"),
    failure(
        "shm.segment",
        "Call to ",
        r"Call to (?:shm_open|posix_fallocate|ftruncate|mmap) failed(?!.*Too many open files)",
    ),
    failure("shm.full", "/dev/shm", r"No space left on device.*/dev/shm"),
    failure("shm.segment", "Could not map ", r"Could not map (?P<path>/dev/shm\S*)"),
    failure("cuda.oom", "out of memory", r"(?:[Cc]uda|HIP) (?:failure|error)\s*\d* ?:? ?'?\s*out of memory"),
    failure("cuda.oom", "Failed to CUDA ", r"Failed to CUDA (?:calloc|malloc|host alloc)"),
    failure("host.malloc", "returned null", r"malloc\(size=\d+\) returned null"),
    failure("cuda.not-ready", "system not yet initialized"),
    failure(
        "cuda.not-permitted",
        "operation not permitted",
        r"(?i:(?:cuda|hip)[ _]?(?:failure|error)?[ _]?)(?:800|NOT_PERMITTED\])? ?'?operation not permitted",
    ),
    failure("cuda.illegal", "an illegal memory access was encountered"),
    failure("cuda.launch", "unspecified launch failure"),
    failure("cuda.ecc", "uncorrectable ECC error"),
    *each(failure, "cuda.no-peer", "peer access is not supported between", "failed to peer with device"),
    doubt(
        "cuda.peer-refused", "peer query failed", r"peer query failed between dev (?P<a>\d+)\S* and dev (?P<b>\d+)"
    ),
    doubt(
        "cuda.peer-refused",
        "Could not enable P2P between",
        r"Could not enable P2P between dev (?P<a>\d+)\S* and dev (?P<b>\d+)",
    ),
    failure("cuda.peer-import", "failed to open CUDA IPC handle"),
    failure("cuda.peer-import", "IpcOpenMemHandle", r"cudaIpcOpenMemHandle.*(?:fail|error)"),
    failure("cuda.no-peer", "peer mapping resources exhausted"),
    *each(
        failure,
        "cuda.no-device",
        "no CUDA-capable device is detected",
        "CUDA-capable device(s) is/are busy",
        "all CUDA-capable devices are busy",
    ),
    failure("version.build", "invalid device function"),
    failure("cuda.peer-import", "P2P/CUMEM import failed"),
    failure("cuda.peer-import", "hipIpc", r"hipIpc(?:Get|Open)MemHandle failed"),
    doubt("iommu.hint", "from kernel command line", r"Missing \"\w*iommu=\w+\""),
    failure("cuda.no-library", "Failed to find CUDA library"),
    *(
        failure("cuda.failed", word, word + r":? ?(?:(?P<number>\d+) ?)?'?(?P<error>[^']+)")
        for word in ("Cuda failure", "HIP failure")
    ),
    failure("nvls.failed", "Failed to bind NVLink SHARP"),
    failure("nvls.fabric-hint", "configuration error in the Fabric Manager"),
    failure(
        "nvls.p2p-off",
        "P2P is disabled between NVLINK connected GPUs",
        r"NVLINK connected GPUs (?P<a>\d+) and (?P<b>\d+)",
    ),
    failure("nvls.conflict", "ranks using the same NVML device"),
    failure(
        "mnnvl.broken",
        "is available but not working",
        r"MNNVL \(cliqueSize (?P<size>\d+)\) is available but not working",
    ),
    failure("mnnvl.import", "isFabric=true"),
    failure("mnnvl.import", "ImportFromShareableHandle", r"cuMemImportFromShareableHandle.*(?:[Ff]ail|error)"),
    failure("mnnvl.unsupported", "MNNVL is not supported on this system"),
    failure(
        "mnnvl.imex",
        "IMEX",
        r"(?:Check the IMEX|imex|IMEX)\b.*(?:not|fail|error|FAIL|ERROR|UNAVAILABLE|DOWN|Lost|lost)",
    ),
    *each(doubt, "nvml.failed", "nvmlInit() failed", "Failed to open libnvidia-ml"),
)

_TOPOLOGY = (
    failure("topology.attribute", "of node ", r"Attribute (?P<attribute>\S+) of node (?P<node>\S+) not found"),
    failure("topology.graph-file", "XML Import Channel"),
    failure(
        "topology.file", "Could not open XML", r"Could not open XML (?P<what>topology|graph) file (?P<path>\S+)"
    ),
    failure(
        "topology.file", "XML", r"XML (?:Parse|parse|Load|load)\b.*(?:[Ee]rror|[Uu]nexpected|[Ee]xpected|failed)"
    ),
    failure("topology.no-device", "nvmlDeviceGetHandleByPciBusId", r"nvmlDeviceGetHandleByPciBusId\(.*\) failed"),
    failure(
        "topology.sysfs",
        "Could not find real path of",
        r"Could not find real path of (?P<path>(?!/sys/class/net)\S+)",
    ),
    doubt("topology.sysfs", "/sys/class/net", r"Could not find real path of (?P<path>/sys/class/net\S+)"),
    failure("topology.no-graph", "Failed to find reverse path"),
    failure("topology.no-device", "Could not read node #"),
    doubt("topology.sysfs", "could not read /sys", r"could not read (?P<path>/sys\S+)"),
    failure("topology.no-net", "Could not find any local path from gpu"),
    failure("topology.no-net-id", "Could not find NET with id", r"Could not find NET with id (?P<id>\S+)"),
    failure("topology.no-net-id", "Could not find GPU with rank"),
    failure("topology.no-graph", "Unable to find paths between"),
    failure("topology.no-graph", "topology", r"(?:[Tt]opology|topo)\b.*(?:unconnected|unreachable|inconsistent)"),
    failure(
        "topology.no-transport",
        "No transport found for rank",
        r"No transport found for rank (?P<from>\d+)\[\w+\] -> rank (?P<to>\d+)",
    ),
    failure("topology.uds", "UDS:", r"UDS: (?:Binding to socket|Cannot connect|Sending data)"),
)

PATTERNS = (*_START, *_SOCKETS, *_RDMA, *_PLUGINS, *_MEMORY, *_TOPOLOGY)
