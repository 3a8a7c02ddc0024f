"""Hosts and communicators, as the lines of NCCL show them."""

from tests.triage.test_judge import timeline_of


def test_a_communicator_that_was_never_complete() -> None:
    line = "n1:{0}:9 [0] NCCL INFO comm 0xa{0} rank {0} nranks 3 cudaDev 0 busId {0} commId 0x9 - Init {1}\n"
    timeline = timeline_of(*(line.format(rank, "START") for rank in (0, 1, 2)), line.format(0, "COMPLETE"))
    (known,) = timeline.communicators
    assert (known.id, known.size, sorted(known.started - known.completed)) == ("0x9", 3, [1, 2])
