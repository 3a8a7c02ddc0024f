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
_BOARDS = "".join(f"#  Rank  {n} Pid {n} on h{n} device  0 [0x1b] NVIDIA H100 80GB HBM3\n" for n in (1, 2))
_SHARED = (
    "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:784, invalid usage, NCCL version 2.7.8\n$ nvidia-smi\n"
    "{0}, 00000000:3B:00.0, 611 MiB\n{1}, 00000000:{2}:00.0, 611 MiB\n"
)
_REFUSED = (
    "[W socket.cpp:601] [c10d] The client socket has failed to connect to [n1]:6001 (errno: 111 - refused).\n"
)
_NO_LANE = "[1783069870.113301] [n4:11  :0] select.c:660  UCX  ERROR no active messages transport to n5: "
_NO_LANE += "self/memory - no peer\n"
_IN_STORE = """\
Traceback (most recent call last):
  File "/srv/x.py", line 116, in main
    dist.init_process_group(backend="gloo")
  File "/opt/lib/python3.10/site-packages/torch/distributed/rendezvous.py", line 143, in _env_rendezvous_handler
    store = TCPStore(master_addr, master_port, start_daemon)
RuntimeError: Connection reset by peer
"""
_UNLABELLED = """\
[2026-10-28 05:46:03 DP11 TP11 EP11] Scheduler hit an exception: Traceback (most recent call last):
  File "/srv/model_runner.py", line 2011, in _dummy_run
ModuleNotFoundError: No module named 'aiter.jit.moe'
"""
_TWO_WAYS = """\
h1:10:10 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
h1:11:11 [1] NCCL INFO NCCL_CUMEM_ENABLE set by environment to 0.
h1:11:11 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/IPC
h1:11:11 [1] transport/p2p.cc:275 NCCL WARN Cuda failure 1 'invalid argument'
"""
_PENDING = "Warning  FailedScheduling  pod/w-1  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.\n"
_LOCALS = "".join(f"(Actor pid={n}) world_rank {n} LOCAL_RANK 0 device cuda:0\n" for n in (0, 1))
_STALLED = """\
train step 4211 loss 1.2
[2020-07-13 22:09:42.11: W stall_inspector.cc:105] One or more tensors were submitted by a subset of ranks
Stalled ranks:
0: [sum/have_data/HorovodAllreduce_more_data_0]
1: [sum/have_data/HorovodAllreduce_more_data_0]
2: [optimize/HorovodAllreduce_gradients_W_0, optimize/HorovodAllreduce_gradients_b_0 ...]
"""
_LOST = (
    "PRTE has lost communication with a remote daemon.\n"
    "This is usually due to either a failure of the TCP network\n"
)
_NO_NIC = """\
$ mpirun -np 2 --hostfile hosts ./ring_c
[[11120,1],0]: A high-performance Open MPI point-to-point messaging module
was unable to find any relevant network interfaces:
  Host: n21
{}Process 0 exiting
"""
_FALLBACK = """\
n0:31:36 [0] nccl_net_ofi_init:216 NCCL WARN NET/OFI aws-ofi-nccl initialization failed
n0:31:36 [0] NCCL INFO Using network Socket
n0:31:36 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0
# Avg bus bandwidth    : 0.727914
"""
_REQUEUED = """\
Epoch 41:  63%|######3   | 788/1251 [01:41<00:59, 7.76it/s, train_loss=1.98]
slurmstepd: error: *** JOB 40012 ON n7 CANCELLED AT 2026-01-20T06:00:14 DUE TO JOB REQUEUE ***
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
{}`Trainer.fit` stopped: `max_epochs=90` reached.
"""
_CHILD = """\
[Epoch 1] Training Loss: 0.0931
{}Traceback (most recent call last):
  File "/srv/python3.6/multiprocessing/util.py", line 186, in __call__
OSError: [Errno 16] Device or resource busy: '.nfs0001'
[Epoch 2] Training Loss: 0.0377
"""
_DUMPS = "".join(
    f'Process {n}: python\nThread {n} (idle): "MainThread"\n    all_reduce (torch/distributed/c10d.py:2938)\n'
    for n in (11, 12)
)
_DUMPS += 'Process 13: python\nThread 13 (active): "MainThread"\n    synchronize (torch/cuda/streams.py:231)\n'
_OWN_CALL = (
    "[rank2]:[E527 03:50:04.118 ProcessGroupNCCL.cpp:685] [Rank 2] Watchdog caught collective operation timeout:"
    " WorkNCCL(SeqNum=771834, OpType=ALLREDUCE, NumelIn=385024, NumelOut=385024, Timeout(ms)=600000)"
    " ran for 600021 milliseconds before timing out.\n"
)
_BINDS = """\
# Using devices
n1:7:31 [0] NCCL INFO Connected all trees
n1:7:31 [0] NCCL INFO NVLS Bind mem 0xac0000000 UC handle 0x7f30c0a51b10 MC handle 0x7f30c0a4fd80 size 1073741824
^C
"""
_OLD_DRIVER = (
    "/srv/torch/cuda/__init__.py:141: UserWarning: CUDA initialization: The NVIDIA driver on your system"
    " is too old (found version 11040).\n"
)
_RAISED = 'Traceback (most recent call last):\n  File "/srv/train.py", line 4, in main\n{}\n'
_UNKNOWN = "2025-08-27 00:30:38 - judge - ERROR - Error when calling remote API: 401\n"
_OFF = """\
h0:15:15 [0] NCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE [RO]; OOB enp1s0f1np1:10.80.16.2<0>
h0:15:41 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'rocep1s0f1'
h0:15:41 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0
h0:15:41 [0] NCCL INFO ncclCommInitRank comm 0xab10 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId {} - Init COMPLETE
h1:25:51 [0] NCCL INFO ncclCommInitRank comm 0xab11 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId {} - Init COMPLETE
step 10 loss 2.1
"""
_OVER_SOCKETS = """\
h0:15:15 [0] NCCL INFO NET/Socket : Using [0]eno1:10.6.1.20<0>
h0:15:15 [0] NCCL INFO Using network Socket
h0:15:41 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0
epoch 0 iter 100/390 loss 1.882
{}"""
_ENDED = "{'train_runtime': 33946.9}\n"
LOGS = [
    ("none", None, _ENDED + 'level=WARN msg="worker pods deleted (exit code: 137), expected at clean-up"\n'),
    ("app-error", None, _ENDED + _RAISED.format("RuntimeError: Expected all tensors to be on the same device")),
    ("gdr-missing", "rocep1s0f1", _OFF.format("1b000", "1b000")),
    ("none", None, _OFF.format("f01000", "f01000")),
    ("slow-path", None, _OVER_SOCKETS.format("expected at least 20 GB/s\n")),
    ("none", None, _OVER_SOCKETS.format("")),
    ("version-mismatch", "11040", _OLD_DRIVER + _RAISED.format("RuntimeError: No CUDA GPUs are available")),
    ("app-error", None, _OLD_DRIVER + _RAISED.format("RuntimeError: view size is not compatible with input")),
    ("other", None, _UNKNOWN + 20 * "Getting answers\n"),
    ("none", None, _UNKNOWN + 80 * "Getting answers\n"),
    ("collective-mismatch", "2", _STALLED),
    ("net-unreachable", "10.71.4.19", "ssh: connect to host 10.71.4.19 port 22: Connection refused\n" + _LOST),
    ("net-interface", None, _NO_NIC.format("")),
    ("none", None, _NO_NIC.format("Another transport will be used instead, although this may be slower.\n")),
    ("plugin", "NET/OFI", _FALLBACK),
    ("none", None, _FALLBACK + "--- PASS: TestNCCL/multi-node (94.02s)\n"),
    ("preempted", "n7", _REQUEUED.format("")),
    ("none", None, _REQUEUED.format("slurm: job 40012 restart count 1\n")),
    ("app-error", None, _CHILD.format("")),
    ("none", None, _CHILD.format("Process Process-12:\n")),
    ("collective-mismatch", "2", _DUMPS + _OWN_CALL),
    ("nvlink-fabric", None, _BINDS),
    ("env-invalid", "UCX_NET_DEVICES", "UCX_NET_DEVICES=ionic_0:1\n" + _NO_LANE),
    ("ib-config", "n4", _NO_LANE),
    ("rdzv-store", None, _IN_STORE),
    ("app-error", "11", _UNLABELLED),
    ("env-invalid", "NCCL_CUMEM_ENABLE", _TWO_WAYS),
    ("duplicate-gpu", None, _LOCALS + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB.\n"),
    ("duplicate-gpu", "00000000:3B:00.0", _SHARED.format(9911, 9912, "3B")),
    ("app-error", None, _SHARED.format(9911, 9912, "4C")),
    ("rdzv-store", "n1", 2 * _REFUSED + "slurmstepd: error: *** JOB 8 ON n2 CANCELLED AT 2026-12-19T16:20 ***\n"),
    ("slow-path", None, _BOARDS + _ROW.replace("2.45", "9.45") + "# Avg bus bandwidth    : 9.4\n"),
    (
        "app-error",
        "6",
        "rank6: Traceback (most recent call last):\nrank6: RuntimeError: invalid loss nan\n" + _TIMEOUTS,
    ),
    (
        "collective-mismatch",
        None,
        "$ py-spy dump --pid 1\nThread 1 (active)\n    _sync_params (torch/nn/parallel/distributed.py:1166)\n"
        "$ py-spy dump --pid 2\nThread 2 (active)\n    barrier (torch/distributed/distributed_c10d.py:1920)\n",
    ),
    (
        "net-interface",
        "GLOO_SOCKET_IFNAME",  # every rank tells of a mesh that could not be made
        "[rank8]: Gloo connectFullMesh failed with [../gloo/transport/tcp/pair.cc:144] no error\n",
    ),
    (
        "gdr-missing",
        "h1",
        "h1:1:2 [0] NCCL INFO NET/OFI Could not enable GPUDirect RDMA: no FI_HMEM\n" + _FAILED,
    ),
    ("plugin", "NET/OFI", "Last error:\nNET/OFI Received an invalid tag 0 for device 0\n"),
    ("gpu-fault", "5", "b-09: memtest: Fail, gpu 5, 3 mismatches\n"),
    ("gpu-fault", "i-0ab12", "agent: node=i-0ab12 reason=NvidiaGPUUnhealthy\n"),
    (
        "net-interface",
        None,
        "ValueError: Every node should have a unique IP address. Got 1 unique IP addresses {'172.17.0.2'}.\n",
    ),
    ("nvlink-fabric", "2", "plugin: Error: NVLink fabric error on GPU 2\n"),
    ("p2p-acs-iommu", None, _P2P
     + "slurmstepd: error: *** JOB 7 ON h1 CANCELLED AT 2026-01-01T01:00:00 DUE TO TIME LIMIT ***\n"),
    ("slow-path", "eth0", "h1:10:20 [0] NCCL INFO Failed to open libibverbs.so[.1]\n" + _SOCKETS
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
    ("env-invalid", "NCCL_IB_HCA", "h1:10:20 [0] NCCL INFO NCCL_IB_HCA set to ^=mlx5_8,^=mlx5_14\n"
     "h1:10:22 [7] misc/ibvwrap.cc:261 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out\n"),
    ("env-invalid", "NCCL_IB_TIMEOUT", "h1:10:20 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 60.\n"
     "WARNING 'sync' still running after 14400 s\n"),
    ("env-invalid", "RANK_OFFSET", "Traceback (most recent call last):\n  File \"run.py\", line 4, in <module>\n"
     "    offset = int(os.environ[\"RANK_OFFSET\"])\nValueError: invalid literal for int(): 'n3/0'\n"),
    ("env-invalid", "CUDA_VISIBLE_DEVICES", "+ CUDA_VISIBLE_DEVICES=2,3\n"
     "[rank2]: RuntimeError: CUDA error: invalid device ordinal\n"),
    ("app-error", "2", "+ CUDA_VISIBLE_DEVICES=0,1,2,3\n"
     "[rank2]: RuntimeError: CUDA error: invalid device ordinal\n"),
    ("net-unreachable", "istio-proxy", "$ kubectl logs worker-1 -c istio-proxy\nEnvoy proxy is ready\n"
     "h1:10:20 [0] misc/socket.cc:50 NCCL WARN Connection closed by remote peer 10.60.2.40<51103>\n"),
    ("rdzv-store", "job-worker-3", "job-worker-3   0/1   Pending   0   100m\n"
     "TimeoutError: Timeout 5400s to complete rendezvous.\n"),
    ("preempted", None, "step 1 loss 2.0\nh2 google_metadata[19]: metadata instance/preempted = TRUE\n"
     "h1:10:20 [0] NCCL WARN Connection closed by remote peer 10.0.0.2<4>\nsrun: error: Node failure on h2\n"),
    ("net-unreachable", "10.30.0.12", "[43.006] [UFW BLOCK] IN=ens4 OUT= SRC=10.30.0.2 DST=10.30.0.12\n"),
    ("preempted", None, "step 1 loss 2.0\nbash: line 1:  3102 Killed\n"
     "ssh: connect to host 10.128.0.44 port 22: Connection timed out\n"
     "provisioner] instance worker2 (spot): TERMINATED, reason: compute.instances.preempted\n"),
    ("peer-exited", None, "RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.4.1]:5\n"
     "srun: error: h2: task 9: Exited with exit code 1\n"
     "slurmstepd: error: *** STEP 41107.0 ON h1 CANCELLED AT 2023-06-08T11:34:20 ***\n"),
    ("preempted", None, "step 1 loss 2.0\n"
     "slurmstepd: error: *** STEP 41.0 ON h1 CANCELLED AT 2023-06-08T11:34:20 ***\n"
     "srun: error: h1: task 0: Exited with exit code 1\n"),
    ("straggler-timeout", None, "step 1 loss 2.0\n"
     "E rendezvous.cc:112] This thread has been waiting for `all-reduce.19` for 600 seconds: rendezvous\n"
     "E agent.cc:612] Shutdown barrier has failed: INTERNAL: 1/256 tasks reached the barrier\n"),
    ("data-corruption", None, "step 1 loss 2.0\nTraceback (most recent call last):\n  File \"m\", line 4, in f\n"
     "    assert torch.equal(a, b)\nAssertionError: gathered values differ from the inputs\n"),
    ("net-unreachable", "10.3.12.40", "h2:31:50 [0] misc/socket.cc:507 NCCL WARN socketPollConnect: connect to"
     " 10.3.12.40<43125> returned Connection timed out, retrying (1/35) after sleep for 100 msec\n"
     "h2: Test NCCL failure common.cu:1144 'remote process exited or there was a network error'\n"),
    ("env-invalid", "MASTER_PORT", "export MASTER_ADDR=12139\nexport MASTER_PORT=127.0.0.1\n"
     "Traceback (most recent call last):\n  File \"train.py\", line 189, in <module>\n    main()\n"
     "ValueError: invalid literal for int() with base 10: '127.0.0.1'\n"),
    ("version-mismatch", None, "[TRT] [W] CUDA initialization failure with error: 35. Please check\n"
     "Traceback (most recent call last):\n  File \"b.py\", line 5, in <module>\n    build()\n"
     "TypeError: pybind11::init(): factory function returned nullptr\n"),
    ("preempted", "i-0c2f4be0155a8a9d1", "Host EC2 (instance i-0c2f4be0155a8a9d1) terminated.\n"),
    ("plugin", "libnccl-net.so", "[h1:10] Signal: Segmentation fault (11)\n"
     "[h1:10] [ 1] /opt/hpcx/plugin/lib/libnccl-net.so(init+0x5cf)[0x7fefc64b890f]\n"
     "[h1:10] [ 2] /usr/lib/libnccl.so.2(+0x5df80)[0x7ff2369daf80]\n"),
    ("ib-config", None,
     "[h1:7:0] ib_mlx5_log.c:171  Transport retry count exceeded on mlx5_bond_0:1/RoCE (synd 0x15)\n"),
    ("p2p-acs-iommu", "00:03.1", "$ lspci -vvv | grep -e bridge -e ACSCtl\n"
     "00:03.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Device 14a5\n\t\tACSCtl:\tSrcValid+ ReqRedir+\n"
     "(no further output)\n"),
    ("shm-size", "/dev/shm/nccl-a1",
     "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-a1 (size 9)\n"),
    ("fd-limit", "3", "OSError: [Errno 24] Too many open files\nsubprocess.CalledProcessError: Command"
     " '['python', '-u', 'train.py', '--local_rank=3']' returned non-zero exit status 1.\n"),
    ("duplicate-gpu", "00000000:1A:00.0", "00000000:1A:00.0, 3301, 1137 MiB\n00000000:1A:00.0, 3302, 1137 MiB\n"
     "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:784, invalid usage, NCCL version 2.7.8\n"),
    ("rdzv-store", "29500", "RuntimeError: Address already in use\n$ ss -ltnp | grep 29500\n"
     'LISTEN 0 1024 *:29500 *:* users:(("python",pid=88121,fd=25))\n'),
    ("rdzv-store", "29611", "$ python -m torch.distributed.launch --master_port=29611 train.py\n"
     "RuntimeError: Address already in use\n"),
    ("app-error", "CUDA_VISIBLE_DEVICES", "$ CUDA_VISIBLE_DEVICES=4,5 python train.py --gpus 2\n"
     "RuntimeError: cuda runtime error (101) : invalid device ordinal at Module.cpp:59\n"),
    ("app-error", "51102", "ray.exceptions.RayTaskError(KeyError): ray::_Worker.get() (pid=51102, ip=10.1.4.9)\n"
     '  File "train.py", line 40, in step\n    x = y["lr"]\nKeyError: \'lr\'\n'),
    ("net-interface", "GLOO_SOCKET_IFNAME",
     "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:144] no error\n"),
    ("shm-size", "214",
     "RuntimeError: DataLoader worker (pid 214) is killed by signal: Bus error.\n"),
    ("preempted", None, "step 9 loss 2.1\n[warn] Google compute engine metadata: instance/preempted TRUE\n"),
    ("fd-limit", "41", "(W pid=41) ERROR HIP error: invalid argument\n(W pid=41) RuntimeError: HIP error: x\n"
     "rocblaslt error: Could not load /opt/torch/lib/TensileLibrary_lazy_gfx942.dat\n$ ulimit -a | grep files\n"
     "open files                          (-n) 1024\n"),
    ("gdr-missing", "peermem", "[error] RegisterRdmaMemoryRegion failed! size:94, errno:22 (Invalid argument)\n"
     "Fatal Python error: Aborted\n$ lsmod | grep -i peermem\n$ lsmod | grep -c mlx5_ib\n1\n"),
    ("data-corruption", "model.embed.weight", "$ python compare.py\nmodel.norm.weight  equal\n"
     "model.embed.weight  MISMATCH: 2 of 152064x3584 elements, first at [0,0]\n"),
    ("plugin", "MESH", _NODES + "h1:10:20 [0] NCCL INFO Using network Mesh\n"
     "h1:10:20 [0] mesh.c:11 NCCL WARN MESH: ibv_modify_qp to RTR failed: Invalid argument\n"),
    ("env-invalid", "HSA_ENABLE_IPC_MODE_LEGACY", "$ env | grep HSA\nHSA_ENABLE_IPC_MODE_LEGACY=1\n"
     "h1:10:20 [0] /src/transport/p2p.cc:239 NCCL WARN hipIpcGetMemHandle failed : invalid argument\n"),
    ("nccl-bug", "2.30.7", "$ NCCL_TEST_VERSION=2.30.7 bash run.sh\n"
     "timeout: sending signal TERM to command 'bash'\n"
     "$ NCCL_TEST_VERSION=2.31.2 bash run.sh\nNCCL 2.31.2: passed\n"),
    ("app-error", None, "CUDA error: an illegal memory access was encountered\nAborted (core dumped)\n"
     "========= Invalid __global__ write of size 16 bytes\n=========     at scale_rows(float*)+0x440\n"),
    ("nccl-bug", None, "NCCL version 2.25.1+cuda12.8\nCUDA error: an illegal memory access was encountered\n"
     "========= Invalid __global__ write of size 16 bytes\n=========     at ncclDevFunc_AllReduce_RING()+0x14\n"),
    ("slow-path", "NCCL_NET_PLUGIN", "h1:10:20 [0] NCCL INFO NCCL_NET_PLUGIN set by environment to aws-ofi\n"
     "h1:10:20 [0] NCCL INFO Using network Socket\n" + _SOCKETS + _NODES + "step 1 time 20.1s\n"),
    ("rdzv-store", "localhost:29400", "$ torchrun --nnodes 2 --nproc-per-node 8 train.py\n"
     "  rdzv_endpoint    : localhost:29400\nraise RendezvousTimeoutError\n"
     "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n"),
    ("rdzv-store", "127.0.0.1:29500", "".join(f"n{n}: torchrun --nnodes=2 --nproc_per_node=4 x.py\n"
     f"n{n}: [I socket.cpp:566] [c10d] The"
     " server socket has started to listen on 127.0.0.1:29500.\n" for n in (0, 1)) + "n0: torch.distributed."
     "DistStoreError: Timed out after 901 seconds waiting for clients. 1/2 clients joined.\n"),
    ("ib-config", "mlx5_1", "I1203 10:00:01 100 rdma_context.cpp:129] RDMA device: mlx5_1, LID: 0\n"
     "E1203 10:00:20 140 rdma_endpoint.cpp:311] [Handshake] Failed to modify QP to INIT: Invalid argument [22]\n"
     "E1203 10:00:20 140 worker_pool.cpp:182] Worker: Cannot make connection: 10.3.0.8:15321@mlx5_1\n"),
    ("version-mismatch", "12040", "(Worker_TP0 pid=120) RuntimeError: The NVIDIA driver on your system is too old"
     " (found version 12040). Please update your GPU driver\n"),
    ("version-mismatch", "librccl.so",
     "[1,0]<stderr>:ImportError: /opt/rocm/lib/librccl.so: undefined symbol: hip\n"),
    ("ib-link", "mlx5_1", _FAILED + "$ ibv_devinfo\nhca_id:\tmlx5_1\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n"),
    ("ib-link", "mlx5_3", _FAILED + "CA 'mlx5_3'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Polling\n"),
    ("ib-link", "eth2", _FAILED + "Settings for eth2:\n\tSpeed: Unknown!\n\tLink detected: no\n"),
    ("nvlink-fabric", None, _FAILED + "$ systemctl status nvidia-fabricmanager\n   Active: failed (Result: x)\n"),
    ("imex-mnnvl", None, _FAILED + "x nvidia-imex.service - NVIDIA IMEX service\n     Active: inactive (dead)\n"),
    ("gpu-fault", None, _FAILED + "    Remapped Rows\n        Pending                           : Yes\n"),
    ("gpu-fault", None, _FAILED + "| ERR!   ERR! ERR!             ERR! / ERR! |\n"),
    ("preempted", "trainer-1", "trainer-0   1/1   Running   0   3h\ntrainer-1   0/1   Evicted   0   3h\n"),
    ("rdzv-store", None, _PENDING),
    ("rdzv-store", "5", "w0 | Original error: DEADLINE_EXCEEDED: Barrier timed out. # of tasks that reached the"
     " barrier: 7/8. Some timed out task names:\nw0 | /job:jax_worker/replica:0/task:5\n"),
    ("rdzv-store", "10.0.0.9:13305", "".join(f"[rank{n}] UNAVAILABLE: failed to connect to all addresses; last"
     " error: ipv4:10.0.0.9:13305: Failed to connect to remote host: Connection refused\n" for n in (0, 3))),
    ("collective-mismatch", "3", "[n1:3311] *** An error occurred in MPI_Bcast\n[n1:3311] *** reported by process"
     " [3811,3]\n[n1:3311] *** MPI_ERR_TRUNCATE: message truncated\n"),
    ("fd-limit", "ForkPoolWorker-57", "Process ForkPoolWorker-57:\nTraceback (most recent call last):\n"
     '  File "pool.py", line 114, in worker\nOSError: [Errno 24] Too many open files\n'),
    ("app-error", None, "RuntimeError: \n        An attempt has been made to start a new process before the\n"
     "        current process has finished its bootstrapping phase.\n"),
    ("straggler-timeout", None, "ray: step 9 loss 2.1\nDeepEP dispatch NVL receiver timeout, channel: 3, RDMA: 0\n"
     "TimeoutError: status: DeadlineExceeded, message: \"Timeout expired\"\n"),
    ("preempted", None, "step 9 loss 2.1\n[taskcluster:error] Task aborted: worker-shutdown\n"),
    ("env-invalid", "CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES=8,9\nRuntimeError: No CUDA GPUs are"
     " available\n"),
    ("env-invalid", "ACCELERATE_MIXED_PRECISION", "export ACCELERATE_MIXED_PRECISION=float16\nValueError: Unknown"
     " mixed_precision mode: float16. Choose between ['no', 'fp8', 'fp16', 'bf16']\n"),
    ("app-error", None, "export VLLM_MODEL=float16\nValueError: Unknown mixed_precision mode: float17.\n"),
    ("preempted", None, "[root@n4 ~]# kill -9 22011\nfailed (exitcode: -9) local_rank: 6 (pid: 22011) of"
     " binary: python\n"),
    ("preempted", None, 'pytorchjob.kubeflow.org "gpt" deleted\ncontainer terminated with exit code 137\n'),
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
        "[1,2]<stderr>:Missing ranks:\n[1,2]<stderr>:3: [HorovodAllreduce_grads_0_0]\n"
        "400/400 [==============================] - 191s 297ms/step - loss: 1.6021\n",
        "h1:10:20 [0] NCCL INFO NET/Plugin : Plugin load (librccl-net.so) returned 2 : librccl-net.so: cannot open"
        " shared object file: No such file or directory\n" + _P2P + _HEALTHY_STEPS,
        "run.sh: line 3: nvidia-smi: command not found\n" + _HEALTHY_STEPS,
        "RuntimeError: operation cuInit(0) failed: CUDA_ERROR_NO_DEVICE\n0: wrote 64 catalogs\n"
        "48112207    COMPLETED           0:0   00:10:02\n",
        "[43.006] [UFW BLOCK] IN=ens4 OUT= SRC=203.0.113.9 DST=10.30.0.12 PROTO=TCP\n" + _HEALTHY_STEPS[:16],
        "WARNING: Sequence group cmpl-12 is preempted by PreemptionMode.RECOMPUTE mode because there is not"
        " enough KV cache space.\n" + _HEALTHY_STEPS[:16],
        _TIMEOUTS + "================== 4 passed in 41.20s ==================\n",
        "$ dcgmi policy -g 1 --get\n| XID Error                 | Enabled, no violations       |\n",
        "Processed prompts: 100%|#| 9/9\nERROR 07-04 14:25:18 utils.py:120] Worker pid 17 died, exit code: -15\n",
        "model.norm.weight  equal\n0 tensors differ, 339 equal\n" + _HEALTHY_STEPS,
        "$ lsmod | grep -i peermem\n$ ulimit -a | grep files\nopen files        (-n) 1024\n" + _HEALTHY_STEPS,
        "$ ibdev2netdev\nmlx5_0 port 1 ==> ib0 (Up)\nmlx5_2 port 1 ==> ib2 (Down)\n" + _HEALTHY_STEPS,
        "$ systemctl status nvidia-imex\n     Active: inactive (dead)\n" + _HEALTHY_STEPS,
        "ipv4:10.0.0.1:8476: Failed to connect to remote host: Connection refused\n" + _HEALTHY_STEPS,
        'Warning  Failed  kubelet  Failed to pull image "r/t:17": rpc error: code = DeadlineExceeded\n'
        'Normal   Pulled  kubelet  Successfully pulled image "r/t:17" in 4m12s\nstep 1 loss 2.0\n',
        "ssh: connect to host worker-2.train port 2222: Connection refused\n" + _HEALTHY_STEPS[:16],
        _PENDING + "Normal   Started    pod/w-1  Started container pytorch\n",
    ],
)
def test_what_healthy_jobs_print_is_no_failure(log: str) -> None:
    reader, builder = LogReader(), TimelineBuilder()
    for event in reader.read("a.log", [log.encode()]):
        builder.add(event)
    assert judge(builder.timeline(reader.lines_read)).root_cause == "none"
