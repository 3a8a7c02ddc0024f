"""What an error of a library says by itself: the object that failed, and the text of the error number behind it.

Libraries written in C word errors alike: a verb, an object, and what errno or the library's own status
means. The same text of errno means another cause for another object: no memory for a queue pair is a limit on
locked pages, no memory for a list is a host without memory. So the rows are asked in their order, and the first
that fits counts.
"""

import re
from functools import lru_cache

_OF_LIBRARY = re.compile(
    r"\b(?:UC[XC]|[TC]L_\w+) +(?:ERROR|FATAL|WARN)|^libfabric:|\bNET/OFI\b|\bnvshmem|\bMPID\w+\(|\bMPI_\w+\(|"
    r"[\w-]\.(?:c|cc|cpp|cu|cuh|h|hpp|inl):\d+\b"
)
"""What lines of libraries show: their name, or a place in their sources."""
_PREFIX = re.compile(r"^.*?\b(?:UC[XC]|[TC]L_\w+) +(?:ERROR|FATAL|WARN) +|^libfabric:\S*?\(\):\d+<\w+>\s*")
_OF_SHARED_MEMORY = re.compile(r"\bmm_(?:iface|ep|md|posix|sysv|seg)\w*\.c:.*\b(?:alloc|map|attach|creat|open)")
"""UCX's transport over shared memory, which allocates nothing else."""
_NO_MEMORY = r"(?:[Cc]annot allocate memory|\bENOMEM\b|locked memory|ulimit -l)"
_VERBS = r"\b(?:ibv_|mlx[45]dv_|rdma_|efadv_|bnxt_re_)\w+|\b(?:QP|CQ|SRQ|MR|DCI|DCT|UMR|AH|QPs|CQs)\b"
_CANNOT = r"\b(?:could ?n.t|could not|can.?.?t|unable to|failed to)"
_OF_GPU = r"\b(?:cuda|gpu|rocm|hmem|neuron|gaudi|synapseai|rocr|device) ?mem\w*"

