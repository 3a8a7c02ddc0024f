"""What to do depends on what was reported: by the driver of a GPU, or of the end of a job."""

import pytest

from nccltool.triage.causes import gpu_fault, preempted
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder
from nccltool.triage.timeline.model import Timeline


def timeline(*lines: str) -> Timeline:
    reader, builder = LogReader(), TimelineBuilder()
    for event in reader.read("a.log", ["\n".join(lines).encode()]):
        builder.add(event)
    return builder.timeline(reader.lines_read)


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("NVRM: Xid (PCI:0000:04:00): 79, pid=8121, GPU has fallen off the bus.", "cannot be reset"),
        ("NVRM: Xid (PCI:0000:04:00): 31, pid=8121, MMU Fault: ENGINE GRAPHICS", "compute-sanitizer"),
        ("NVRM: Xid (PCI:0000:04:00): 13, Graphics SM Warp Exception", "compute-sanitizer"),
        ("NVRM: Xid (PCI:0000:04:00): 62, pid=8121, internal micro-controller halt", ""),
    ],
)
def test_what_to_do_depends_on_the_xid(line: str, advice: str) -> None:
    told = gpu_fault.remedy(timeline("step 1 loss 2.0", line))
    assert advice in told if advice else told == ""


@pytest.mark.parametrize(
    ("line", "signal", "advice"),
    [
        ("W1124 20:00:01.0 77 torch/x/agent.py:900] Received 2 death signal, shutting down", "SIGINT", "Ctrl-C"),
        ("torch.distributed.x.SignalException: Process 77 got signal: 2", "SIGINT", "Ctrl-C"),
        ("torch.distributed.x.SignalException: Process 77 got signal: 1", "SIGHUP", ""),
        ("torch.distributed.x.SignalException: Process 77 got signal: 15", "SIGTERM", ""),
    ],
)
def test_the_signal_that_ended_a_job_is_named(line: str, signal: str, advice: str) -> None:
    told = timeline("step 1 loss 2.0", "step 2 loss 1.9", line)
    assert f"the job received {signal}" in [clue.why for clue in preempted.clues(told)]
    remedy = preempted.remedy(told)
    assert advice in remedy if advice else remedy == ""
