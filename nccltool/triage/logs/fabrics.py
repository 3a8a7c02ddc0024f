"""Lines of libfabric, UCX, NVSHMEM and GDRCopy."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(r"""
failure
    efa.unreachable     `Unreachable remote|Unresponsive receiver|Unresponsive remote|estination unreachable` =
                     > (?:Unr|nreachable)
                        (?:.*?\b(?P<peer>\d{1,3}(?:\.\d{1,3}){3})\b)?
    efa.unreachable     `Unable to insert remote address` => address vector for (?P<device>device \d+)
    efa.failed          NET/OFI (?:Request|Remote write) .*`completed with error`(?:\. RC|: err): (?P<code>\d+)
    version.build       `requires at least libfabric version`
    version.build       `device library version does not match`
    env.refused         `Invalid value for `(?P<name>OFI_NCCL_\w+): (?P<value>\S+)
    env.refused         `Invalid value for `(?P<name>\w+): '(?P<value>[^']*)'\. Expected
    env.refused         `no usable transports/devices`
    ib.no-memory        `nable to register MR`.*Cannot allocate memory
    gdr.failed          Failed to register \w+` buffer with the EFA device`
    ib.gid-missing      `ibv_query_gid(`.*failed
    ib.partition        `unable to find specified pkey`
    shm.segment         `check shared memory limits by`
    ib.local-protection  `Local protection error`
    ib.refused          `Remote access error|Remote operation error|Remote invalid request`
    ucx.link            `Receive-no-ready retry count`
    ucx.link            `RNR retry counter exceeded` => ^(?!.*NCCL).*RNR retry
    ib.completion       `ailed status `(?P<status>\d+): wr_id
    efa.failed          `fi_cq_readerr`
    plugin.no-rdma      `please use one or more of` => network devices? .*(?:mlx|ionic|bnxt_re|irdma|efa)
                        .*please use one or more of:(?: ?'[\w.:-]+'\(tcp\),?)+$
    plugin.no-gpu       `UCX` => (?i)UCX CUDA support was not found|not configured with (?:CUDA|
                        ROCm) support|UCX .*(?:without|lacks) (?:CUDA|ROCm|GPU) support|detected as host by UCX
    plugin.broken       `Bootstrap unable to load` '(?P<name>[^']+\.so[\w.]*)'
    plugin.ofi-failed   fi_getinfo: provider (?P<name>\w+) `output empty list`
    ib.no-memory        `ibv_create_` => (?:(?P<hca>mlx\w+): )?(?P<call>ibv_create_\w+)\(.*failed: Cannot
                        [ ]allocate memory
    ib.memlock          `RLIMIT_MEMLOCK`
    ib.memlock          `memlock limits are set too low|init-fail-no-mem`
    ib.memlock          `Memlock limit:` \d+
    ib.completion       ^(?!.*NCCL).*\bstatus=(?P<status>\d+) \(`transport retry counter exceeded`\).*?
                        (?:dst=(?P<peer>[\d.]+))?(?: dev=(?P<hca>[\w.-]+))?$
    ucx.link            `:Transport retry counter exceeded`
    ucx.link            `transport retry counter exceeded` => ^(?!.*status=\d).*transport retry
    ib.gid-chosen       (?P<hca>[\w.-]+): `selected GID index` (?P<gid>\d+) \((?P<value>[\da-f:]+)
    ib.memlock          (?i)(?:ulimit|limit|raise|increase|set|check)\b.*\b`memlock`\b(?!=-1|=unlimited)
    ib.memlock          `locked memory` => (?i)(?:low|too small|insufficient|increase|limit).*locked memory|locked
                        [ ]memory.*(?:low|too small|insufficient|exceed)
    ucx.no-transport    `UCX` +ERROR +no [\w -]*\btransport to
    ucx.unreachable     `UCX` +ERROR (?!no [\w -]*transport to).*(?:[Dd]estination is unreachable|
                        Connection timed out|[Nn]o route)
    ucx.link            `UCX` +ERROR .*(?:[Tt]ransport retry count exceeded|Endpoint timeout)(?: on
                        [ ](?P<hca>[\w.-]+?):\d)?
    ucx.link            `Transport retry count exceeded on` => on (?P<hca>[\w.-]+?):\d/(?P<layer>\w+)
    ucx.link            `transport error: Endpoint timeout`
    gdrcopy.missing     `GDRCopy` (?:open call failed|not available|.*(?:failed|not found))
    gdrcopy.missing     `gdrcopy` => gdr_open.*fail|gdrdrv.*(?:not loaded|not found|No such)
    gdrcopy.missing     `gdrdrv` => (?:cannot access|No such).*(?P<path>/dev/gdrdrv)|(?P<late>/dev/gdrdrv).*(?:No
                        [ ]such|not found)
    gdr.no-peermem      `peermem` => (?:[Mm]odule )?nvidia[_-]peermem.*(?:not loaded|not found|missing|No such|
                        failed|Unknown symbol|Invalid argument)|(?:not|could not|failed).*nvidia[_-]peermem
    gdr.failed          `register GPU MR`
    gdr.no-peermem      `nv_peer_mem`.*(?:NOT loaded|not loaded|not found|missing|inactive|failed)
    gdr.no-peermem      `disagrees about version of symbol` => peer_?mem\b.*disagrees
    gdr.no-peermem      `memory_peers` => memory_peers/\S+.*(?:No such|missing|not (?:exist|found))|(?:No such|
                        cannot|missing).*memory_peers/
    gdr.failed          `allocate GPU MR|create GPU MR|register GPU MR`
    gdr.failed          `DMA_BUF` => DMA_BUF_SUPPORT [Ff]ailed|DMA_BUF.*not supported
    gdr.failed          `GPUDirect`(?: RDMA)?\b.*(?:not (?:supported|available|enabled)|unavailable|fail)
    gdr.failed          (?:cannot|failed to|could not|unable to) register `GPU memory`
    mnnvl.import        `ImportFromShareableHandle` => (?i)\b(?:fail\w*|error)\b.*ShareableHandle|ShareableHandle\b
                        .*(?:fail|error)
    shm.full            `memory available in /dev/shm` => request exceeds memory available in /dev/shm
    net.too-long        `essage too long`
echo
    ucx.peer-closed     `UCX` +ERROR (?:.*dest_addr=(?P<peer>[\d.]{7,15}):)?.*(?:Connection reset|Connection
                        [ ]refused)
    ucx.failed          `UCX  ERROR` => (?:\b(?P<where>\w+\.(?:cc?|cpp|h)):\d+ +)?UCX +ERROR (?P<error>.+)
    nvshmem.failed      `nvshmem` (?:initialization failed|setup connections failed)
state
    fabric.inactive  `<inactive>` => ^\s*Link \d+: <inactive>
    fabric.active    `Link ` => ^\s*Link \d+: [\d.]+ GB/s
    nvshmem.version     `vshmem|VSHMEM` => (?i)nvshmem[a-z\d-]*?[^\w.]{1,12}?v?(?P<version>\d+\.\d+)\.\d+\b(?:
                        .*nvshmem[a-z\d-]*?[^\w.]{1,12}?v?(?P<other>\d+\.\d+)\.\d+\b)?
    ib.memlock-device   `evice: ` => ^\s+(?:Local d|D)evice: +(?P<hca>mlx\w+|bnxt\w+)
doubt
    efa.warned          `<warn>|<critical>` => ^libfabric:\d+:(?:\d+:)?\w*:+(?P<where>efa|cxi|verbs|psm3|opx)\w*:
                        \w+:(?P<function>\w+)\(\)
    ib.memlock-warning  `RLIMIT_MEMLOCK` => only be able to use \d+ bytes|is \d+ bytes
""")
