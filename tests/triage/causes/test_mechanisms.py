"""What a log shows together: settings, transports, tables of tools, and the stage at which a job stood still."""

import pytest

from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder

_P2P = """\
h1:10:20 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>
h1:10:20 [0] NCCL INFO comm 0x1a rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0
h1:10:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
h1:11:21 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM
h1:10:20 [0] NCCL INFO Connected all rings
"""
_SOCKETS = """\
h1:10:20 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>
h1:10:20 [0] NCCL INFO Assigned NET plugin Socket to comm
h1:10:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 9[1] [send] via NET/Socket/0
"""
_FAILED = "h1: Test NCCL failure common.cu:9 'unhandled system error'\n"
_ROW = "  1073741824     268435456     float     sum      -1   821440    1.31    2.45      0"
_ROW += "   820991    1.31    2.45      0\n"
_NODES = "".join(f"h{n}:10:20 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.{n}<0>\n" for n in (1, 2))
_TIMEOUTS = "".join(
    f"[rank{rank}]: [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
    "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds\n"
    for rank in (5, 2, 7)
)
LOGS = [
    ("p2p-acs-iommu", None, _P2P
     + "slurmstepd: error: *** JOB 7 ON h1 CANCELLED AT 2026-01-01T01:00:00 DUE TO TIME LIMIT ***\n"),
    ("slow-path", "libibverbs.so", "h1:10:20 [0] NCCL INFO Failed to open libibverbs.so[.1]\n" + _SOCKETS
     + "INFO Step 1 | Time: 610.20s | Loss: 0.5\nINFO Step 2 | Time: 612.10s | Loss: 0.4\n"),
    ("slow-path", None, _SOCKETS + "crw-rw-rw- 1 root root 231, 192 uverbs0\n" + _ROW),
    ("slow-path", "NCCL_SHM_DISABLE", "h1:10:20 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 1.\n"
     "h1:10:20 [0] NCCL INFO Using network Socket\n"
     "h1:10:20 [0] NCCL INFO comm 0x1a rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n"
     "h1:10:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n" + _ROW),
    ("ib-config", "h2", "h1:10:20 [0] NCCL INFO NET/IB: NCCL Dev 0 IBDev 0 Port 1 qpn 11 mtu 5 GID 3\n"
     "h2:10:20 [0] NCCL INFO NET/IB: NCCL Dev 0 IBDev 0 Port 1 qpn 12 mtu 3 GID 3\n" + _FAILED),
    ("ib-config", "NCCL_IB_GID_INDEX", "NCCL_IB_GID_INDEX=3\n" + _FAILED
     + "2 0000:0000:0000:0000:0000:ffff:0a00:0001 RoCE v2\n3 0000:0000:0000:0000:0000:0000:0000:0000\n"),
    ("nvlink-fabric", "nv-fabricmanager",
     "nv-fabricmanager[12]: Failed to initialize: NVLink training failure\n" + _FAILED),
    ("gdr-missing", "nvidia_peermem",
     "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument\n" + _FAILED),
    ("topology", None,
     "h1:10:20 [0] NCCL INFO CPU/0-ffffffffffffffff (1/1/2)\n[h1:10] Signal: Segmentation fault (11)\n"),
    ("collnet-sharp", "NCCL_COLLNET_ENABLE",
     "h1:10:20 [0] NCCL INFO NCCL_COLLNET_ENABLE set by environment to 1.\n"
     "h1:10:20 [0] enqueue.cc:20 NCCL WARN Error : no algorithm/protocol available for function Broadcast with"
     " datatype ncclInt8. NCCL_ALGO was set to CollNetChain.\n" + _FAILED),
    ("duplicate-gpu", None, "#  Rank  0 Group  0 Pid  10 on  h1 device  0 [0x1b] NVIDIA A100\n"
     "#  Rank  1 Group  0 Pid  11 on  h1 device  0 [0x1b] NVIDIA A100\n" + _FAILED),
    ("p2p-acs-iommu", None, "Command line: ro intel_iommu=on quiet\n" + _P2P + "".join(
        f"[rank{rank}]: [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, "
        "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds\n"
        for rank in range(2)) + "what(): [Rank 0] Watchdog caught collective operation timeout: WorkNCCL("
     "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600001 milliseconds\n"),
    ("p2p-acs-iommu", None, _P2P + "ACSCtl at 0000:20:01.1: SrcValid+ ReqRedir+ CmpltRedir+\n"
     "step 1 loss: 2.0\nstep 2 loss: nan\nValueError: gradients contain NaN\n"),
    ("gdr-missing", "NCCL_NET_GDR_LEVEL", _NODES + "h1:10:20 [0] NCCL INFO NCCL_NET_GDR_LEVEL set by environment"
     " to LOC\nh1:10:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0\n"),
    ("gdr-missing", None, _NODES + "h1:10:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n"
     + _ROW),
    ("topology", "/srv/topo.xml", "h1:10:20 [0] NCCL INFO NCCL_TOPO_FILE set by environment to /srv/topo.xml\n"
     "h1:10:20 [0] NCCL INFO Channel 00/0 : 3[3] -> 0[0] [receive] via NET/IB/0\n" + _ROW),
    ("slow-path", None, _SOCKETS + _ROW),
    ("slow-path", None, '{"step": 10, "grad_sync_ms": 1960.6, "fwd_bwd_ms": 212.4}\n'),
    ("plugin", "libnccl-net.so", "FI_PROVIDER=efa\nh1:10:20 [0] NCCL INFO NET/Plugin: Could not find:"
     " libnccl-net.so. Using internal net plugin.\n" + _SOCKETS + _ROW),
    ("imex-mnnvl", None, "*** SIGSEGV received at time=17 on cpu 61 ***\n"
     "    @     0xfffbe1a4c8d0        480  ncclGetMnnvlCliqueInfo()\n"),
    ("peer-exited", "3", "h1:10:20 [0] misc/socket.cc:50 NCCL WARN Connection closed by remote peer h2<48112>\n"
     "mpirun noticed that process rank 3 with PID 7 on node h2 exited on signal 11 (Segmentation fault).\n"),
    ("out-of-memory", None, "worker-3 memory used 32102Mi / limit 32768Mi\n"
     "worker-3: pod phase Failed, container main terminated: exit code 247, reason Error\n"
     "RuntimeError: Job failed\n"),
    ("out-of-memory", None, "step 1 loss: 2.0\nWarning  Evicted  pod/a  The node was low on resource: memory.\n"),
    ("env-invalid", "LOCAL_RANK", "[env] LOCAL_RANK=3 CUDA_VISIBLE_DEVICES=3\n"
     "RuntimeError: CUDA error: invalid device ordinal\n"),
    ("straggler-timeout", "0", "Grouping texts:  11%|# | 1104000/9672101 [09:52<1:17:31, 1842.01 examples/s]\n"
     + _TIMEOUTS + "Grouping texts:  12%|# | 1129000/9672101 [10:05<1:17:20, 1841.11 examples/s]\n"),
    ("straggler-timeout", "node3", "[node3] Loading partition 3: feats 41%\n[node0] RuntimeError: Timed out"
     " initializing process group in store based barrier on rank: 0 (world_size=4, worker_count=3)\n"
     "[node3] Loading partition 3: feats 58%\n"),
    ("collective-mismatch", "0", "rank4: py-spy: broadcast (engine.py:287) create_group\n"
     "rank1: py-spy: all_reduce (torch/distributed/distributed_c10d.py:3037)\n"
     "rank0: py-spy: barrier (torch/distributed/distributed_c10d.py:2776)\n"
     "slurmstepd: error: *** JOB 7 ON h1 CANCELLED AT 2026-01-01T01:00:00 ***\n"),
    ("straggler-timeout", "2", "rank0: py-spy: all_reduce (torch/distributed/distributed_c10d.py:3037)\n"
     "rank1: py-spy: all_reduce (torch/distributed/distributed_c10d.py:3037)\n"
     "rank2: py-spy: read (ssl.py:1166) get_object (storage.py:20)\n(no more output for 25 min)\n"),
    ("shm-size", "214",
     "RuntimeError: DataLoader worker (pid 214) is killed by signal: Bus error.\n"),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "suspect", "log"), LOGS, ids=lambda value: str(value)[:30])
