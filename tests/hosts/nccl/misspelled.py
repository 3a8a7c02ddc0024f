"""Misspelled names of variables, made from a seed: letters, words, and prefixes as people get them wrong.

Half of the names served to tune the finder, the other half measures it.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

SEED = 20261122
COUNT = 300
NAMES = """
NCCL_SOCKET_IFNAME NCCL_SOCKET_NTHREADS NCCL_NSOCKS_PERTHREAD NCCL_SOCKET_FAMILY NCCL_SOCKET_RETRY_CNT
NCCL_CROSS_NIC NCCL_IB_HCA NCCL_IB_TIMEOUT NCCL_IB_RETRY_CNT NCCL_IB_GID_INDEX NCCL_IB_ADDR_FAMILY
NCCL_IB_ADDR_RANGE NCCL_IB_SL NCCL_IB_ROCE_VERSION_NUM NCCL_IB_TC NCCL_IB_FIFO_TC NCCL_IB_RETURN_ASYNC_EVENTS
NCCL_IB_MERGE_NICS NCCL_NET NCCL_ALGO NCCL_OOB_NET_ENABLE NCCL_OOB_NET_IFNAME NCCL_NET_PLUGIN NCCL_TUNER_PLUGIN
NCCL_PROFILER_PLUGIN NCCL_PROTO NCCL_IGNORE_CPU_AFFINITY NCCL_CONF_FILE NCCL_DEBUG NCCL_DEBUG_FILE
NCCL_DEBUG_SUBSYS NCCL_COLLNET_ENABLE NCCL_COLLNET_NODE_THRESHOLD NCCL_CTA_POLICY NCCL_NETDEVS_POLICY
NCCL_TOPO_FILE NCCL_TOPO_DUMP_FILE NCCL_RAS_ENABLE NCCL_RAS_ADDR NCCL_P2P_DISABLE NCCL_P2P_LEVEL NCCL_SHM_DISABLE
NCCL_BUFFSIZE NCCL_NTHREADS NCCL_MAX_NCHANNELS NCCL_MIN_NCHANNELS NCCL_LAUNCH_MODE NCCL_IB_DISABLE
NCCL_IB_QPS_PER_CONNECTION NCCL_IB_SPLIT_DATA_ON_QPS NCCL_IB_PCI_RELAXED_ORDERING NCCL_IB_ADAPTIVE_ROUTING
NCCL_IB_ECE_ENABLE NCCL_MEM_SYNC_DOMAIN NCCL_CUMEM_ENABLE NCCL_CUMEM_HOST_ENABLE NCCL_NET_GDR_LEVEL
NCCL_NET_GDR_C2C NCCL_NET_GDR_READ NCCL_PXN_DISABLE NCCL_NET_SHARED_BUFFERS NCCL_NET_SHARED_COMMS
NCCL_NVB_DISABLE NCCL_P2P_PXN_LEVEL NCCL_GRAPH_REGISTER NCCL_LOCAL_REGISTER NCCL_SET_STACK_SIZE
NCCL_GRAPH_MIXING_SUPPORT NCCL_DMABUF_ENABLE NCCL_P2P_NET_CHUNKSIZE NCCL_P2P_LL_THRESHOLD NCCL_COMM_BLOCKING
NCCL_CGA_CLUSTER_SIZE NCCL_MAX_CTAS NCCL_MIN_CTAS NCCL_NVLS_ENABLE NCCL_MNNVL_ENABLE NCCL_MNNVL_UUID NCCL_COMM_ID
NCCL_WORK_FIFO_BYTES NCCL_NVLS_CHUNKSIZE NCCL_NVLSTREE_MAX_CHUNKSIZE TORCH_NCCL_ASYNC_ERROR_HANDLING
TORCH_NCCL_BLOCKING_WAIT TORCH_NCCL_DUMP_ON_TIMEOUT TORCH_NCCL_DESYNC_DEBUG TORCH_NCCL_ENABLE_TIMING
TORCH_NCCL_ENABLE_MONITORING TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC TORCH_NCCL_TRACE_BUFFER_SIZE
TORCH_NCCL_AVOID_RECORD_STREAMS TORCH_NCCL_HIGH_PRIORITY TORCH_NCCL_USE_COMM_NONBLOCKING TORCH_NCCL_NAN_CHECK
TORCH_NCCL_DEBUG_INFO_TEMP_FILE TORCH_NCCL_CUDA_EVENT_CACHE TORCH_FR_BUFFER_SIZE TORCH_DISTRIBUTED_DEBUG
TORCH_CPP_LOG_LEVEL TORCH_SHOW_CPP_STACKTRACES PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF GLOO_SOCKET_IFNAME
TP_SOCKET_IFNAME OFI_NCCL_PROTOCOL OFI_NCCL_NIC_DUP_CONNS OFI_NCCL_FORCE_NUM_RAILS OFI_NCCL_DISABLE_DMABUF
OFI_NCCL_EAGER_MAX_SIZE NCCL_FASTRAK_CTRL_DEV NCCL_FASTRAK_IFNAME NCCL_GPUDIRECTTCPX_SOCKET_IFNAME
NCCL_GPUDIRECTTCPX_CTRL_DEV NCCL_TUNER_CONFIG_PATH RCCL_MSCCL_ENABLE RCCL_ENABLE_INTRANET NCCL_RINGS_REMAP
"""
NEIGHBORS = """
FI_PROVIDER FI_EFA_USE_DEVICE_RDMA FI_EFA_FORK_SAFE FI_EFA_USE_HUGE_PAGE FI_EFA_ENABLE_SHM_TRANSFER FI_LOG_LEVEL
FI_EFA_SET_CUDA_SYNC_MEMOPS FI_CXI_DISABLE_HOST_REGISTER FI_CXI_DEFAULT_CQ_SIZE FI_CXI_DEFAULT_TX_SIZE
FI_CXI_RX_MATCH_MODE FI_CXI_RDZV_PROTO FI_CXI_RDZV_THRESHOLD FI_MR_CACHE_MONITOR FI_HMEM_CUDA_USE_GDRCOPY UCX_TLS
UCX_NET_DEVICES UCX_IB_GID_INDEX UCX_IB_PCI_RELAXED_ORDERING UCX_RNDV_SCHEME UCX_MEMTYPE_CACHE UCX_LOG_LEVEL
UCX_RNDV_THRESH UCX_IB_TRAFFIC_CLASS UCX_MAX_RNDV_RAILS CUDA_VISIBLE_DEVICES CUDA_DEVICE_MAX_CONNECTIONS
CUDA_LAUNCH_BLOCKING CUDA_DEVICE_ORDER CUDA_MODULE_LOADING NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES
OMPI_MCA_btl_tcp_if_include OMPI_MCA_btl_tcp_if_exclude OMPI_MCA_coll_hcoll_enable OMPI_MCA_pml OMPI_MCA_btl
SHARP_COLL_LOG_LEVEL SHARP_COLL_ENABLE_PCI_RELAXED_ORDERING SHARP_COLL_LOCK_ON_COMM_INIT NVSHMEM_IB_ENABLE_IBGDA
NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME HSA_FORCE_FINE_GRAIN_PCIE HSA_NO_SCRATCH_RECLAIM HIP_VISIBLE_DEVICES
ROCR_VISIBLE_DEVICES MASTER_ADDR MASTER_PORT OMP_NUM_THREADS LOCAL_WORLD_SIZE RDMAV_FORK_SAFE
"""
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_ALIKE = """
IFNAME=INTERFACE,IFACE,INTERFACE_NAME,IF_NAME,IF,NIC INDEX=IDX QPS=QP,QUEUE_PAIRS CONNECTION=CONN,CONNECTIONS
TIMEOUT=TIME_OUT,TIMOUT LEVEL=LVL SIZE=SZ,BYTES BUFFSIZE=BUFFER_SIZE,BUFSIZE,BUFF_SIZE ALGO=ALGORITHM,ALGORITHMS
PROTO=PROTOCOL NTHREADS=THREADS,NUM_THREADS NCHANNELS=CHANNELS,NUM_CHANNELS PERTHREAD=PER_THREAD
NSOCKS=SOCKS,NUM_SOCKS SUBSYS=SUBSYSTEM,SUBSYSTEMS,SUB_SYS FILE=PATH,FILENAME TOPO=TOPOLOGY CNT=COUNT
RETRY=RETRIES HCA=HCAS,DEVICE ENABLE=ENABLED,ON DISABLE=DISABLED,OFF GDR=GPUDIRECT,GPU_DIRECT DMABUF=DMA_BUF
TC=TRAFFIC_CLASS SL=SERVICE_LEVEL SEC=SECONDS,SECS,S BUFFER=BUF,BUFF ADDR=ADDRESS PROVIDER=PROV
DEVICES=DEVICE,GPUS,DEV ORDERING=ORDER RELAXED=RELAX HANDLING=HANDLE THRESHOLD=THRESH COMM=COMMUNICATOR
REGISTER=REG,REGISTRATION CHUNKSIZE=CHUNK_SIZE MAX=MAXIMUM MIN=MINIMUM PLUGIN=PLUGINS ROUTING=ROUTE
DISTRIBUTED=DIST CONF=CONFIG NET=NETWORK ERROR=ERR,ERRORS DEV=DEVICE STACKTRACES=STACKTRACE,STACK_TRACES
MONITORING=MONITOR BOOTSTRAP=BOOT CACHE=CACHING THREADS=NTHREADS
"""
_ADDED = ("ENABLE", "NAME", "SIZE", "LEVEL", "NUM", "LIST", "SEC", "IB", "NET", "MODE", "VALUE", "COUNT")


@dataclass(frozen=True)
class Misspelled:
    """A name as it was written, and as it was meant."""

    written: str
    meant: str
    kind: str


def _letter(name: str, chance: random.Random) -> str:
    """A letter missing, doubled, swapped with the next, or of a key beside, anywhere behind the prefix."""
    place = chance.randrange(name.index("_") + 1, len(name))
    letter, how = name[place], chance.randrange(4)
    if not letter.isalpha():
        return name
    if how == 0:
        return name[:place] + name[place + 1 :]
    if how == 1:
        return name[:place] + letter + name[place:]
    if how == 2 and place + 1 < len(name) and name[place + 1] != "_":
        return name[:place] + name[place + 1] + letter + name[place + 2 :]
    row = next(keys for keys in _KEYS if letter.lower() in keys)
    at = row.index(letter.lower())
    beside = row[at - 1 if at else at + 1]
    return name[:place] + (beside.upper() if letter.isupper() else beside) + name[place + 1 :]


def _prefix(name: str, chance: random.Random) -> str:
    """The same in the prefix."""
    head, _, rest = name.partition("_")
    if len(head) < 3:
        return name
    place = chance.randrange(1, len(head))
    how = chance.randrange(3)
    if how == 0:
        head = head[:place] + head[place - 1] + head[place:]
    elif how == 1:
        head = head[: place - 1] + head[place] + head[place - 1] + head[place + 1 :]
    else:
        head = head[:place] + chance.choice("CLNOR") + head[place + 1 :]
    return f"{head}_{rest}"


def _left_out(name: str, chance: random.Random) -> str:
    words = name.split("_")
    if len(words) < 3:
        return name
    del words[chance.randrange(1, len(words))]
    return "_".join(words)


def _end_left_out(name: str, chance: random.Random) -> str:
    words = name.split("_")
    return "_".join(words[: chance.randrange(3, len(words))]) if len(words) > 3 else name


def _added(name: str, chance: random.Random) -> str:
    words = name.split("_")
    words.insert(chance.randrange(1, len(words) + 1), chance.choice(_ADDED))
    return "_".join(words)


def _moved(name: str, chance: random.Random) -> str:
    words = name.split("_")
    if len(words) < 3:
        return name
    place = chance.randrange(1, len(words) - 1)
    words[place], words[place + 1] = words[place + 1], words[place]
    return "_".join(words)


def _alike(name: str, chance: random.Random) -> str:
    alike = dict(entry.split("=") for entry in _ALIKE.split())
    words = name.split("_")
    places = [place for place, word in enumerate(words) if word in alike and place]
    if not places:
        return name
    place = chance.choice(places)
    words[place] = chance.choice(alike[words[place]].split(","))
    return "_".join(words)


def _underscore(name: str, chance: random.Random) -> str:
    places = [found.start() for found in re.finditer("_", name)][1:]
    if not places:
        return name
    place = chance.choice(places)
    return name[:place] + name[place + 1 :]


def _plural(name: str, chance: random.Random) -> str:
    words = name.split("_")
    place = chance.randrange(1, len(words))
    word = words[place]
    words[place] = word[:-1] if word.endswith("S") else f"{word}S"
    return "_".join(words)


_KINDS: dict[str, Callable[[str, random.Random], str]] = {
    "letter": _letter,
    "prefix": _prefix,
    "word left out": _left_out,
    "end left out": _end_left_out,
    "word added": _added,
    "words moved": _moved,
    "word of like meaning": _alike,
    "underscore": _underscore,
    "plural": _plural,
}


def made(real: Callable[[str], bool], seed: int = SEED, count: int = COUNT) -> list[Misspelled]:
    """`count` misspelled names; none that is `real`, and none that would come as easily from another name."""
    chance = random.Random(seed)
    ours, neighbors = NAMES.split(), NEIGHBORS.split()
    found: dict[str, Misspelled] = {}
    while len(found) < count:
        kind = list(_KINDS)[len(found) // 2 % len(_KINDS)]  # as many of each kind, in both halves
        name = chance.choice(neighbors if chance.random() < 0.25 else ours)
        written = _KINDS[kind](name, chance)
        if written == name or real(written) or len(written) < 6:
            continue
        if kind not in ("word left out", "end left out") or not _ambiguous(written, name, ours + neighbors):
            found[written] = Misspelled(written, name, kind)
    return list(found.values())


def _ambiguous(written: str, name: str, names: list[str]) -> bool:
    """Whether what is left of a name is also left of another one."""
    words = set(written.split("_"))
    return len(words) < 2 or any(words <= set(other.split("_")) for other in names if other != name)


def halves(real: Callable[[str], bool]) -> tuple[list[Misspelled], list[Misspelled]]:
    """(those that the finder was tuned on, those that measure it)."""
    every = made(real)
    return every[::2], every[1::2]
