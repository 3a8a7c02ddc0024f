"""Whom a log names where several could be meant: the victim, the late one, the one that differs, and nobody."""

import pytest

from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder

_TIMEOUT = (
    "[rank{0}]:[E901 09:10:11.1 ProcessGroupNCCL.cpp:607] [Rank {0}] Watchdog caught collective operation timeout:"
    " WorkNCCL(SeqNum={1}, OpType={2}, NumelIn={3}, NumelOut={3}, Timeout(ms)=600000) ran for 600012 milliseconds"
    " before timing out.\n"
)
_CUT = "[rank{0}]: [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLGATHER,"
_CUT += " NumelIn={1}, NumelOut=...\n"
_TIE = _TIMEOUT.format(0, 31, "ALLREDUCE", 4096) + _TIMEOUT.format(1, 31, "BROADCAST", 1)
_TAIL = "[{}] [INFO] [launch.py:319:sigkill_handler] Killing subprocess {}\n"
_DEAD = "[t] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python', '-u', 'a.py', '--local_rank={}']"
_DEAD += " exits with"
_DEAD += " return code = -9\n"
_NET = "n{0}:10:20 [0] NCCL INFO Bootstrap : Using eno1:10.2.0.{0}<0>\n"
_SOCKETS = _NET.format(1) + _NET.format(2)
_SOCKETS += "n1:10:20 [0] NCCL INFO NET/Socket : Using [0]eno1:10.2.0.1<0>\nn1:10:20 [0] NCCL INFO Using"
_SOCKETS += " network Socket\n"
_SOCKETS += "n1:10:20 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0\n"
_SLOW = "".join(f"step {n} loss 2.1 time: 9.8120\n" for n in range(4))
_NO_VERBS = "n1:10:20 [0] NCCL INFO Failed to open libibverbs.so[.1]\n"
_ASKED = "n1:10:20 [0] NCCL INFO NCCL_IB_HCA set to {}\nn1:10:20 [0] NCCL INFO NET/IB : No device found.\n"
_STACK = 'Thread {} (idle): "MainThread"\n    {} (torch/distributed/distributed_c10d.py:2810)\n    main (a.py:9)\n'
_PRINT = "Rank {} is running collective: CollectiveFingerPrint(SequenceNumber=4, OpType=ALLREDUCE,"
_PRINT += " TensorShape=[{}],"
_PRINT += " TensorDtypes=Float, TensorDeviceTypes=x)"
_PRINTS = "".join(
    f"[rank{a}]: RuntimeError: Detected mismatch between collectives on ranks. {_PRINT.format(a, a + 8)}, but"
    f" {_PRINT.format(b, b + 8)}.\n"
    for a, b in ((1, 0), (0, 1))
)
_WRONG = "  {0}  {0}  float  sum  -1  19203.96  111.83  209.67  {1}  19011.92  112.94  211.77  {1}\n"
_RUN = "$ mpirun -np 16 -H {} ./all_reduce_perf -b 1G -e 2G\n"
_DEVICES = "".join(f"#  Rank  {n} Group  0 Pid {n} on n{n} device  0 [0x18] NVIDIA A100\n" for n in (0, 1))

