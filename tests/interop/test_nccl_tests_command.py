"""Commands of nccl-tests in the words of probe, and what probe says to options of nccl-tests."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import nccl_tests_command
from nccltool.interop.nccl_tests_command import refusal, translate
from nccltool.probe import options as probe_options
from tests.support.options import of_probe

LETTERS = "tgbeifnmwNpIKcodrzyTGCaRxDVJSMu"
"""Of getopt_long in nccl-tests 2.19.6, but -h."""
TAIL = "-n 20 -w 1 --format nccl-tests"


@pytest.mark.parametrize(
    ("command", "before", "options"),
    [
        ("all_reduce_perf", "", f"--op all_reduce --nproc-per-node 1 -b 32M -e 32M {TAIL}"),
        (
            "./build/all_reduce_perf -b 8 -e 128M -f 2 -g 8",
            "",
            f"--op all_reduce --nproc-per-node 8 -b 8 -e 128M -f 2 {TAIL}",
        ),
        (
            "mpirun -np 16 -x NCCL_DEBUG=INFO ./all_reduce_perf_mpi -b 8 -e 128M -f 2 -g 1 -n 20 -w 5 -c 1 -o sum "
            "-d float -t 1",
            "mpirun -np 16 -x NCCL_DEBUG=INFO",
            "--op all_reduce -b 8 -e 128M -f 2 -d float -o sum -n 20 -w 5 --format nccl-tests",
        ),
        (
            "srun -N 2 -p probe /opt/reduce_scatter_perf -b8 -e8G -f2",
            "srun -N 2 -p probe",
            f"--op reduce_scatter -b 8 -e 8G -f 2 {TAIL}",
        ),
        (
            "NCCL_ALGO=Ring alltoall_perf -t 2 -g 4 -e 64M -c 0",
            "NCCL_ALGO=Ring",
            f"--op all_to_all --nproc-per-node 8 -b 32M -e 64M -i 1M -c 0 {TAIL}",
        ),
        (
            "sendrecv_perf --minbytes=1M --maxbytes 4M --stepb 1M -o max --datatype half -b 2M",
            "",
            f"--op send_recv --nproc-per-node 1 -b 2M -e 4M -i 1M -d half {TAIL}",
        ),
        (
            "all_gather_perf -z 3 -T 60 -J out.json -f 1",
            "",
            "--op all_gather --nproc-per-node 1 -b 32M -e 32M -n 20 -w 1 --cadence isolated --timeout 60 "
            "--format nccl-tests-json --output out.json",
        ),
    ],
)
def test_commands(command: str, before: str, options: str) -> None:
    found = translate(command.split())
    assert (" ".join(found.before), " ".join(found.options)) == (before, options)
    assert found.words == (*found.before, "nccltool", "probe", *found.options)
    order = probe_options.from_options(of_probe(*found.options, "--backend", "nccl"), {})
    assert order.job.placement == "both"


@pytest.mark.parametrize(
    ("options", "differences"),
    [
        ("-b 8 -e 1G -f 2 -g 8 -n 5 -w 1 -c 1 -o sum -d float", []),
        ("-m 1 -N 1 -p 1 -a 3 -I 0 -K 0 -z 3 -y 0 -G 0 -C 0 -R 0 -D 0 -V 16 -S 0 -M 0 -u 0 -r 0", []),
        ("-r 3", ["-r 3: the root is rank 0"]),
        ("--blocking 1", ["-z 1: the ranks synchronize outside the time, as with -z 3"]),
        ("-G 4", ["-G 4: a graph has one call and is replayed -n times"]),
        ("-R 2 -u 4", ["-R 2: buffers are not registered", "-u 4: buffers are aligned"]),
        ("-a 1", ["-a 1: the time is that of the slowest rank, as with -a 3"]),
    ],
)
def test_differences_are_said(options: str, differences: list[str]) -> None:
    assert list(translate(["all_reduce_perf", *options.split()]).differences) == differences


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ls -l", "no program of nccl-tests in the command"),
        ("hypercube_perf -b 8", "probe has no operation for hypercube_perf"),
        ("alltoallv_perf", "probe has no operation for alltoallv_perf"),
        ("all_reduce_perf -Q", "nccl-tests: option -Q not recognized"),
        ("all_reduce_perf --iter", "nccl-tests: option --iters requires argument"),
        ("all_reduce_perf -b 8 foo", "unexpected 'foo'"),
        ("mpirun -H n1\x1b[2J all_reduce_perf", r"'n1\x1b[2J' has a character that cannot be printed"),
        ("all_reduce_perf -h", "all_reduce_perf -h measures nothing"),
        ("all_reduce_perf -g 0", "-g 0: expected a whole number of at least 1"),
        ("all_reduce_perf -z 1 -G 1", "-z and -G: probe cannot combine them"),
        (
            "mpirun -np 2 all_reduce_perf -g 4 -t 2",
            "-g and -t ask for 8 GPUs per process; under mpirun, each rank is a process with one GPU",
        ),
    ],
)
def test_what_cannot_be_translated(command: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        translate(command.split())
    assert error.value.message == message
    assert error.value.remedy


def test_the_words_of_nccl_tests_are_taken_as_they_are() -> None:
    words = [*("-b", "8", "-e", "128M", "-f", "2", "-g", "1", "-n", "20", "-w", "5"), *("-c", "1", "-o", "sum")]
    words += ["-d", "float", "-t", "1"]
    asked = of_probe(*words)
    assert (asked.min_bytes, asked.max_bytes, asked.step_factor, asked.iterations) == ("8", "128M", 2.0, 20)
    with pytest.raises(BadInput, match="-g is an option of nccl-tests"):
        of_probe(*words[:-2], "-g", "8")


@pytest.mark.parametrize("letter", LETTERS)
def test_every_letter_means_the_same_in_probe_or_is_refused(letter: str) -> None:
    """What both have is what nccl-tests means by it."""
    refused = refusal(f"-{letter}")
    try:
        of_probe(f"-{letter}", "2")
    except BadInput as error:
        assert refused is not None
        assert (error.message, error.remedy) == (refused.message, refused.remedy)
        assert f"-{letter} is an option of nccl-tests" in error.message
    else:
        assert letter in nccl_tests_command._SAME


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("--ngpus", "omit it under mpirun or srun; elsewhere, use --nproc-per-node"),
        ("--iters", "use -n"),
        ("--cudagraph", "--cuda-graph"),
    ],
)
def test_long_names(name: str, remedy: str) -> None:
    with pytest.raises(BadInput) as error:
        of_probe(name, "1")
    assert error.value.message.startswith(f"{name} is an option of nccl-tests")
    assert error.value.remedy == remedy
    assert refusal("--foo") is None
