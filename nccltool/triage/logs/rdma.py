"""RDMA as other software than NCCL reports it: perftest, transfer engines, Open MPI, and the tools for ports."""

from nccltool.triage.logs.patterns import table

_DEVICE = r"(?P<hca>(?:mlx[45]|bnxt_re|irdma|roce|rocep|ibp|qedr|hfi|efa|rdmap)\w*)"
_REFUSED = r"(?:[Ff]ail\w*|FAIL\w*|[Uu]nable|[Cc]ould(?: not|n't)|[Cc]annot|refused|error)"

PATTERNS = table(
    r"""
failure
    ib.qp-failed         [Mm]odify QP\b.*?\bt`o RTR|o RTS`(?!.*retrying)(?:.*?(?:on|dev|device) {DEVICE})?
    ib.qp-failed         `modify_qp` => ^(?!.*NCCL).*modify_qp\b.*fail(?!.*retrying)(?:.*?(?:on|dev|
                         device) {DEVICE})?
    ib.qp-failed         `RTR` => \b(?:QP|INIT)\b.*\bRTR\b.*[Ff]ail\w*(?:.*?(?:on|dev|device) {DEVICE})?
    ib.qp-failed         `nable to Connect the HCA`
    ib.qp-failed         `ibv_create_ah` => ibv_create_ah\(.*failed(?!.*Cannot allocate)(?:.*)|ibv_create_ah
                         [ ]failed(?!.*Cannot allocate)
    ib.gid-missing       `GID` => (?i)\bgid(?: index)? ?\d*\b.{0,60}\b(?:not valid|invalid|not found|
                         does not exist|
                         is (?:zero|empty))(?:.*?{DEVICE})?
    ib.gid-missing       `gid` => (?i)(?:invalid|no (?:usable|suitable|valid|matching)) (?:\w+ )?gid\b
    ib.gid-missing       `GID` => (?i)(?:invalid|no (?:usable|suitable|valid|matching)) (?:\w+ )?gid\b(?:
                         .*?{DEVICE})?
    ib.gid-missing       `GID|gid` => (?:[Ff]ail\w*|[Uu]nable|[Cc]ould not) (?:to )?(?:query|get|find|
                         read) (?:\w+ )?
                         (?:GID|gid)\b(?:.*?{DEVICE})?
    ib.gid-missing       `GID` => (?:[Ff]ail\w*|[Uu]nable|[Cc]ould not|[Cc]annot) (?:to )?find (?:\S+ ){0,4}GID\b
    ib.gid-missing       `ibv_query_gid` (?:failed|returned)
    ib.partition         `P_Key|PKEY|pkey|PKey` => (?i)(?:invalid|bad|no|fail\w*|mismatch\w*)\b.{0,40}\bp_?key|
                         p_?key
                         \b.{0,60}(?:not (?:found|in|valid)|invalid|mismatch|violation)
    ib.no-such-device    {DEVICE}(?::\d+)?'?` is not available`
    ib.no-such-device    `o matched|o such RDMA|o RDMA device|o matching RDMA` => (?i)no (?:matched|matching|such)
                         [ ](?:rdma|ib) device(?:.*?{DEVICE})?
    ib.no-such-device    `not found` => (?i)(?:IB|RDMA|InfiniBand|verbs) device:? '?{DEVICE}'? (?:was )?not found
    ib.no-such-device    `not exist|o such device` => (?:device|HCA|dev) '?{DEVICE}'?:? (?:does not exist|no such)
    ib.no-such-device    `evices found` => (?i)\bno (?:RDMA|InfiniBand|IB|verbs) devices? found
    ib.no-such-device    `o active port|o available RNIC|o usable HCA|o usable IB|o available HCA` => ^
                         (?!libfabric|.*(?:UCX|NCCL INFO)).*
    ib.qp-failed         `RDMA_CM_EVENT_` => RDMA_CM_EVENT_(?:ADDR_ERROR|ROUTE_ERROR|CONNECT_ERROR)
    ib.completion        ^(?:.*?{DEVICE}: )?.*`WC error: `(?P<status>\d+), Message
    ib.completion        (?:\bto: (?P<peer>[\w.-]+) )?`error polling `[HL]P CQ with status .*\bstatus number
                         [ ](?P<status>\d+)
    ib.open-failed       `ailed to process command ` => \befa\b.*\(opcode
    ib.no-manager        `multicast join failed for`
    ib.no-manager        `tate:` => ^\s*State:\s*Initializ|^\s*state:\s+(?:2: INIT|PORT_INIT)
    ib.port-error        (?i:event|got|received)\b.*`port error`(?!.*NCCL)(?:.*?(?:context|for|on) {DEVICE})?
    ib.port-error        (?i:event|got|received)\b.*`PORT_ERR`(?!.*NCCL)(?:.*?(?:for|on) {DEVICE})?
    ib.port-down         {DEVICE}.{0,60}`PORT_ERR`
    ib.port-down         {DEVICE}(?:/\d+)? `state DOWN`
    ib.port-down         (?:(?P<hca>ib\w*\d): )?l`ink state changed to DOWN|ink state is DOWN`
    ib.port-down         [Oo]pen`SM`.*(?:ACTIVE to (?:DOWN|INIT)|[Ll]ink (?:went )?down)
    ib.port-down         `hysical state` => (?:{DEVICE}.*)?physical state changed to (?:Polling|Disabled|Sleep)
    ib.port-down         `from ACTIVE to DOWN`
    ucx.link             `IBV_WC_RETRY_EXC_ERR` => ^(?!.*NCCL).*IBV_WC_RETRY_EXC_ERR(?:.*?{DEVICE})?
    gdr.failed           `egister GPU memory|egister device memory|egister CUDA memory`.*(?:Bad address|fail|
                         not supported|EFAULT)
    gdr.failed           `cuda memory|GPU memory|device memory` => (?i)(?:fail\w*|unable|cannot|could not).*
                         regist\w* .{0,20}(?:cuda|gpu|device) memory|ibv_reg_mr.*(?:cuda|gpu|device) memory.*fail
    gdr.failed           `dmabuf|dma-buf|dma_buf|DMA-BUF` => (?i)(?:fail\w*|unable|cannot|could not|not supported)
                         .*\bdma[-_]?buf|dma[-_]?buf\w*\b.*(?:fail|not supported|unavailable|unable)
    gdr.failed           `cuMemGetHandleForAddressRange`.*(?i:fail|error|not)
    gdr.failed           `nvidia_p2p_get_pages`.*(?:fail|error|ret = -)
    gdrcopy.missing      `gdr_pin_buffer|gdr_map`.*(?:fail|error)
    gdr.failed           `CUDA GPU Direct RDMA support but`
    gdr.failed           `irect RDMA is not |enable GPUDirect RDMA|enable GPU Direct RDMA` => (?i)gpu ?direct RDMA
                         [ ]is not (?:available|supported|enabled|possible)|(?:could ?n.t|could not|cannot|
                         unable to) enable gpu ?direct
    ib.bad-address       `egister memory` => ^(?!.*NET/OFI).*register memory\b.*\bBad address
    gdr.no-peermem       `ib_register_peer_memory_client`
    sharp.failed         `Aggregation Manager|aggregation manager|AM service|sharpd|sharp_am` => (?i)(?=.*(?:sharp|
                         aggregation manager)).*(?:{REFUSED}|\bno (?:AM|response)|inactive|not running)
    sharp.failed         `failed to connect to AM `
    sharp.failed         `TL_SHARP` => (?i)TL_SHARP.*(?:ERROR|WARN|fail)
    sharp.failed         `SHARP` => SHARP error in|SHARP (?:job|session).*(?:[Ff]ail|error)
    ib.qp-failed         `ibgda.cpp|ibrc.cpp|ibdevx.cpp|ibgda/|ibrc/` => (?:non-zero status|NULL value|error stat
                     us)
                         .{0,80}(?:\bah\b|DCT|\bep\b|\bEPs?\b|ep_connect|connect|\bqp\b|\bQP\b|\bgid\b|GID|modify)
    ib.port-down         {DEVICE}.{0,20}\b`state DOWN|state: DOWN`
    ib.port-down         `Link is Down` => (?i)\b(?:port|source)\b.*
    ib.register-failed   `MemoryRegion failed` => (?i)register\w*MemoryRegion failed(?!.*Cannot allocate)
    ib.register-failed   `emory registration failed` => ^(?!.*(?:NCCL|[Cc]annot allocate)).*registration failed
    ib.register-failed   `allocate MR` => Couldn't allocate MR|[Ff]ailed to (?:allocate|create) MR
doubt
    ib.port-counters     `SymbolErrorCounter|LinkDownedCounter` => (?:SymbolErrorCounter|LinkDownedCounter)
                         (?: increased by)?[ .:=]*[1-9]\d*
    ib.port-counters     `symbol_error|link_downed|link_error_recovery`(?:_counter)?[ .:=]+[1-9]\d*
    ib.port-counters     `req_transport_retries_exceeded|local_ack_timeout_err|out_of_sequence|packet_seq_err`
                         [ =:]+[1-9]\d{2,}
    ib.port-counters     `link_down_events_phy|rx_symbol_err_phy|rx_crc_errors_phy`[ :=]+[1-9]\d*
    ib.port-counters     `LinkErrorRecoveryCounter|LocalLinkIntegrityErrors|PortRcvErrors` == [1-9]\d*
    ib.port-counters     `#warn: counter `(?:SymbolErrors|LinkDowned|LinkRecovers|RcvErrors|LinkIntegrityErrors)
                         \s+= [1-9]\d*
    ib.port-counters     `Bad signal integrity`
    ib.setup-hint        `subnet GID prefix was detected|queue configuration for the OpenFabrics`
    ib.setup-hint        `Open MPI detected two ` => detected two (?:different )?(?:OpenFabrics )?(?:devices|
                         transport types)
    ib.absent-hint       `nonexistent OpenFabrics devices`
state
    gdr.buffer           `cuMemAlloc|--use_cuda|initializing CUDA|--use_rocm` => .
    shell.gid            ^\s*(?:{DEVICE}\s+\d\s+)?(?P<index>\d{1,3})\s+(?P<gid>(?:[\da-f]{4}:){2}`0000:0000:`
                         (?:[\da-f]{4}:){3}[\da-f]{4})\b
    shell.verbs          \b`uverbs`\d
    shell.pcie-slow      `LnkSta:`.*downgraded
    shell.pcie-slow      `is running at PCI link`
    shell.pcie-slow      `available PCIe bandwidth, limited by ` => (?:mlx[45]_core|bnxt_en|ice|i40e|ionic|nvidia|
                         amdgpu) [\da-f:.]+: (?P<has>\d+\.\d+) Gb/s available .*?(?:PCIe (?P<lanes>x\d+) .*)?
                         \(capable of (?P<can>\d+\.\d+)(?:.*PCIe (?P<most>x\d+))?
    ib.qp                ` mtu ` => qpn \d+ mtu (?P<mtu>\d)
    ib.active-mtu        `active_mtu`:\s+(?P<mtu>\d+)
""",
    DEVICE=_DEVICE,
    REFUSED=_REFUSED,
)
