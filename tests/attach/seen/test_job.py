"""A look at a job can be sent and saved, and knows its ranks."""

import msgspec

from nccltool.attach.seen.job import HostLook, HostSample, JobLook, RankSample, Unread
from nccltool.attach.seen.process import ProcessState, StackFrame, ThreadStack
from nccltool.attach.seen.ranks import RankFound
from nccltool.attach.seen.sources import GroupStatus, RecorderSeen

_STACK = ThreadStack(
    pid=7, name="MainThread", trains=True, frames=(StackFrame(name="main", file="train.py", line=3),)
)
_SAMPLE = HostSample(
    at_s=1.5,
    wall_s=1e9,
    ranks=(
        RankSample(pid=7, process=ProcessState(pid=7, name="python", state="S", parent=1), stacks=(_STACK,)),
        RankSample(pid=8, process=None),
    ),
)
_JOB = JobLook(
    hosts=(
        HostLook(
            host="n1",
            ranks=(RankFound(host="n1", pid=7, rank=0, world_size=4), RankFound(host="n1", pid=8, rank=1)),
            samples=(_SAMPLE,),
            recorders=(
                RecorderSeen(rank=0, source="/tmp/r0", written_at_s=None, groups=(GroupStatus(group="0"),)),
            ),
        ),
        HostLook(host="n2", ranks=(RankFound(host="n2", pid=9, rank=2, world_size=4),), samples=()),
    ),
    unreached=(Unread(what="n3", reason="timed out"),),
)


def test_a_look_survives_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(_JOB), type=JobLook) == _JOB


def test_the_world_is_what_most_ranks_name() -> None:
    assert [(host.host, rank.pid) for host, rank in _JOB.ranks()] == [("n1", 7), ("n1", 8), ("n2", 9)]
    assert _JOB.world_size == 4
    assert JobLook(hosts=()).world_size is None


def test_a_sample_is_found_by_pid() -> None:
    assert _SAMPLE.of(8) == RankSample(pid=8, process=None)
    assert _SAMPLE.of(9) is None
