"""What the own lines of a rank say of its end: its own fault, or an echo of what happened elsewhere.

The texts are those of torch, CUDA, HIP, NCCL and RCCL. An echo is what a survivor says: its watchdog ran out of
patience, a peer is gone, a connection broke. Which rank it echoes, only the others can tell.
"""

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

from nccltool.core.findings import FindingKind
from nccltool.launch import finding_kinds


class Whose(enum.Enum):
    """Whose fault a line tells of."""

    HARDWARE = enum.auto()
    """The rank's own, and nothing that happens elsewhere brings it about."""
    OWN = enum.auto()
    """The rank's own, where it did not say before that others are gone: an aborted communicator can look so."""
    PERHAPS_OWN = enum.auto()
    """A call of CUDA failed in NCCL, which does not say why: that a peer went away can be the reason."""
    WAITED = enum.auto()
    """An echo: it waited for others in vain."""
    LOST = enum.auto()
    """An echo: a peer or a connection is gone."""


_OF_OTHERS = (Whose.WAITED, Whose.LOST)


@dataclass(frozen=True, slots=True)
class Sign:
    """A text that tells whose fault it was."""

    whose: Whose
    pattern: re.Pattern[str]
    kind: FindingKind = finding_kinds.RANK_ERROR
    """Of the finding, where it is the rank's own fault."""
    remedy: str = ""
    """What to do then; {host} is where the rank ran."""

    @property
    def is_echo(self) -> bool:
        """Whether survivors say so."""
        return self.whose in _OF_OTHERS


_DRAIN = (
    "drain {host} so that no other job gets this GPU; run there: dmesg | grep -i -E 'xid|nvrm|amdgpu', "
    "nvidia-smi -q -d ECC,ROW_REMAPPER; reset or replace the GPU"
)
_KERNEL = (
    "run on {host}: dmesg | grep -i -E 'xid|nvrm|amdgpu'. For Xid 13, Xid 31, or no Xid, suspect a kernel of "
    "the program: "
    "find it with compute-sanitizer or CUDA_LAUNCH_BLOCKING=1. For any other Xid, suspect the GPU: drain the host"
)
_SMALLER = (
    "use smaller sizes (probe: -e; train: --size, --batch); nvidia-smi on {host} shows what else uses the GPU"
)
_NCCL_FAILED = "read NCCL's earlier lines in the log; run on {host}: dmesg | grep -i -E 'xid|nvrm|amdgpu'"
_HOST_LACKS = "read the traceback in the rank's log"

SIGNS = (
    Sign(
        Whose.OWN,
        re.compile(
            r"(?:CUDA|HIP) (?:error: )?out of memory|(?:[Cc]uda|HIP) failure.{0,9}'out of memory'"
            r"|Failed to CUDA (?:calloc|malloc|host alloc)|(?:CU|HIP|ROC)BLAS_STATUS_ALLOC_FAILED"
        ),
        finding_kinds.GPU_OUT_OF_MEMORY,
        _SMALLER,
    ),
    Sign(
        Whose.HARDWARE,
        # Xid: ECC and retired or remapped memory (48, 63, 64, 94, 95), off the bus (79)
        re.compile(
            r"uncorrectable ECC error|fallen off the bus|GPU is lost|"
            r"Xid[ (:].{0,30}?[ :](?:48|63|64|79|94|95)\b(?!:)"
        ),
        finding_kinds.GPU_ERROR,
        _DRAIN,
    ),
    Sign(
        Whose.OWN,
        re.compile(
            r"an illegal memory access was encountered|(?:CUDA|HIP) error: (?:misaligned address|an illegal instr|"
            r"invalid program counter|unspecified launch failure|unknown error|hardware stack error)"
            r"|[Cc]uda failure.{0,9}'(?:misaligned address|unspecified launch failure|unknown error)'"
            r"|Memory access fault by GPU|HW Exception by GPU|HSA_STATUS_ERROR_MEMORY_"
        ),
        finding_kinds.GPU_ERROR,
        _KERNEL,
    ),
    Sign(
        Whose.OWN,
        re.compile(r"device-side assert(?:ion)? (?:triggered|failed)"),
        finding_kinds.RANK_ERROR,
        "an assertion in a kernel of the program failed, usually an index out of range: "
        "CUDA_LAUNCH_BLOCKING=1 shows which kernel",
    ),
    Sign(
        Whose.OWN,
        # of a WARN, not of what NCCL tells in passing
        re.compile(
            r"(?:NCCL WARN|Error\b)[\s\S]{0,300}?(?:Too many open files|Cannot allocate memory|[Oo]ut of memory|"
            r"No space left on device|No buffer space available|DefaultCPUAllocator: )"
        ),
        finding_kinds.RANK_ERROR,
        _HOST_LACKS,
    ),
    Sign(
        Whose.OWN,
        re.compile(
            r"Bootstrap ?: no socket interface found|verify NCCL_OOB_NET_IFNAME|NET/IB ?: No IP interface found"
        ),
        finding_kinds.INTERFACE_UNUSABLE,
        "run on {host}: ip -br address; "
        "check that NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY do not exclude every interface",
    ),
    Sign(
        Whose.OWN,
        # IBV_WC_LOC_PROT_ERR: the adapter may not reach memory of its own host
        re.compile(r"Got completion .{0,90}?with (?:error |status=)(?:\w+\()?4\b"),
        finding_kinds.COLLECTIVE_FAILED,
        "run nccltool doctor on {host}: it checks what can keep adapters from reaching GPU memory: "
        "ACS on PCIe bridges (lspci -vvv: SrcValid+), the IOMMU, nvidia_peermem",
    ),
    Sign(
        Whose.WAITED,
        re.compile(
            r"Watchdog caught collective operation timeout|timed out in blocking wait|due to a collective timeout|"
            r"due to collective timeout|watchdog got stuck for|Heartbeat monitor timed out|"
            r"Timed out waiting \d+ms for|failed to pass monitoredBarrier|"
            r"the runner did not save the result in time"
        ),
    ),
    Sign(
        Whose.LOST,
        re.compile(
            r"remote process exited|ncclRemoteError|Connection closed by (?:remote )?peer|"
            r"NET/IB ?: ?Got completion|NCCL communicator was aborted|unhandled system error|"
            r"ncclSystemError|ncclInternalError|"
            r"NCCL WARN .*(?:Connection re(?:set|fused)|Broken pipe|[Tt]imed out|No route to host|port error|"
            r"async fatal event|Network is unreachable)|"
            r"(?:recvValue|sendBytes|recvBytes) failed|TCPStore.*(?:Broken pipe|Connection reset)|"
            r"EOFError: the runner is gone|"
            r"DistNetworkError: the bus of the run: "  # what holds it has ended, or the path to it is cut
        ),
    ),
    Sign(
        Whose.PERHAPS_OWN,
        re.compile(r"unhandled cuda error|ncclUnhandledCudaError|[Cc]uda failure|HIP failure"),
        finding_kinds.GPU_ERROR,
        _NCCL_FAILED,
    ),
)
_ANY = re.compile("|".join(f"(?:{sign.pattern.pattern})" for sign in SIGNS))
_NOTABLE = re.compile(
    r"NCCL WARN|^(?:\[rank\d+\]:)?\[[EF]\d{4} |\bCUDA error|\bHIP error|terminate called|^\s+what\(\):"
)
_LAST_ENQUEUED = re.compile(r"PG (?:ID )?0 .*[Ll]ast enqueued (?:NCCL )?work: (\d+)")
_TIMED_OUT = re.compile(r"(?:PG (?:ID )?0 .*|\] \[)Rank \d+\] Watchdog caught .*WorkNCCL\(SeqNum=(\d+)")
"""Of the default group, which older torch does not name."""
_BROKEN = re.compile(
    r"Got completion (?:from peer (?P<peer>[\w.:%-]+?)(?:<\d+>)? )?"
    r"with (?:error |status=)(?:\w+\()?(?P<status>\d+)"
    r"|[Cc]onnect to (?P<to>[\w.:%-]+?)<\d+> (?:returned|failed)"
)
_PORT_ERROR = re.compile(r"NET/IB ?: ?(?P<port>[\w.-]+:\d+) [Gg]ot .*event ?: port error")
_RETRIES_EXCEEDED = ("12", "13")
"""IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR: the other end did not answer. Others come from either end."""
FIRST_SHOWN = 6
"""Lines that NCCL and torch said first, which frames of a stack push out of the end of a log."""
_LONGEST = 300
_MOST_BROKEN = 8


