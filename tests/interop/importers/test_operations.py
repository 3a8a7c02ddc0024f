"""Where the operation is taken from: the output, a command line, the name of the file, else the user."""

import pytest

from nccltool.core.errors import BadInput
from tests.interop.importers import samples
from tests.interop.importers.test_torn import read

OLD = samples.data("all_reduce-2.13.txt").decode()


@pytest.mark.parametrize(
    ("text", "name", "op", "source"),
    [
        (f"+ mpirun -np 8 ./build/reduce_scatter_perf -b 8 -e 16G\n{OLD}", "out.txt", "reduce_scatter", "line 1"),
        (f"$ /opt/alltoall_perf_mpi -b 1G\n{OLD}", "all_reduce.txt", "all_to_all", "line 1"),
        (OLD, "allreduce_16nodes.log", "all_reduce", "the file name"),
        (OLD, "jobs/all_reduce/AllGather-8.txt", "all_gather", "the file name"),
        (OLD, "send-recv.out", "send_recv", "the file name"),
        (OLD, "allreduce/two_nodes/job02.sh.71.nccl", "all_reduce", "the name of its folder"),
        (OLD, "bcast/one_node/job04.sh.72.nccl", "broadcast", "the name of its folder"),
        (OLD, "broadcast/allgather/job.out", "all_gather", "the name of its folder"),
    ],
)
def test_the_operation_is_taken_from_what_is_there(text: str, name: str, op: str, source: str) -> None:
    (test,) = read(text, name)
    assert test.op == op
    assert any(source in line and "the operation was taken from" in line for line in test.said)


@pytest.mark.parametrize("name", ["out.txt", "all_reduce_and_all_gather.txt", "preduced.txt"])
def test_an_operation_that_nobody_names_is_asked_for(name: str) -> None:
    with pytest.raises(BadInput) as raised:
        read(OLD, name)
    assert raised.value.remedy == "pass the operation, for example --op all_reduce"
