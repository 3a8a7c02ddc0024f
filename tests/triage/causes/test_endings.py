"""How a job came to its end: who ended it, and what says that it ended well."""

import pytest

from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder


def cause_of(log: str) -> str:
    reader, builder = LogReader(), TimelineBuilder()
    builder.take(reader.read("a.log", [log.encode()]))
    return judge(builder.timeline(reader.lines_read)).root_cause


def test_a_user_who_pressed_ctrl_c_ended_a_job_of_which_nothing_else_is_known() -> None:
    assert cause_of("$ bash run.sh\nLoading model\n^C\n") == "preempted"
    assert cause_of("$ bash run.sh\nNCCL version 2.21.5+cuda12.4\n^C\n") == "other"


_STEPS = "step 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\n"
_UNRESOLVED = "ssh: Could not resolve hostname n2: Name or service not known\n"
_SERVES = "INFO:     Application startup complete.\n"
_DUPLICATE = "init.cc:1 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 5000\n"
_CLOSED = (
    "h2:22:40 [2] NCCL INFO misc/socket.cc:829 -> 3\n"
    "h2:22:40 [2] NCCL INFO [Service thread] Connection closed by localRank 2\n"
)
_LATE = (
    "rendezvous.cc:31] This thread has been waiting for `init of clique` for 10 seconds and may be stuck. Expected"
    " 8 threads to join the rendezvous, but only 6 of them arrived on time.\n"
)
_RAISED = (
    "Traceback (most recent call last):\n"
    '  File "/opt/train.py", line 212, in <module>\n    main()\n'
    "KeyError: 'labels'\n"
)
_ENDED = "srun: error: n1: task 0: Exited with exit code 1\n"
_WATCHDOG = (
    "[rank3]: [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, "
    "NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds\n"
)
_CHECKS = "".join(f"check of the {part} ... passed\n" for part in ("memory", "NICs", "disks"))
_PORT_FAILED = "n1:8:9 [0] NCCL WARN NET/IB : mlx5_0:1 Got async event : port error\n"
_NARROW = "mlx5_core 0000:1a:00.0: 126.024 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe"
_TOO_LONG = "ERROR 11-04 09:15:20 [serving_chat.py:244] ValueError: the prompt has more than 8192 tokens\n"


@pytest.mark.parametrize(
    "log",
    [
        "init.cc:1822 NCCL WARN Invalid rank requested : 9/8\n[  PASSED  ] 2 tests.\n",
        _SERVES + _TOO_LONG + '"POST /v1/completions HTTP/1.1" 200 OK\n',
        "error: connection refused (will keep trying)\nrun finished: 5/5 rounds\n",
        "all 40 prompts finished\nERROR Engine core proc EngineCore_0 died unexpectedly, shutting down client.\n",
        "slurmstepd: error: unable to open '/sys/fs/cgroup/memory.max' for writing: Permission denied\n" + _STEPS,
        "failed to load 'draft': unable to load shared library: libx.so.8\nStarted HTTPService at :8000\n",
        "[n2:2011] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168\nTotal wall time: 0:00:42\n",
        "gpu 0 <-> 1 : P2P not supported, using SHM\nRESULT: PASS\n",
        "RuntimeError: Error: clocks throttled\nbench: exit status 0\n",
        _UNRESOLVED + "[runner] 4 of 4 passed, report written\n",
        _UNRESOLVED + "Readiness suite completed\nfailures: 0\n",
        "checksum mismatch detected on rank 2\n===== 41 passed, 3 skipped, 2 xfailed in 402.11s =====\n",
        _DUPLICATE + "ok\n\n----------\nRan 30 tests in 211.4s\n\nOK (skipped=2)\n",
        "slurmstepd: error: Unable to create TMPDIR [/local/7]: Permission denied\n"
        "slurmstepd: error: Setting TMPDIR to /tmp\nstep 1 loss 2.0\n",
        _LATE + "rendezvous.cc:42] Thread is unstuck! Warning above was a false-positive. Perhaps the timeout is"
        " too short. Expected 8 threads to join the rendezvous and all of them arrived.\nstep 1 loss 2.0\n",
        _TOO_LONG + '"POST /v1/completions HTTP/1.1" 400 Bad Request\n"POST /v1/completions HTTP/1.1" 200 OK\n',
        "slurmstepd: error: *** JOB 8812 ON gn1 CANCELLED AT 2025-03-03T02:00:00 DUE TO NODE FAILURE ***\n"
        "resumed from iteration 12000\niteration 12100 loss 2.21\n",
        _CLOSED + "h2:22:40 [2] NCCL INFO comm 0x88 rank 2 nranks 4 cudaDev 2 busId 60 - Destroy COMPLETE\n",
        "push of the metrics: [Errno 24] Too many open files, retried\nstep 1 loss 2.0\n",
        "check of the clock ... passed\n" + _RAISED + _CHECKS,
        "mlx5_core 0000:1a:00.0 eth2: Link down\nmlx5_core 0000:1a:00.0 eth2: Link up\n",
        "+ torchrun train.py --timeout 600 OpType=ALLREDUCE\n" + _STEPS,
        "Failed to get the IP address, using 0.0.0.0 by default.\n"
        + _SERVES
        + '"POST /v1/completions HTTP/1.1" 200 OK\n',
        _PORT_FAILED + _PORT_FAILED.replace("port error", "port active") + "step 101 loss 1.0\n",
        f"{_NARROW} x16 link at 0000:00:1c.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)\n" + _STEPS,
        "checksum mismatch: the cached file is outdated, downloading again\n" + _STEPS,
        _UNRESOLVED + "(TrainController pid=7) [State Transition] RUNNING -> FINISHED.\n",
        _UNRESOLVED + "Result(metrics={'step': 200}, error=None)\n",
        _UNRESOLVED + "all replicas reached step 100, state dicts equal\n",
        "W tpu_helper.cc:271] Could not open libtpu.so: No such file\nDistributed task shutdown result: OK\n",
        "INFO:torchft::manager: [Replica train_0] Subscribed to failures at http://n1:1\n" + _STEPS,
        "WARNING: Open MPI accepted a TCP connection from what appears to be a another Open MPI process but\n"
        "total training time: 3:10:02\n",
    ],
)
def test_a_run_that_tells_of_its_good_end_is_healthy(log: str) -> None:
    assert cause_of(log) == "none"


