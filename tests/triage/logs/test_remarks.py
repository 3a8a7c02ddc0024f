"""What people and programs remark about a job that stands still, and the stacks they take of it."""

import pytest

from nccltool.triage.logs.reader import LogReader

REMARKS = {
    "(no more output, 25 min)": "job.nothing-more",
    "(nothing)": "job.nothing-more",
    "(10 minutes later)": "job.nothing-more",
    "(no further output for 20 minutes, all GPUs at 100 %)": "job.nothing-more",
    "waiting for scheduler to become ready (600 s)": "job.stalled",
    "Started: 'sync_weights' still running after 14400 s": "job.stalled",
    "Model weights saved in /data/ckpt/model-00004-of-00007.safetensors": "job.at-work",
    "[rank11] Loading weights:  62%|######2   | 829/1330 [21:02<12:41,  0.66it/s]": "job.at-work",
    "check_nccl_allreduce: bandwidth test 247.1 GB/s < 460.0 GB/s": "bench.below",
    "worker-3 memory used 32102Mi / limit 32768Mi": "host.memory-use",
    "EC2 spot two-minute interruption notice: terminate": "job.preempted",
    "Node 10.0.44.12 is draining (reason: DRAIN_NODE_REASON_PREEMPTION)": "job.preempted",
    "2D training successfully completed!": "job.completed",
    "[notes] same recipe on the other image: 48 s": "shell.note",
}
SILENT = (
    "epoch 3 step 100 loss 2.1",
    "node1:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
    "Avg prompt throughput: 187.9 tokens/s, Running: 64 reqs, Waiting: 12 reqs",
    "waiting for peers (3 s)",
)


def kinds(log: str) -> list[str]:
    return [event.kind for event in LogReader().read("a.log", [log.encode()])]


@pytest.mark.parametrize(("line", "kind"), REMARKS.items())
def test_a_remark_is_read(line: str, kind: str) -> None:
    assert kind in kinds(line)


@pytest.mark.parametrize("line", SILENT)
def test_other_lines_are_no_remarks(line: str) -> None:
    assert not {"job.nothing-more", "job.stalled", "job.at-work", "bench.below"} & set(kinds(line))


def test_the_frames_of_one_stack_belong_together() -> None:
    dump = "Thread 240 (active): on rank {}\n    forward (model.py:245)\n    barrier (distributed_c10d.py:7)\n"
    events = list(LogReader().read("a.log", [(dump.format(0) + dump.format(3)).encode()]))
    frames = [(event.rank, event.get("function")) for event in events if event.kind == "job.stack"]
    assert frames == [(0, "forward"), (0, "barrier"), (3, "forward"), (3, "barrier")]
