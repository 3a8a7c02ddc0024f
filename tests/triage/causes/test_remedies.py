"""What to do about a GPU depends on what the driver reported."""

import pytest

from nccltool.triage.causes import gpu_fault
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
