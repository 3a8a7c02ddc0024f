"""From the words of the command line to a job, and to the sentence about each word that cannot be used."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.hosts import gpu
from nccltool.launch.launchers import base
from nccltool.launch.order import LaunchOrder
from nccltool.probe import collectives
from nccltool.probe import options as probe_options
from nccltool.probe.dtypes import ELEMENT_SIZE
from nccltool.probe.job import ProbeJob, Sizes
from tests.support.options import of_probe

NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}
MIB = 2**20

ANYHOW = base.worker_here((0,), "how it is started is tested in test_launching")
PLAIN = LaunchOrder(
    job=ProbeJob(run_id="", ops=collectives.IN_ALL, nodes=1, nproc_per_node=2, node_ranks=(0,)),
    leads=True,
    ranks_seen=2,
    launch=ANYHOW,
)
TWO_NODES = replace(
    PLAIN, job=replace(PLAIN.job, nodes=2, nproc_per_node=1, node_ranks=(0, 1), emulated=True), ranks_seen=2
)


def ordered(words: str, env: Mapping[str, str] = NO_GPU, fault: str = "") -> LaunchOrder[ProbeJob]:
    """What the words mean, without the id of the run, which is new each time."""
    order = probe_options.from_options(of_probe(*words.split(), fault=fault), env)
    assert order.job.run_id
    return replace(order, job=replace(order.job, run_id=""), launch=ANYHOW)


def job(**changes: Any) -> LaunchOrder[ProbeJob]:
    """The plain order with another job."""
    return replace(PLAIN, job=replace(PLAIN.job, **changes))


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ("", PLAIN),
        ("--op all", PLAIN),
        ("--op all_reduce", job(ops=("all_reduce",))),
        ("--op gather,all_reduce,gather", job(ops=("gather", "all_reduce"))),
        ("--op all-reduce", job(ops=("all_reduce",))),
        ("-b 8", job(sizes=Sizes(first=8))),
        ("-b 8 -e 64M -f 2", job(sizes=Sizes(first=8, last=64 * MIB, factor=2))),
        ("-b 1M -e 4M -i 1M", job(sizes=Sizes(first=MIB, last=4 * MIB, step=MIB))),
        ("-b 8 -e 8", job(sizes=Sizes(first=8, last=8))),
        ("--sizes 8,1KiB,1.5MiB", job(sizes=Sizes(listed=(8, 1024, 3 * MIB // 2)))),
        ("-d half -o max", job(dtype="float16", reduce_op="max")),
        ("-d float", PLAIN),
        ("-d bfloat16 -o avg", job(dtype="bfloat16", reduce_op="avg")),
        ("-d float8_e5m2 --op send_recv", job(dtype="float8_e5m2", ops=("send_recv",))),
        ("-d int32 -o avg --backend nccl", job(dtype="int32", reduce_op="avg", backend="nccl")),
        ("-n 7 -w 0 -c 3", job(iterations=7, warmup=0, checks=3)),
        ("--precision 5 --budget 2", job(precision=0.05, budget_s=2.0)),
        ("--cadence isolated --placement both", job(cadence="isolated", placement="both")),
        ("--format nccl-tests", job(placement="both")),
        ("--format nccl-tests-json", job(placement="both")),
        ("--format nccl-tests --placement natural", PLAIN),
        ("--format json", PLAIN),
        ("--backend gloo", job(backend="gloo")),
        ("--timeout 5 --join-timeout 6 --deadline 7", job(timeout_s=5.0, join_timeout_s=6.0, deadline_s=7.0)),
        ("--nproc-per-node auto", PLAIN),
        ("--op all_to_all_v", job(ops=("all_to_all_v",))),
        (
            "--op all_to_all_v,gather --skew zipf:1.10,uniform",
            job(ops=("all_to_all_v:zipf:1.1", "all_to_all_v", "gather")),
        ),
        ("--nproc-per-node 3", replace(job(nproc_per_node=3), ranks_seen=3)),
        ("--nodes 1 --nproc-per-node 1", replace(job(nproc_per_node=1), ranks_seen=1)),
        ("--nodes 2", TWO_NODES),
        (
            "--nodes 3 --nproc-per-node 4",
            replace(job(nodes=3, nproc_per_node=4, node_ranks=(0, 1, 2), emulated=True), ranks_seen=12),
        ),
        (
            "--nodes 2 --nproc-per-node 4 --node-rank 0 --rdzv-endpoint node1:29500",
            replace(job(nodes=2, nproc_per_node=4, node_ranks=(0,), endpoint="node1:29500"), ranks_seen=8),
        ),
        (
            "--nodes 2 --nproc-per-node 4 --node-rank 1 --rdzv-endpoint node1:29500",
            LaunchOrder(
                launch=ANYHOW,
                job=replace(PLAIN.job, nodes=2, nproc_per_node=4, node_ranks=(1,), endpoint="node1:29500"),
                leads=False,
                ranks_seen=4,
            ),
        ),
    ],
)
def test_words(words: str, order: LaunchOrder[ProbeJob]) -> None:
    assert ordered(words) == order


def test_what_auto_means_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "count", lambda env: 8)
    with pytest.raises(BadInput) as error:
        ordered("-d float8_e5m2 --op reduce")
    assert error.value.message.startswith("-d float8_e5m2 -o sum: nccl cannot run reduce on float8_e5m2: ")


def test_a_reduction_is_no_operation() -> None:
    with pytest.raises(BadInput) as error:
        ordered("--op sum")
    assert (error.value.message, error.value.remedy) == ("--op: sum is a reduction", "use -o sum")


def test_every_run_has_its_own_id() -> None:
    ids = {probe_options.from_options(of_probe(), NO_GPU).job.run_id for _ in range(8)}
    assert len(ids) > 1


def test_a_drill_comes_from_the_environment() -> None:
    assert ordered("", fault="kill:rank=0") == job(fault="kill:rank=0")


@pytest.mark.parametrize(
    ("words", "nproc", "dtype"),
    [
        ("", 8, "float32"),
        ("--nodes 2", 4, "float32"),
        ("--nproc-per-node 2", 2, "float32"),
        ("-d int8 -o avg", 8, "int8"),
    ],
)
def test_with_gpus_there_is_a_rank_for_each(
    words: str, nproc: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "count", lambda env: 8)
    order = ordered(words)
    assert (order.job.nproc_per_node, order.job.dtype) == (nproc, dtype)


NAMES = ", ".join(collectives.NAMES)
CHOOSE = f"choose from {NAMES}"
TYPES = ", ".join(ELEMENT_SIZE)
TOGETHER = "use on every host: --node-rank R --rdzv-endpoint HOST:PORT"
SIZE = "write bytes with an optional unit: 8, 64K, 1MiB, 2G"


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (
            "--op all_redcue",
            "--op: unknown operation 'all_redcue'",
            f"did you mean all_reduce? choose from {NAMES}",
        ),
        ("--op all_reduce,xyz", "--op: unknown operation 'xyz'", f"choose from {NAMES}"),
        ("--op all,gather", "--op: unknown operation 'all'", None),
        ("--op ,", "--op: unknown operation ''", f"choose from {NAMES}"),
        ("--skew one-hot", "--skew does not apply to all_reduce, all_gather, reduce_scatter and 7 more", None),
        ("--op all_to_all --skew uniform", "--skew does not apply to all_to_all", "use --op all_to_all_v"),
        ("--op all_to_all_v --skew zip:1", "--skew: 'zip:1' is not a skew", None),
        ("--op all_to_all_v --skew uniform,", "--skew: '' is not a skew", None),
        ("--op all_to_all_v --skew zipf", "--skew: 'zipf' has no exponent above 0 and up to 10", "write zipf:1.1"),
        (
            "--op all_to_all_v --skew zipf:1,zipf:2,zipf:3,zipf:4,zipf:5,zipf:6,zipf:7,zipf:8,zipf:9",
            "--skew: 9 skews are too many",
            "use at most 8 at a time",
        ),
        ("-d bogus", "--dtype: unknown type 'bogus'", f"choose from {TYPES}"),
        ("-d floot32", "--dtype: unknown type 'floot32'", f"did you mean float32? choose from {TYPES}"),
        ("-o median", "--reduce-op: unknown reduction 'median'", None),
        (
            "-d int32 -o avg",
            "-d int32 -o avg: gloo cannot average int32: use -o sum or a floating-point type",
            None,
        ),
        (
            "-d int32 -o avg --backend gloo",
            "-d int32 -o avg: gloo cannot average int32: use -o sum or a floating-point type",
            None,
        ),
        (
            "-d float8_e5m2",
            "-d float8_e5m2 -o sum: gloo cannot run all_reduce on float8_e5m2: use --op send_recv,ping_pong",
            "choose another -d, -o, or --op",
        ),
        ("-b banana", "--min-bytes: 'banana' is not a size", SIZE),
        ("-b 0", "--min-bytes: a size of 0 bytes measures nothing", "start at 8 bytes: -b 8"),
        ("-e 1.5", "--max-bytes: '1.5' is not a whole number of bytes", "use a smaller unit"),
        ("-b 2M -e 1M", "-b 2M is above -e 1M", "swap them"),
        ("-i x", "--step-bytes: 'x' is not a size", SIZE),
        ("-i 0", "--step-bytes: a size of 0 bytes measures nothing", None),
        ("-i 1M -f 2", "-i and -f cannot be combined", "use -f 2 to multiply or -i 1MiB to add"),
        ("-b 8 -e 1G -i 8", "-i 8 makes more than 10000 sizes", "use a larger -i or -f 2"),
        ("-i 8", "-i 8 makes more than 10000 sizes", "use a larger -i or -f 2"),
        ("--sizes 8,big", "--sizes: 'big' is not a size", SIZE),
        ("--sizes 8,", "--sizes: '' is not a size", SIZE),
        ("--sizes 0", "--sizes: a size of 0 bytes measures nothing", None),
        (
            "--sizes 8,10",
            "--sizes: 10 B is not a whole number of float32 elements of 4 B",
            "use a multiple of 4 or another -d",
        ),
        (
            "-b 4 -d double",
            "-b: 4 B is not a whole number of float64 elements of 8 B",
            "use a multiple of 8 or another -d",
        ),
        (
            "-b 8 -e 64 -i 2",
            "-i: 2 B is not a whole number of float32 elements of 4 B",
            "use a multiple of 4 or another -d",
        ),
        ("--sizes 8 -b 8", "--sizes cannot be combined with -b, -e, -f, or -i", "use one or the other"),
        ("--sizes 8 -f 2", "--sizes cannot be combined with -b, -e, -f, or -i", "use one or the other"),
        (
            "--nproc-per-node 0",
            "--nproc-per-node '0' is not a number of ranks",
            "use --nproc-per-node 8 or --nproc-per-node auto",
        ),
        ("--nproc-per-node two", "--nproc-per-node 'two' is not a number of ranks", None),
        ("--nproc-per-node -1", "--nproc-per-node '-1' is not a number of ranks", None),
        ("--node-rank 0", "--node-rank also needs --rdzv-endpoint", TOGETHER),
        ("--rdzv-endpoint node1:29500", "--rdzv-endpoint also needs --node-rank", TOGETHER),
        (
            "--nodes 2 --node-rank 0 --rdzv-endpoint node1",
            "--rdzv-endpoint 'node1' is not HOST:PORT",
            "for example --rdzv-endpoint node1:29500",
        ),
        (
            "--nodes 2 --node-rank 2 --rdzv-endpoint node1:29500",
            "--node-rank 2 must be less than --nodes 2",
            "node ranks run from 0 to N-1",
        ),
        ("--node-rank 1 --rdzv-endpoint node1:29500", "--node-rank 1 must be less than --nodes 1", None),
        ("--cuda-graph", "--cuda-graph needs NCCL or RCCL, and a GPU on every rank", "omit it on CPUs"),
        (
            "--cuda-graph --backend gloo",
            "--cuda-graph needs NCCL or RCCL, and a GPU on every rank",
            "omit it on CPUs",
        ),
    ],
)
def test_a_word_that_cannot_be_used(words: str, message: str, remedy: str | None) -> None:
    with pytest.raises(BadInput) as error:
        ordered(words)
    assert error.value.message == message
    assert error.value.remedy
    assert remedy in (None, error.value.remedy)


@pytest.mark.parametrize(
    ("words", "ops", "dtype", "reduce_op"),
    [
        ("--op allreduce,all-gather,AllToAll", ("all_reduce", "all_gather", "all_to_all"), "float32", "sum"),
        ("--op reducescatter,all_reduce,allreduce", ("reduce_scatter", "all_reduce"), "float32", "sum"),
        ("--op sendrecv,ping-pong", ("send_recv", "ping_pong"), "float32", "sum"),
        ("--op broadcast -d bf16 -o AVG", ("broadcast",), "bfloat16", "avg"),
        ("--op broadcast -d fp16 -o mean", ("broadcast",), "float16", "avg"),
        ("--op broadcast -d f32 -o product", ("broadcast",), "float32", "prod"),
        ("--op broadcast -d half", ("broadcast",), "float16", "sum"),
        ("--op broadcast -d torch.float64", ("broadcast",), "float64", "sum"),
        ("--op sendrecv -d f8e4m3", ("send_recv",), "float8_e4m3fn", "sum"),
    ],
)
def test_other_spellings_become_the_name(words: str, ops: tuple[str, ...], dtype: str, reduce_op: str) -> None:
    made = ordered(words).job
    assert (made.ops, made.dtype, made.reduce_op) == (ops, dtype, reduce_op)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sizes", ""], "--sizes: '' is not a size"),
        (["--op", ""], "--op: unknown operation ''"),
        (["-d", ""], "--dtype: unknown type ''"),
        (["--node-rank", "0", "--rdzv-endpoint", ""], "--node-rank also needs --rdzv-endpoint"),
    ],
)
def test_an_empty_word(words: list[str], message: str) -> None:
    with pytest.raises(BadInput) as error:
        probe_options.from_options(of_probe(*words), NO_GPU)
    assert error.value.message == message


def test_a_bad_drill() -> None:
    with pytest.raises(BadInput) as error:
        ordered("", fault="explode")
    assert error.value.message == "NCCLTOOL_FAULT: 'explode' is not an action"


def test_cuda_graphs_and_isolated_calls_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "count", lambda env: 8)
    assert ordered("--cuda-graph").job.cuda_graph
    with pytest.raises(BadInput) as error:
        ordered("--cuda-graph --cadence isolated")
    assert error.value.message == "--cuda-graph cannot be combined with --cadence isolated"


def rank(number: int) -> dict[str, str]:
    """The environment of one of four ranks of torchrun on two nodes."""
    return {
        **NO_GPU,
        "RANK": str(number),
        "WORLD_SIZE": "4",
        "LOCAL_RANK": str(number % 2),
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_RANK": str(number // 2),
        "MASTER_ADDR": "node-a",
        "MASTER_PORT": "29500",
    }


LAUNCHED = ProbeJob(run_id="", ops=collectives.IN_ALL, node_ranks=())


@pytest.mark.parametrize(
    ("words", "number", "order"),
    [
        ("", 0, LaunchOrder(launch=ANYHOW, job=LAUNCHED, leads=True, ranks_seen=4)),
        ("", 3, LaunchOrder(launch=ANYHOW, job=LAUNCHED, leads=False, ranks_seen=1, part=3)),
        (
            "--nodes 2 --nproc-per-node 2",
            1,
            LaunchOrder(
                launch=ANYHOW, job=replace(LAUNCHED, nodes=2, nproc_per_node=2), leads=False, ranks_seen=1, part=1
            ),
        ),
        ("--nproc-per-node auto", 0, LaunchOrder(launch=ANYHOW, job=LAUNCHED, leads=True, ranks_seen=4)),
        (
            "--rdzv-endpoint node-b:1",
            0,
            LaunchOrder(launch=ANYHOW, job=replace(LAUNCHED, endpoint="node-b:1"), leads=True, ranks_seen=4),
        ),
    ],
)
def test_inside_a_job_the_command_is_one_rank(words: str, number: int, order: LaunchOrder[ProbeJob]) -> None:
    assert ordered(words, rank(number)) == order


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--node-rank 0", "--node-rank has no meaning in a job started by torchrun"),
        ("--nproc-per-node x", "--nproc-per-node 'x' is not a number of ranks"),
        ("--rdzv-endpoint node-b", "--rdzv-endpoint 'node-b' is not HOST:PORT"),
    ],
)
def test_a_word_that_cannot_be_used_inside_a_job(words: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        ordered(words, rank(0))
    assert error.value.message == message


@pytest.mark.parametrize(
    ("words", "lines", "message"),
    [
        ("--nodes 1 --nproc-per-node 2 --split rail", "", "--split rail: with one node, each rail has one rank"),
        (
            "--nodes 3 --nproc-per-node 2 --split FILE",
            "0-1\n2\n",
            "--split FILE: at least two groups of two or more ranks are needed",
        ),
        ("--nodes 3 --nproc-per-node 2 --split FILE", "0-1\n2-99\n", "--split FILE line 2: there is no rank 6"),
    ],
)
def test_groups_that_cannot_be_made_are_known_before(
    words: str, lines: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text(lines)
    with pytest.raises(BadInput) as error:
        ordered(words)
    assert error.value.message.startswith(message)