@pytest.mark.parametrize(
    ("cause", "log"),
    [
        ("nccl-bug", "init.cc:1822 NCCL WARN Assertion `x` failed\n[  PASSED  ] 0 tests.\n"),
        ("app-error", _SERVES + _TOO_LONG + '"POST /v1/completions HTTP/1.1" 500 Internal Server Error\n'),
        ("rdzv-store", _UNRESOLVED + "[runner] 3 of 4 passed\n"),
        ("rdzv-store", _UNRESOLVED + "[runner] 4 of 4 passed, but 1 failed to clean up\n"),
        ("rdzv-store", _UNRESOLVED + "Result(metrics={}, error=HostsUnreachable())\n"),
        ("duplicate-gpu", _DUPLICATE + "1 failed, 29 passed, 2 xfailed in 80.02s\n"),
        ("gpu-fault", "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.\n12 passed in 18.1s\n"),
        ("app-error", _TOO_LONG + '"POST /v1/completions HTTP/1.1" 200 OK\n'),
        ("net-unreachable", _CLOSED + "h2:22:40 [2] NCCL INFO comm 0x88 rank 2 nranks 4 - Abort COMPLETE\n"),
        ("straggler-timeout", _LATE + "step 1 loss 2.0\n"),
        ("data-corruption", "Replica 2: parameters differ after step 7\n"),
        ("app-error", "ValueError: the prompt is too long\nstep 1 loss 2.0\n"),
        ("app-error", _RAISED + _CHECKS),
        ("app-error", _RAISED + _ENDED + "slurmstepd: error: Setting TMPDIR to /tmp\nstep 1 loss 2.0\n"),
        ("app-error", _RAISED + _ENDED + "...\nRan 3 tests in 2.1s\n\nOK\n"),
        ("straggler-timeout", _STEPS + _WATCHDOG + "checks of the host: 14\nfailures: 0\n"),
        ("straggler-timeout", _WATCHDOG + "] Thread is unstuck! Warning above was a false-positive.\n" + _STEPS),
        ("ib-link", "mlx5_core 0000:1a:00.0 eth2: Link down\nmlx5_core 0000:9a:00.0 eth3: Link up\n"),
        (
            "ib-link",
            _PORT_FAILED
            + "n1:8:9 [0] NCCL INFO NET/IB : mlx5_3:1 Got async event : port active\nstep 101 loss 1.0\n",
        ),
        ("net-interface", "Failed to get the IP address, using 0.0.0.0 by default.\n"),
        (
            "slow-path",
            f"{_NARROW} x8 link at 0000:00:1c.0 (capable of 252.048 Gb/s with 8.0 GT/s PCIe x16 link)\n",
        ),
        ("other", _WATCHDOG + _WATCHDOG.replace("3]", "0]").replace("=1, NumelOut=1, T", "=12\n")),
        ("other", "Failed to load the draft model\nloading shards: 100% Completed | 49/49 [08:58<00:00]\n"),
    ],
)
def test_what_resembles_a_good_end_is_none(cause: str, log: str) -> None:
    assert cause_of(log) == cause


