"""nccltool nccl-tests: the command on standard output, what differs beside it."""

import shlex

import pytest

from tests.conftest import Nccltool


def test_the_command_is_printed(nccltool: Nccltool) -> None:
    words = "mpirun -np 16 -x 'A=b c' ./all_reduce_perf -b 8 -e 8G -f 2 -g 1 -G 2 -o avg -d int32 -R 1"
    said = nccltool("nccl-tests", *shlex.split(words))
    assert (said.code, said.out) == (
        0,
        "mpirun -np 16 -x 'A=b c' nccltool probe --op all_reduce -b 8 -e 8G -f 2 -d int32 -o avg -n 20 -w 1 "
        "--cuda-graph --format nccl-tests\n",
    )
    assert said.err == (
        "differs: -G 2: a graph has one call and is replayed -n times\ndiffers: -R 1: buffers are not registered\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("all_reduce_perf -d all", "--dtype: unknown type 'all'"),
        ("all_reduce_perf -o mulsum", "--reduce-op: unknown reduction 'mulsum'"),
        ("all_reduce_perf -b x", "--min-bytes: 'x' is not a size"),
        ("all_reduce_perf -b 1G -e 1M", "-b 1G is above -e 1M"),
        ("all_reduce_perf -n 0", "--iterations 0: expected a whole number from 1 to 1000000"),
        ("all_reduce_perf -T x", "--timeout x: expected a number of at least 1"),
        ("", "missing "),
    ],
)
def test_what_probe_would_refuse(nccltool: Nccltool, words: str, message: str) -> None:
    said = nccltool("nccl-tests", *words.split())
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"Error: {message}"), said.err
