"""What the own lines of a rank say of its end."""

import pytest

from nccltool.launch import last_words
from nccltool.launch.last_words import LastWords, Whose, sign_of

WATCHDOG = (
    "[rank2]:[E1121 14:37:26.183456781 ProcessGroupNCCL.cpp:685] [Rank 2] "
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
    " Timeout(ms)=70000) ran for 70012 milliseconds before timing out."
)
STATUS = (
    "[rank1]:[E1121 14:37:26.1 ProcessGroupNCCL.cpp:1899] [PG ID {} PG GUID 0(default_pg) Rank 1]  failure"
    " detected by watchdog at work sequence id: 7 PG status: last enqueued work: 6, last completed work: 6"
)
COMPLETION = (
    "n1:1:2 [0] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer 192.0.2.2<33092>"
    " with {}, len 0, vendor err 129 (Send)"
)


@pytest.mark.parametrize(
    ("text", "whose", "code"),
    [
        ("CUDA error: an illegal memory access was encountered", Whose.OWN, "gpu-error"),
        ("HIP error: an illegal memory access was encountered", Whose.OWN, "gpu-error"),
        ("AcceleratorError: CUDA error: misaligned address", Whose.OWN, "gpu-error"),
        ("CUDA error: unspecified launch failure", Whose.OWN, "gpu-error"),
        ("HIP error: unspecified launch failure", Whose.OWN, "gpu-error"),
        (
            "Memory access fault by GPU node-5 (Agent handle: 0x7f1c2c0) on address 0x7f0000.",
            Whose.OWN,
            "gpu-error",
        ),
        ("CUDA error: uncorrectable ECC error encountered", Whose.HARDWARE, "gpu-error"),
        ("NVRM: Xid (PCI:0000:9b:00): 79, pid=1002, GPU has fallen off the bus.", Whose.HARDWARE, "gpu-error"),
        (
            "NVRM: Xid (PCI:0000:5d:00): 94, pid=1001, name=python, Contained: SM (0x1)",
            Whose.HARDWARE,
            "gpu-error",
        ),
        ("NVRM: Xid (PCI:0000:48:00): 13, pid=1001, Graphics SM Warp Exception", None, ""),
        ("CUDA error: device-side assert triggered", Whose.OWN, "rank-error"),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB.",
            Whose.OWN,
            "gpu-out-of-memory",
        ),
        ("HIP out of memory. Tried to allocate 2.00 GiB.", Whose.OWN, "gpu-out-of-memory"),
        ("n1:1:2 [0] x.h:228 NCCL WARN Cuda failure 2 'out of memory'", Whose.OWN, "gpu-out-of-memory"),
        ("NCCL WARN Failed to CUDA calloc async 608 bytes", Whose.OWN, "gpu-out-of-memory"),
        ("NCCL WARN Call to socket failed : Too many open files", Whose.OWN, "rank-error"),
        (
            "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
            Whose.OWN,
            "rank-error",
        ),
        ("OSError: [Errno 28] No space left on device: '/dev/shm/nccl-x'", Whose.OWN, "rank-error"),
        (
            "n1:1:2 [0] bootstrap.cc:112 NCCL WARN Bootstrap : no socket interface found",
            Whose.OWN,
            "interface-unusable",
        ),
        (COMPLETION.format("status=IBV_WC_LOC_PROT_ERR(4) opcode=0"), Whose.OWN, "collective-failed"),
        (COMPLETION.format("error 12, opcode 0"), Whose.LOST, ""),
        (WATCHDOG, Whose.WAITED, ""),
        ("[F] [PG 0 Rank 1] ProcessGroupNCCL's watchdog got stuck for 600 seconds", Whose.WAITED, ""),
        ("NCCL error: remote process exited or there was a network error, NCCL version 2.29.7", Whose.LOST, ""),
        ("RuntimeError: NCCL communicator was aborted on rank 1.", Whose.LOST, ""),
        ("NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)", Whose.LOST, ""),
        ("n1:1:2 [0] x.cc:97 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error", Whose.LOST, ""),
        (
            "NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
            Whose.PERHAPS_OWN,
            "gpu-error",
        ),
        # what healthy runs say
        ("NCCL version 2.29.7+cuda12.9", None, ""),
        ('n1:1:2 [0] x.cc:5 NCCL WARN Missing "iommu=pt" from kernel command line', None, ""),
        ("n1:1:2 [0] net_ib.cc:97 NCCL WARN NET/IB : mlx5_0:1 Got async event : port active", None, ""),
        ("n1:1:2 [0] NCCL WARN NET/Socket : the total number of sockets is greater than the maximum", None, ""),
        ("ValueError: shapes do not fit", None, ""),
    ],
)
def test_whose_fault_a_line_tells_of(text: str, whose: Whose | None, code: str) -> None:
    sign = sign_of(text)
    assert (sign.whose if sign else None) == whose
    if sign and not sign.is_echo:
        assert (sign.kind.code, sign.remedy == "") == (code, False)


def test_the_first_lines_stay_whatever_follows() -> None:
    words = LastWords()
    words.take("n1:1:2 [0] x.cc:5 NCCL WARN Cuda failure 'unknown error'", 1.0)
    words.take("n1:1:2 [0] NCCL INFO x.cc:5 -> 1", 1.0)
    for number in range(100):
        words.take(f"frame #{number}: c10d::ProcessGroupNCCL::run() + 0x8fd", 2.0)
        words.take(f"n1:1:2 [0] x.cc:{number} NCCL WARN something {'x' * 500}", 2.0)
    assert words.first[0] == "n1:1:2 [0] x.cc:5 NCCL WARN Cuda failure 'unknown error'"
    assert len(words.first) == last_words.FIRST_SHOWN
    assert max(map(len, words.first)) == 300


def test_signs_are_few_and_the_latest_counts() -> None:
    words = LastWords()
    for time in range(1000):
        words.take(WATCHDOG, float(time))
    words.take("CUDA error: uncorrectable ECC error encountered", 1000.0)
    assert [(one.sign.whose, one.at) for one in words.since(0.0)] == [
        (Whose.WAITED, 999.0),
        (Whose.HARDWARE, 1000.0),
    ]
    assert [one.at for one in words.since(999.5)] == [1000.0]


def test_calls_are_those_of_the_default_group() -> None:
    words = LastWords()
    words.take(WATCHDOG, 1.0)
    words.take(STATUS.format(3), 1.0)
    assert (words.timed_out, words.last_enqueued) == (7, None)
    words.take(STATUS.format(0), 1.0)
    assert words.last_enqueued == 6
    other = LastWords()
    other.take(WATCHDOG.replace("[Rank 2]", "[PG ID 3 PG GUID 9(tp) Rank 2]"), 1.0)
    assert other.timed_out is None


@pytest.mark.parametrize(
    ("text", "peers"),
    [
        (COMPLETION.format("error 12, opcode 0"), ["192.0.2.2"]),
        (COMPLETION.format("status=IBV_WC_RETRY_EXC_ERR(12) opcode=1"), ["192.0.2.2"]),
        (COMPLETION.format("status=5 opcode=1"), []),
        ("NCCL WARN socketPollConnect: connect to fd00::2<41263> returned Connection timed out", ["fd00::2"]),
        ("NCCL WARN socketStartConnect: connect to node20<57713> failed : No route to host", ["node20"]),
    ],
)
def test_connections_that_broke(text: str, peers: list[str]) -> None:
    words = LastWords()
    words.take(text, 3.0)
    assert [one.peer for one in words.broken] == peers