_PULLED = "Normal  Pulled  2m  kubelet  "


@pytest.mark.parametrize(
    ("cause", "logs"),
    [
        ("straggler-timeout", [_WATCHDOG, "checks of the host: 14\nfailures: 0\n"]),
        ("app-error", [_RAISED, "===== 4 passed, 2 xfailed in 4.11s =====\n"]),
        ("ib-link", ["mlx5_core 0000:1a:00.0 eth2: Link down\n", "mlx5_core 0000:1a:00.0 eth2: Link up\n"]),
        (
            "app-error",
            ['Failed to pull image "r/ml:v1": not found\n', f'{_PULLED}image "r/x" already present on machine\n'],
        ),
        ("net-unreachable", [_CLOSED, "h3:7:7 [1] NCCL INFO comm 0x88 rank 1 nranks 4 - Destroy COMPLETE\n"]),
        (
            "straggler-timeout",
            [
                _WATCHDOG
                + "torch.distributed.DistBackendError: NCCL error in: a.cpp:6, NCCL version 2.21.5\n"
                + _STEPS
            ],
        ),
        ("app-error", [_STEPS + _RAISED + "sidecar exited with exit code 0\n"]),
        ("app-error", [_STEPS + _RAISED + "health check finished, exit code 0\n"]),
        (
            "ib-link",
            [
                "Nov 28 10:00:00 k1 kernel: mlx5_core 0000:1a:00.0 eth2: Link down\n"
                "Nov 28 10:00:04 k2 kernel: mlx5_core 0000:1a:00.0 eth2: Link up\n"
            ],
        ),
    ],
)
def test_another_program_does_not_take_a_failure_back(cause: str, logs: list[str]) -> None:
    reader, builder = LogReader(), TimelineBuilder()
    for number, log in enumerate(logs):
        builder.take(reader.read(f"{number}.log", [log.encode()]))
    assert judge(builder.timeline(reader.lines_read)).root_cause == cause


@pytest.mark.parametrize(
    ("cause", "suspect", "log"),
    [
        ("net-interface", "192.168.122.1", "Message:    connect() to 192.168.122.1:1024 failed\n"),
        ("net-interface", "192.168.122.195", "n1: 192.168.122.195:44319 failed: No route to host (113)\n"),
        (
            "plugin",
            "",
            "n1:7:7 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. libcudart.so: cannot open shared"
            " object file: No such file or directory\nn1:7:7 [0] plugin/net.cc:390 NCCL WARN Failed to initialize"
            " any NET plugin\n",
        ),
        (
            "plugin",
            "",
            "n1:7:7 [0] NCCL WARN vendor-tuner: could not parse line 12, init failed\n"
            "n1:7:7 [0] NCCL INFO plugin/tuner.cc:66 -> 2\n",
        ),
        (
            "nccl-bug",
            "",
            "NCCL version 2.26.2+cuda12.8\n*** SIGSEGV received at time=1762 on cpu 11 ***\n"
            "PC: @     0x7f11  (unknown)  rasCollConnsRun()\n",
        ),
        (
            "nvlink-fabric",
            "",
            "bus bandwidth 28.9 GB/s below threshold 110 GB/s\n\t Link 0: 26.562 GB/s\n\t Link 4: <inactive>\n",
        ),
        ("ib-link", "", "$ ibdiagnet -r\n Link SymbolErrorCounter increased by 8120 during test\nNET/IB: Got"
         " completion with error 12, opcode 0, len 0, vendor err 129\n"),
    ],
)  # fmt: skip
def test_what_names_the_layer_names_the_cause(cause: str, suspect: str, log: str) -> None:
    reader, builder = LogReader(), TimelineBuilder()
    builder.take(reader.read("a.log", [log.encode()]))
    found = judge(builder.timeline(reader.lines_read))
    assert found.root_cause == cause, found.candidates
    assert not suspect or (found.offender and found.offender.name == suspect)


_WAITS = "".join(
    f"[rank{rank}]: [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
    "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds\n"
    for rank in (0, 2, 3)
)


def test_a_rank_that_left_something_out_made_other_calls() -> None:
    assert cause_of("[rank1] sample 87719: too short, skipped\n" + _WAITS) == "collective-mismatch"
    assert cause_of("[rank1] loading shard 9 of 40\n" + _WAITS) == "straggler-timeout"
    assert cause_of("[rank2] sample 87719: too short, skipped\n" + _WAITS) == "straggler-timeout"