_ROWS = rf"""
env-invalid       \b(?:NVSHMEM|OFI_NCCL|UCX|UCC|PSM[23])_[A-Z_]+\b.*(?i:invalid|not valid|must be|exceed)
ib-memlock        (?:{_VERBS}|[Rr]egist\w+|mkey).*{_NO_MEMORY}
gdr-missing       (?i){_OF_GPU}\b.{{0,40}}\b(?:regist|pin)|regist\w*.{{0,40}}{_OF_GPU}
gdr-missing       (?i)\bdma-?_?buf|\bgdr(?:copy|drv|_\w+)|p2p_get_pages
p2p-acs-iommu     \b(?:cuIpc|cudaIpc|hipIpc|hsa_amd_ipc|zeMemGetIpc|zeMemOpenIpc)\w+|\bIPC (?:mem|handle|event)
p2p-acs-iommu     (?i)\blocal protection\b
ib-link           (?i)retry (?:count|limit|counter) exceeded|\bport\b.{{0,20}}\b(?:down|inactive|not active)
ib-link           (?i)\blink\b.{{0,20}}\bdown\b|PORT_ERR\b|not in active state
ib-config         \b(?:GID|LID)s?\b.{{0,60}}\b(?:no|not|any|invalid|zero|found)\b
ib-config         \b[Nn]o\b.{{0,60}}\b(?:GID|LID|gid_hi)s?\b
ib-config         (?i)(?:fail\w*|unable|could ?n.t|cannot)\b.{{0,60}}\b(?:ibv|gid|p_?key|hop limit)\b
ib-config         (?i)(?:fail\w*|unable|could ?n.t|cannot|no)\b.{{0,40}}\b(?:rdma|ib|verbs|infiniband) devices?
fd-limit          (?i)too many open files|\bE[MN]FILE\b
shm-size          \bshm(?:_open|get|at|ctl)\b|/dev/shm
shm-size          (?i)shared memory (?:segment|region|file|mmap|object|init\w*|size)
shm-size          (?i)(?:fail\w*|unable|cannot|could ?n.t)\b.{{0,30}}\b(?:shared memory|shm\w*::)
shm-size          (?i)\bshm(?:em)? (?:region|segment|size|file)|hugetlb.{{0,40}}no space
ib-config         (?:{_VERBS}).*(?i:fail|error|could not|unable|invalid|timed out|not (?:found|supported))
peer-exited       (?i)\b(?:peer|remote|endpoint)\b.{{0,30}}\b(?:closed|disconnect\w*|died|gone|terminated|shut)
peer-exited       (?i)connection reset|broken pipe|\bECONNRESET\b|\bEPIPE\b|endpoint is not connected
net-unreachable   (?i)unreachable|no route to|connect\w*\b.{{0,60}}\btimed out|\bE(?:HOST|NET)UNREACH\b
net-unreachable   (?i){_CANNOT} connect to (?:the )?(?:\w+ )?(?:ip|peer|server|host)\b
rdzv-store        (?i)address already in use|\bEADDRINUSE\b|(?:name|address|host\w*) resolution|getaddrinfo
net-interface     (?i)cannot assign requested address|\bEADDRNOTAVAIL\b|\b(?:getifaddrs|SIOCGIF\w+)
net-interface     (?i)\b(?:get|find|read|query) (?:\w+ )?interface addr
net-interface     (?i)\bno\b.{{0,30}}\b(?:network|ip|socket) (?:interface|device)s?
version-mismatch  \bABI\b|\bAPI version|(?i:undefined symbol|dlsym|could not find symbol|symbol not found)
version-mismatch  (?i)(?:\b|_)version\b.{{0,40}}(?:mismatch|incompatib|too old|older)
version-mismatch  (?i)\bversion\b.{{0,40}}not (?:supported|compatible|match)
version-mismatch  (?i)(?:mismatch|incompatib|unsupported|wrong|unexpected)\w* .{{0,30}}\bversions?\b
version-mismatch  \bdlv?sym|[Ff]ailed to (?:find|load) (?:\w+ )*(?:hsa_|ze[A-Z]|nrt_|cu[A-Z]|nvml[A-Z])\w+$
version-mismatch  (?i)\bresolve\b.{{0,20}}\bsymbols?\b|\bdlopen\b.{{0,30}}\blib(?:cuda|amdhip|hsa|ze_|nvidia)\w*
out-of-memory     (?i)out of (?:\w+ )?memory|insufficient memory|no memory|cannot allocate memory|\bENOMEM\b
plugin            \bfi_(?:getinfo|fabric|domain|endpoint|av_open|cq_open|ep_bind|enable)\b.{{0,40}}\bfail
out-of-memory     (?i)(?:fail\w*|unable|could ?n.t|could not|can.?.?t) (?:to )?(?:[mc]|re)?alloc(?:at(?:e|ing))?\b
out-of-memory     (?i)\b(?:[mc]|re)alloc\b.{{0,20}}(?:fail|err)
out-of-memory     (?i)\balloc(?:ation|ating)?\b.{{0,50}}\b(?:fail|err)
ib-config         \b(?:ibgda|ibrc|ibdevx|transport_ib_common|transport_mlx5_common)\.(?:cpp|h):
ib-config         gloo/transport/ibverbs
env-invalid       (?i)environment variable|\bparse (?:value|list|config\w*)
env-invalid       \bUCX_[A-Z_]+
"""


@lru_cache(maxsize=1)
def _meanings() -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = (line.split(maxsplit=1) for line in _ROWS.strip().splitlines())
    return tuple((label, re.compile(words)) for label, words in rows)


def meaning(text: str, is_error: bool = False) -> str:
    """The root cause that a line of a library tells of; "" where it says no more than that something failed.

    `is_error`: its logger, whose label no longer stands before it, gave it the level of an error."""
    if not is_error and not _OF_LIBRARY.search(text):
        return ""
    if _OF_SHARED_MEMORY.search(text):
        return "shm-size"
    told = _PREFIX.sub("", text)
    return next((label for label, words in _meanings() if words.search(told)), "")