def test_what_stands_together_tells_the_cause_and_the_suspect(cause: str, suspect: str | None, log: str) -> None:
    reader, builder = LogReader(), TimelineBuilder()
    for event in reader.read("a.log", [log.encode()]):
        builder.add(event)
    found = judge(builder.timeline(reader.lines_read))
    assert found.root_cause == cause, found.candidates
    if suspect:
        assert found.offender and found.offender.name == suspect


_HEALTHY_STEPS = "step 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\n"


@pytest.mark.parametrize(
    "log",
    [
        _P2P + _HEALTHY_STEPS,
        _SOCKETS + "INFO Step 1 | Time: 0.90s | Loss: 0.5\nINFO Step 2 | Time: 0.91s | Loss: 0.4\n",
        "UCX  WARN: LinkDownedCounter: 2 on mlx5_0\n" + _P2P + _HEALTHY_STEPS,
        "ipv4:10.0.0.1:8476: Failed to connect to remote host: Connection refused\n" + _HEALTHY_STEPS,
    ],
)
def test_what_healthy_jobs_print_is_no_failure(log: str) -> None:
    reader, builder = LogReader(), TimelineBuilder()
    for event in reader.read("a.log", [log.encode()]):
        builder.add(event)
    assert judge(builder.timeline(reader.lines_read)).root_cause == "none"