def test_a_limit_is_what_stands_behind_the_command_that_asks_for_it() -> None:
    failed = "ERROR:api:failed (exitcode: -6) local_rank: 0 (pid: 71) of binary: python\n"
    assert cause_of(failed + "$ docker run --rm train bash -c 'ulimit -l'\n64\n") == "ib-memlock"
    assert cause_of(failed + "$ ulimit -l\nunlimited\n") == "other"
    assert cause_of(failed + "$ docker run --rm train nproc\n64\n") == "other"


_FAST = (
    "n1:1:2 [0] NCCL INFO Using network IB\n"
    "n1:1:2 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 busId 1 - Init COMPLETE\n"
    "n2:1:2 [0] NCCL INFO comm 0x6 rank 1 nranks 2 cudaDev 0 busId 1 - Init COMPLETE\n"
    "  1073741824     268435456     float     sum      -1    23333   {rate}   {rate}      0"
    "    23329   {rate}   {rate}      0\n# Avg bus bandwidth    : {rate}\n"
)
_TOOL = "$ ib_write_bw -d mlx5_0 10.0.0.2\n 65536      5000             108.71             108.68      0.207\n"


@pytest.mark.parametrize(
    ("cause", "log"),
    [
        ("none", _TOOL + _FAST.format(rate="46.02")),
        ("slow-path", _FAST.format(rate="46.02") + _TOOL),
        ("slow-path", _TOOL + _FAST.format(rate="3.01")),
    ],
)
def test_who_looked_at_the_network_before_a_fast_test_doubted_nothing(cause: str, log: str) -> None:
    assert cause_of(log) == cause


def test_a_link_is_slow_where_it_has_half_of_what_the_device_can_do() -> None:
    link = "mlx5_core 0000:41:00.0: {} Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at "
    link += "0000:40:01.1 (capable of 126.016 Gb/s with 8.0 GT/s PCIe x16 link)\n"
    assert cause_of(link.format("63.008")) == "slow-path"
    assert cause_of(link.format("94.512")) == "none"


_NO_NETWORK = (
    "n1:7:7 [0] NCCL INFO NET/IB : No device found.\nn1:7:7 [0] net.cc:9 NCCL WARN Error: network {} not found.\n"
)
_UNACKNOWLEDGED = (
    "n1:7:7 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.9<4> with status=12 opcode=0 len=0\n"
)
_PORT_ERROR = "n1:7:7 [0] NCCL WARN NET/IB : mlx5_4:1 Got async event : port error\n"


@pytest.mark.parametrize(
    ("cause", "log"),
    [
        ("ib-config", "n1:7:7 [0] NCCL INFO NCCL_IB_HCA set to ^mlx5\n" + _NO_NETWORK.format("IB")),
        ("ib-config", _NO_NETWORK.format("IB")),
        ("plugin", _NO_NETWORK.format("AWS Libfabric")),
        (
            "plugin",
            "n1:7:7 [0] NCCL WARN PROFILER/Plugin: init failed with 3\nn1:7:7 [0] NCCL INFO init.cc:9 -> 3\n",
        ),
        (
            "plugin",
            "n1:7:7 [0] NCCL WARN NET/OFI Peer speaks protocol 3, we 4\nn1:7:7 [0] NCCL INFO init.cc:9 -> 3\n",
        ),
        ("ib-config", _UNACKNOWLEDGED + "step 1: ncclRemoteError\n"),
        ("ib-link", _UNACKNOWLEDGED + "step 61234: ncclRemoteError\n"),
        ("ib-link", _PORT_ERROR + "step 8 loss 2.0\n"),
        ("none", _PORT_ERROR + _PORT_ERROR.replace("error", "active") + "step 8 loss 2.0\n"),
        ("ib-link", _PORT_ERROR + _PORT_ERROR.replace("error", "active") + _UNACKNOWLEDGED + "step 8 loss 2.0\n"),
    ],
)
def test_what_came_before_and_behind_tells_a_link_from_a_setting(cause: str, log: str) -> None:
    assert cause_of(log) == cause


@pytest.mark.parametrize(
    "limit",
    [
        "=>> PBS: job killed: walltime 3612 exceeded limit 3600",
        "Nov 28 10:00:00 n8 slurmstepd[7]: error: *** CANCELLED DUE TO TIME LIMIT ***",
    ],
)
def test_no_host_is_to_blame_for_a_time_limit(limit: str) -> None:
    reader, builder = LogReader(), TimelineBuilder()
    builder.take(reader.read("a.log", [f"n8: [rank1] step 41 loss 1.2\n{limit}\n".encode()]))
    found = judge(builder.timeline(reader.lines_read))
    assert (found.root_cause, found.offender) == ("preempted", None)
