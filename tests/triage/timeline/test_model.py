"""What a timeline knows beyond its events."""

from tests.triage.test_judge import timeline_of


def test_a_rank_is_known_by_its_process() -> None:
    timeline = timeline_of(
        "n1:77:80 [3] NCCL INFO comm 0x1 rank 11 nranks 16 cudaDev 3 busId 1 commId 0x9 - Init START\n"
        "n1:77:81 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'\n"
    )
    (event,) = timeline.of("cuda.oom")
    assert (event.rank, timeline.rank_of(event)) == (None, 11)