def sign_of(text: str) -> Sign | None:
    """What a text says of whose fault it is; the rank's own counts before an echo in the same text."""
    if not _ANY.search(text):
        return None
    return next(sign for sign in SIGNS if sign.pattern.search(text))


@dataclass(frozen=True, slots=True)
class SaidSign:
    """A line of a log that tells whose fault it was."""

    sign: Sign
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class BrokenConnection:
    """A connection that a rank could not use or make."""

    peer: str
    """An address or a host's name, as NCCL wrote it."""
    at: float


class LastWords:
    """What of a rank's log bears on how it ended; as much as a finding needs, whatever the log's length."""

    def __init__(self) -> None:
        self.first: list[str] = []
        """The first lines that NCCL and torch marked as warnings or errors."""
        self.signs: list[SaidSign] = []
        """The latest line of each kind of sign, in the order in which the kinds came first."""
        self.last_enqueued: int | None = None
        """How many calls of the default group it has made, as torch told."""
        self.timed_out: int | None = None
        """The number of the call of the default group in which it waited in vain."""
        self.broken: list[BrokenConnection] = []
        self.port_errors: list[tuple[str, float]] = []
        """Ports of this host that InfiniBand lost: `mlx5_0:1`, and when."""

    def take(self, text: str, now: float) -> None:
        """A line of its log."""
        if " NCCL INFO " in text:  # of which there can be hundreds of thousands
            return
        sign = sign_of(text)
        if sign is None and not _NOTABLE.search(text):
            return
        shown = text.strip()[:_LONGEST]
        if len(self.first) < FIRST_SHOWN and shown not in self.first:
            self.first.append(shown)
        if told := _LAST_ENQUEUED.search(text):
            self.last_enqueued = int(told[1])
        if told := _TIMED_OUT.search(text):
            self.timed_out = int(told[1])
        if sign is None:
            return
        number = next((place for place, one in enumerate(self.signs) if one.sign is sign), len(self.signs))
        self.signs[number : number + 1] = [SaidSign(sign, shown, now)]
        self._note_connections(text, now)

    def _note_connections(self, text: str, now: float) -> None:
        if port := _PORT_ERROR.search(text):
            self.port_errors.append((port["port"], now))
            del self.port_errors[:-_MOST_BROKEN]
        broken = _BROKEN.search(text)
        if broken is None or (broken["status"] and broken["status"] not in _RETRIES_EXCEEDED):
            return
        if peer := broken["peer"] or broken["to"]:
            self.broken.append(BrokenConnection(peer, now))
            del self.broken[:-_MOST_BROKEN]

    def since(self, time: float) -> Iterator[SaidSign]:
        """The signs that were told after that: it has not got over them."""
        return (one for one in self.signs if one.at >= time)
