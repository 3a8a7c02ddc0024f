"""Which cause the lines point at that no dialect knows."""

import pytest

from nccltool.triage.incident import RankedCauses
from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder


def judged(log: str) -> RankedCauses:
    reader, builder = LogReader(), TimelineBuilder()
    builder.take(reader.read("a.log", [log.encode()]))
    return judge(builder.timeline(reader.lines_read))


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("ERROR quux: the transceiver of port 7 is bad\n", "ib-link"),
        ("quux: the site's plugin cannot be used here\n", "plugin"),
        ("FATAL quux: frobnication failed\n", "other"),
        ("quux: frobnication failed\n", "none"),
        ("INFO quux: the transceiver of port 7 is bad\n", "none"),
        ("quux: the site's plugin cannot be used, falling back to sockets\n", "none"),
        ("ERROR quux: the transceiver of port 7 is bad\nstep 10 loss 2.1\nstep 11 loss 2.0\n", "none"),
        ("step 10 loss 2.1\nERROR quux: the transceiver of port 7 is bad\n", "ib-link"),
    ],
)
def test_an_unknown_line_counts_where_nothing_went_on_behind_it(log: str, cause: str) -> None:
    assert judged(log).root_cause == cause


def test_a_known_line_outweighs_an_unknown_one() -> None:
    known = "n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=4, GPU has fallen off the bus.\n"
    assert judged(f"ERROR quux: the transceiver of port 7 is bad\n{known}").root_cause == "gpu-fault"
