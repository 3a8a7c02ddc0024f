"""Who stood in which collective, as stacks show it."""

import pytest

from tests.triage.test_judge import timeline_of

IN = "rank{}: py-spy: all_reduce (torch/distributed/distributed_c10d.py:2776)\n"


@pytest.mark.parametrize(
    ("frame", "operation", "waits"),
    [
        ("rank0: py-spy: all_reduce (torch/distributed/distributed_c10d.py:2776)", "allreduce", True),
        ("rank0: py-spy: _store_based_barrier (distributed_c10d.py:469)", "barrier", True),
        ("rank0: py-spy: synchronize (torch/cuda/__init__.py:954)", "", True),
        ("rank0: py-spy: tokenize (data.py:12)", "", False),
    ],
)
def test_a_frame_tells_whether_its_process_waits(frame: str, operation: str, waits: bool) -> None:
    (stack,) = timeline_of(frame + "\n").stacks
    assert (stack.rank, stack.operation, stack.waits) == (0, operation, waits)


def test_each_process_has_its_stack() -> None:
    assert [stack.rank for stack in timeline_of(IN.format(0) + IN.format(3)).stacks] == [0, 3]


OF_PROCESS = 'Thread {} (idle): "MainThread"\n    barrier (torch/distributed/distributed_c10d.py:4818)\n'
ENDED = "E torch: failed (exitcode: 1) local_rank: 2 (pid: {}) of binary: /usr/bin/python\n"


@pytest.mark.parametrize(
    ("log", "ranks"),
    [
        (OF_PROCESS.format(4101) + OF_PROCESS.format(4100), [1, 0]),  # started one after the other
        (OF_PROCESS.format(4101) + OF_PROCESS.format(4190), [None, None]),
        ("world_size=4\n" + OF_PROCESS.format(4101) + OF_PROCESS.format(4100), [None, None]),  # two are missing
        (OF_PROCESS.format(4101) + ENDED.format(4101), [2]),
        ("Process 71: sglang::scheduler_TP3\n" + OF_PROCESS.format(71), [3]),
        ("Process 71: python train.py\n" + OF_PROCESS.format(71), [None]),
    ],
)
def test_the_rank_of_a_process(log: str, ranks: list[int | None]) -> None:
    assert [stack.rank for stack in timeline_of(log).stacks] == ranks