LOGS: list[tuple[str, str, tuple[str, str] | None, str]] = [
    ("a worker of the loader is killed, its rank only raises", "out-of-memory", ("process", "7301"),
     "RuntimeError: DataLoader worker (pid 7301) is killed by signal: Killed.\n"
     "E torch: failed (exitcode: 1) local_rank: 1 (pid: 7290) of binary: /usr/bin/python\n"),
    ("a container is killed, and a rank on another host loses it", "out-of-memory", ("process", "train"),
     "Pod failed: containers: - name: train reason: OOMKilled code: 137\n[taskrole worker-2]"
     " subprocess.CalledProcessError: Command '['python', '--local_rank=5']' returned non-zero exit status 1.\n"),
    ("the only process of a launcher", "out-of-memory", ("process", "40212"),
     _TAIL.format("t", 40212) + _DEAD.format(0)),
    ("one of several processes", "out-of-memory", ("rank", "1"),
     _TAIL.format("t", 811) + _TAIL.format("t", 812) + _DEAD.format(1)),
    ("Ray tells whose memory it was, after whoever asked", "out-of-memory", ("host", "10.3.0.7"),
     "(pid=611) ERROR - scoring failed: Task was killed due to the node running low on memory.\nMemory on the node"
     " (IP: 10.3.0.7, ID: 4a) where the task (actor ID: 9, pid=70) was running was 96.31GB / 100.75GB"
     " (0.955), which"
     " exceeds the memory usage threshold of 0.95.\n"),
    ("sockets where no RDMA is", "slow-path", ("interface", "eno1"), _NO_VERBS + _SOCKETS + _SLOW),
    ("names of interfaces where those of HCAs belong", "slow-path", ("variable", "NCCL_IB_HCA"),
     _ASKED.format("rdma0,rdma1") + _SOCKETS + _SLOW),
    ("a library that is missing where RDMA is", "slow-path", ("library", "libibverbs.so"),
     "n1$ ls /sys/class/infiniband\n" + _NO_VERBS + _SOCKETS + _SLOW),
    ("HCAs that are not there", "slow-path", ("interface", "eno1"),
     _ASKED.format("mlx5_0,mlx5_1") + _SOCKETS + _SLOW),
    ("the plugin that lacks a library", "plugin", ("library", "libnccl-net-acme.so"),
     "n1:1:2 [0] NCCL INFO NET/Plugin: Plugin load returned 2 : libfab.so.1: cannot open shared object"
     " file: No such"
     " file or directory : when loading libnccl-net-acme.so\nn1:1:2 [0] NCCL WARN Error: network Acme not"
     " found.\n"),
    ("the plugin that was asked for by its path", "plugin", ("plugin", "/opt/x/libnccl-net-x.so"),
     "n1:1:2 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.\nn1:1:2"
     " [0] NCCL INFO"
     " NET/Plugin: Plugin name set by env to /opt/x/libnccl-net-x.so\n    @     0x7f29fa11c014 "
     " pluginListen(int, void*)\n"
     "[n1:24462] *** Process received signal ***\n[n1:24462] Signal: Aborted (6)\n"),
    ("the rank that left the loop, of two", "collective-mismatch", ("rank", "1"),
     "[rank0] epoch 3 batch 90/91\n[rank1] epoch 3 done, entering validation\n" + _TIE),
    ("the rank that does what one does for all, of two", "collective-mismatch", ("rank", "0"),
     "[Rank 0] Saving model checkpoint: out/step-90\n" + "".join(reversed(_TIE.splitlines(True)))),
    ("the rank whose data ended, of two", "collective-mismatch", ("rank", "1"),
     "[rank1]:2025-08-21 11:19:53,991 - root - WARNING - Dataset val has run out of data\n" + _TIE),
    ("a rank says that it skips, and stacks show the others", "collective-mismatch", ("rank", "1"),
     "[rank0]: world_size 2\n[rank1]: no ops queued, returning\n$ py-spy dump --pid 71\n"
     + _STACK.format(71, "barrier")
     + "$ py-spy dump --pid 88\n" + _STACK.format(88, "all_reduce")
     + "[rank1]: RuntimeError: [unbound_buffer.cc:81] Timed out waiting 600000ms for recv operation to"
     " complete\n"),
    ("the launcher saw one of two ranks end first", "collective-mismatch", ("rank", "1"), _PRINTS
     + "Root Cause (first observed failure):\n[0]:\n  time      : 2025-07-19_15:30:31\n  rank      : 1"
     " (local_rank: 1)\n"
     "  exitcode  : 1 (pid: 23041)\n"),
    ("only the first line of a traceback has its rank", "gpu-fault", ("rank", "6"),
     "[2025-01-29 08:52:59 TP6] Scheduler hit an exception: Traceback (most recent call last):\n"
     '  File "/opt/a/runner.py", line 277, in capture\n    torch.cuda.synchronize()\n'
     "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
     "[rank2]:[E129 08:52:59.660 ProcessGroupNCCL.cpp:1595] [PG ID 2 PG GUID 3 Rank 2] Process group"
     " watchdog thread"
     " terminated with exception: CUDA error: unspecified launch failure\n"),
    ("an actor tells its rank once", "app-error", ("rank", "4"),
     "(W pid=2210, ip=10.0.2.12) rank 4 local_rank 0 world_size 8\n"
     "(W pid=2210, ip=10.0.2.12) RuntimeError: CUDA error: invalid device ordinal\n"),
    ("a check names the replica that differs", "data-corruption", ("rank", "9"),
     "[n1][rank0] CONSISTENCY CHECK FAILED: replica of rank 9 differs from 3 others\n"),
    ("wrong data follow one of the hosts", "data-corruption", ("host", "n2"),
     _RUN.format("n1:8,n2:8") + _DEVICES + _WRONG.format(2147483648, 3) + "# Out of bounds values : 2 FAILED\n"
     + _RUN.format("n1:8,n3:8") + _WRONG.format(2147483648, 0) + "# Out of bounds values : 0 OK\n"),
    ("wrong data on several hosts", "data-corruption", None,
     _DEVICES + _WRONG.format(2147483648, 3) + "# Out of bounds values : 2 FAILED\n"
     "srun: error: n0: task 0: Exited with exit code 1\n"),
    ("the workload whose events are shown", "preempted", ("job", "tfjob-mnist-1a2b"),
     "$ kubectl describe workload tfjob-mnist-1a2b\n  Normal  EvictedDueToPreempted  31s "
     " kueue-workload-controller"
     "  Preempted to accommodate a workload (UID: 77d1) due to prioritization in the ClusterQueue\n"),
    ("a signal that all ranks tell of", "preempted", None,
     "".join(f"[controller] Worker rank {n} received signal 15; stopping.\n" for n in range(3))),
    ("what a build of NCCL is called", "nccl-bug", ("library", "2.27.7"),
     "RCCL version : 2.27.7-HEAD:1c2aa10\nh1:1:2 [0] enqueue.cc:90 NCCL WARN schedule creation has bugs\n"
     "h1: RuntimeError: NCCL error: internal error - please report this issue to the NCCL developers\n"),
    ("the package that replaced the driver's library", "version-mismatch", ("library", "libnvidia-compute-470"),
     "Setting up libnvidia-compute-470 (470.57.02-0ubuntu1) ...\n"
     "Failed to initialize NVML: Driver/library version mismatch\n"),
    ("the library whose symbol is missing", "version-mismatch", ("library", "librccl.so.1"),
     "ImportError: /opt/torch/lib/libtorch_hip.so: undefined symbol: ncclCommWindowRegister\n"
     "$ readelf -d libtorch_hip.so\n NEEDED  Shared library: [librccl.so.1]\n"),
    ("the host that does not answer, not the one that asks", "net-unreachable", ("host", "n3"),
     "PING n3 (10.5.0.3) 8972(9000) bytes of data.\n--- n3 ping statistics ---\n"
     "2 packets transmitted, 0 received, 100% packet loss, time 1013ms\n"
     "gloo::IoException: [tcp/unbound_buffer.cc:81] Timed out waiting 600000ms for recv operation to complete\n"),
    ("the index that was forced, where nothing has worked", "ib-config", ("variable", "NCCL_IB_GID_INDEX"),
     "n1:1:2 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.\nn1:1:2 [0] NCCL INFO NET/IB : Using"
     " [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\nn1:1:9 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB :"
     " Got completion"
     " from peer 10.0.0.2<55570> with error 12, opcode 0, len 0, vendor err 129 (Send)\n"),
    ("the index that was chosen for UCX", "ib-config", ("variable", "UCX_IB_GID_INDEX"),
     "$ mpirun -np 56 -x UCX_NET_DEVICES=mlx5_2:1 -x UCX_IB_GID_INDEX=1 ./IMB-MPI1 Alltoall\n"
     "[n1:24410:0:24410] ud_iface.c:806  Fatal: transport error: Endpoint timeout\n"),
    ("the only HCA, where its GIDs cannot be read", "ib-config", ("device", "mlx5_0"),
     "n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.244.1.7<0>\n"
     "n1:1:9 [0] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_query_gid failed\n"
     "n1: Test NCCL failure common.cu:1204 'unhandled system error'\n"),
    ("the HCA that UCX names", "ib-config", ("device", "mlx5_bond_0"),
     "[1629808211.402918] [clx-11:23411:0]    ib_mlx5_log.c:171  Transport retry count exceeded on"
     " mlx5_bond_0:1/RoCE"
     " (synd 0x15 vend 0x81 hw_synd 0/0)\n"),
    ("the host of the IOMMU, not the rank that waits", "p2p-acs-iommu", ("host", "n1"),
     "n1 kernel: AMD-Vi: Event logged [IO_PAGE_FAULT device=41:00.0 domain=0x21 address=0x3a0f1 flags=0x30]\n"
     "n1:300:340 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/direct pointer\n"
     "n1:300:340 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 41000 - Init COMPLETE\n"
     + _TIMEOUT.format(0, 1, "ALLREDUCE", 1) + _TIMEOUT.format(1, 1, "ALLREDUCE", 1)),
    ("the bridge that two hosts have with one address", "net-interface", ("interface", "virbr0"),
     "[n1:20110] btl:tcp: 0x1d2e0a0: if eno1 kidx 2 cnt 0 addr 10.30.2.11 IPv4 bw 1000 lt 100\n"
     "[n1:20110] btl:tcp: 0x1d2e4b0: if virbr0 kidx 5 cnt 0 addr 192.168.122.1 IPv4 bw 100 lt 1000\n"
     "[n2:8841] btl:tcp: 0x2a444b0: if virbr0 kidx 4 cnt 0 addr 192.168.122.1 IPv4 bw 100 lt 1000\n"
     "[n1][[5410,1],0][btl_tcp_endpoint.c:630:recv_connect_ack] received unexpected process"
     " identifier [[5410,1],1]\n"),
    ("the GPU as the kernel names it, whichever tool came first", "gpu-fault", ("gpu", "0000:17:00"),
     "Unable to determine the device handle for GPU 0000:17:00.0: GPU is lost.  Reboot the system to recover\n"
     "kernel: [87474.8] NVRM: Xid (PCI:0000:17:00): 79, pid=0, GPU has fallen off the bus.\n"),
    ("the IOMMU of a host that has no name", "p2p-acs-iommu", ("kernel", "DMAR"),
     "$ ./simpleP2P\nRun kernel on GPU1, taking source data from GPU0 and writing to GPU1...\n"
     "[ 1204.1] DMAR: DRHD: handling fault status reg 2\n"),
    ("the store of the workers, once their agents have met", "rdzv-store", ("host", "w-0.job.svc"),
     "launch: args: ['--rdzv_backend=etcd', '--rdzv_endpoint=etcd-service:2379']\n  restart_count=0\n"
     "  master_addr=w-0.job.svc\nTraceback (most recent call last):\n"
     "    store = TCPStore(master_addr, master_port, world_size, start_daemon, timeout)\n"
     "ValueError: host not found: Name or service not known\n"),
    ("the rank that had enqueued less when it was told", "straggler-timeout", ("rank", "1"),
     _TIMEOUT.format(0, 90417, "ALLGATHER", 9)
     + "[rank0]:[E1 01:20:28.115 ProcessGroupNCCL.cpp:2250] [PG ID 2 PG GUID 3 Rank 0] failure detected by"
     " watchdog at"
     " work sequence id: 90417 PG status: last enqueued work: 90417, last completed work: 90416\n"
     "[rank1]:[E1 01:20:28.941 ProcessGroupNCCL.cpp:1850] Received a dump signal due to a collective"
     " timeout from rank 0."
     " Last enqueued NCCL work: 90416, last completed NCCL work: 90416.\n"),
    ("the one that differs, of timeouts that were quoted in part", "collective-mismatch", ("rank", "6"),
     "".join(_CUT.format(rank, 1179648) for rank in (0, 1)) + _CUT.format(6, 16777216)
     + "[rank7]: [Rank 7] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLGATHER)\n"),
    ("the one that gave up a blocking wait for another call", "collective-mismatch", ("rank", "2"),
     "".join(f"[rank{rank}]: RuntimeError: Work WorkNCCL(SeqNum=7, OpType={op}, NumelIn=1, NumelOut=1,"
             " Timeout(ms)=600000) timed out in blocking wait.\n"
             for rank, op in enumerate(("ALLREDUCE", "ALLREDUCE", "BARRIER")))),
    ("the rank whose kernel gave up its wait", "straggler-timeout", ("rank", "3"),
     "DeepEP timeout check failed: 7 (rank = 3)\nRuntimeError: DeepEP error: timeout (dispatch CPU)\n"),
    ("the rank in another call, of a snapshot", "collective-mismatch", ("rank", "1"),
     " - [0] Timeout at collective: _REDUCE_SCATTER_BASE, #901\n - Snapshot of ranks' latest states:\n"
     "   #900 finished ranks:\n     [0, 1, 2, 3] finished ALLREDUCE\n   #901 started ranks:\n"
     "     [0, 2, 3] started _REDUCE_SCATTER_BASE\n     [1] started _ALLGATHER_BASE\n"),
    ("nobody, where all ranks of a snapshot are in one call", "straggler-timeout", None,
     " - [0] Timeout at collective: ALLREDUCE, #901\n - Snapshot of ranks' latest states:\n"
     "   #901 started ranks:\n     [0, 2, 3] started ALLREDUCE\n   #900 started ranks:\n"
     "     [1] started BROADCAST\n"),
    ("the receiver of a message of another size", "collective-mismatch", ("rank", "2"),
     _TIMEOUT.format(1, 41, "SEND", 25165824) + _TIMEOUT.format(2, 41, "RECV", 33554432)),
    ("nobody, where a rank that is done waits for the others", "straggler-timeout", None,
     "rank 3 finished its shard at 03:10 and waits\n" + _TIMEOUT.format(3, 2, "ALLREDUCE", 1)),
    ("the only rank that did not time out, of those that are heard", "straggler-timeout", ("rank", "24"),
     "Loading checkpoint shards:  39% Completed | 63/163 [13:41<22:10, 13.30s/it]\n"
     + "".join(_TIMEOUT.format(rank, 3, "ALLREDUCE", 1) for rank in (0, 8, 16))
     + "[rank24]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:317, remote process"
     " exited or there"
     " was a network error, NCCL version 2.21.5\n"),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "suspect", "log"), [one[1:] for one in LOGS], ids=[one[0] for one in LOGS])
def test_who_is_named(cause: str, suspect: tuple[str, str] | None, log: str) -> None:
    reader, builder = LogReader(), TimelineBuilder()
    builder.take(reader.read("a.log", [log.encode()]))
    found = judge(builder.timeline(reader.lines_read))
    assert found.root_cause == cause, found.candidates
    assert (found.offender and (found.offender.kind, found.offender.name)) == suspect
