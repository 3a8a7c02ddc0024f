"""From a job to its steps."""

import pytest

from nccltool.probe import collectives, plan
from nccltool.probe.collectives.base import Layout
from nccltool.probe.job import ProbeJob, Sizes
from nccltool.probe.memory import Room
from nccltool.probe.plan import Step
from nccltool.probe.split import Split
from tests.samples import job

KIB, MIB, GIB = 2**10, 2**20, 2**30


@pytest.mark.parametrize(
    ("sizes", "backend", "wanted"),
    [
        (Sizes(), "gloo", (KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB)),
        (Sizes(first=64 * MIB), "nccl", (64 * MIB, 256 * MIB, GIB)),
        (Sizes(first=32 * MIB), "gloo", (32 * MIB,)),
        (Sizes(last=512), "gloo", (512,)),
        (Sizes(last=5 * KIB), "gloo", (KIB, 4 * KIB)),
        (Sizes(first=8, last=64, factor=2), "gloo", (8, 16, 32, 64)),
        (Sizes(first=8, last=8), "gloo", (8,)),
        (Sizes(first=MIB, last=4 * MIB, step=MIB), "gloo", (MIB, 2 * MIB, 3 * MIB, 4 * MIB)),
        (Sizes(first=10, last=25, step=10), "gloo", (10, 20)),
        (Sizes(listed=(64, 8, 64)), "gloo", (64, 8, 64)),
    ],
)
def test_sizes(sizes: Sizes, backend: str, wanted: tuple[int, ...]) -> None:
    assert plan.sizes_in_bytes(sizes, backend) == wanted


def test_groups_run_the_same_at_the_same_time() -> None:
    split = Split(by="file", word="f", also_alone=True)
    ordered = job(ops=("all_gather", "all_reduce"), sizes=Sizes(listed=(64,)), split=split)
    rounds = plan.rounds(ordered, "gloo", [2, 8])
    shown = [tuple(step and (step.index, step.op, step.layout.bytes) for step in one.steps) for one in rounds]
    assert shown == [
        ((0, "all_gather", 64), None),  # 64 B are less than 16 B for each of eight ranks
        ((1, "all_reduce", 64), (2, "all_reduce", 64)),
        ((3, "all_reduce", 64), None),
        (None, (4, "all_reduce", 64)),
    ]
    assert [one.is_alone for one in rounds] == [True, False, True, True]


def test_every_operation_at_every_size_in_order() -> None:
    ordered = job(ops=("broadcast", "all_gather"), sizes=Sizes(listed=(64, 1024)))
    assert plan.steps(ordered, "gloo", 4) == (
        Step(0, "broadcast", "in-place", Layout(16, 16, 16, 64, 64)),
        Step(1, "broadcast", "in-place", Layout(256, 256, 256, 1024, 1024)),
        Step(2, "all_gather", "out-of-place", Layout(4, 16, 4, 64, 16)),
        Step(3, "all_gather", "out-of-place", Layout(64, 256, 64, 1024, 256)),
    )
    assert plan.left_out(ordered, "gloo", [4]) == ()


@pytest.mark.parametrize(
    ("placement", "forms"),
    [
        ("natural", [("all_reduce", "in-place"), ("all_gather", "out-of-place"), ("gather", "out-of-place")]),
        ("in-place", [("all_reduce", "in-place"), ("all_gather", "in-place"), ("gather", "in-place")]),
        ("out-of-place", [("all_gather", "out-of-place"), ("gather", "out-of-place")]),
        (
            "both",
            [
                ("all_reduce", "in-place"),
                ("all_gather", "out-of-place"),
                ("all_gather", "in-place"),
                ("gather", "out-of-place"),
                ("gather", "in-place"),
            ],
        ),
    ],
)
def test_placements(placement: str, forms: list[tuple[str, str]]) -> None:
    ordered = job(ops=("all_reduce", "all_gather", "gather"), sizes=Sizes(listed=(1024,)), placement=placement)
    assert [(step.op, step.placement) for step in plan.steps(ordered, "gloo", 2)] == forms
    without = [op for op in ordered.ops if op not in dict(forms)]
    reason = f"torch.distributed offers no {placement} form of it"
    assert _left_out(ordered, 2) == [f"{op} was left out: {reason}" for op in without]


def _left_out(ordered: ProbeJob, world_size: int) -> list[str]:
    return [finding.message for finding in plan.left_out(ordered, "gloo", [world_size])]


def test_the_size_of_an_element_counts() -> None:
    (step,) = plan.steps(job(dtype="float64", sizes=Sizes(listed=(1024,))), "gloo", 4)
    assert (step.layout.count, step.layout.bytes) == (128, 1024)


@pytest.mark.parametrize(
    ("ops", "sizes", "world_size", "left_out"),
    [
        (
            ("all_gather",),
            (32, 64),
            4,
            ["all_gather at 32 B was left out: 32 B is less than 16 B for each of 4 ranks"],
        ),
        (
            ("send_recv", "all_reduce", "ping_pong"),
            (8,),
            1,
            ["send_recv was left out: it needs 2 ranks", "ping_pong was left out: it needs 2 ranks"],
        ),
        (("send_recv", "ping_pong"), (8,), 2, []),
        (("all_reduce",), (2, 4), 4, ["all_reduce at 2 B was left out: 2 B is less than one element"]),
    ],
)
def test_what_cannot_be_run_is_left_out_and_named(
    ops: tuple[str, ...], sizes: tuple[int, ...], world_size: int, left_out: list[str]
) -> None:
    ordered = job(ops=ops, sizes=Sizes(listed=sizes))
    assert _left_out(ordered, world_size) == left_out
    steps = plan.steps(ordered, "gloo", world_size)
    assert len(steps) == len(ops) * len(sizes) - len(left_out)
    assert [step.index for step in steps] == list(range(len(steps)))


@pytest.mark.parametrize("world_size", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("backend", ["gloo", "nccl"])
def test_the_default_sweep_leaves_nothing_out_but_pairs_of_one(backend: str, world_size: int) -> None:
    missing = plan.left_out(job(ops=collectives.NAMES), backend, [world_size])
    assert {out.subject.name for out in missing} == ({"send_recv", "ping_pong"} if world_size == 1 else set())


@pytest.mark.parametrize(
    ("dtype", "reduce_op", "backend", "messages"),
    [
        ("float32", "sum", "gloo", []),
        ("float16", "avg", "gloo", []),
        ("int32", "avg", "nccl", []),
        ("int32", "avg", "gloo", ["gloo cannot average int32: use -o sum or a floating-point type"]),
    ],
)
def test_what_a_backend_cannot_do(dtype: str, reduce_op: str, backend: str, messages: list[str]) -> None:
    found = plan.unsupported(job(dtype=dtype, reduce_op=reduce_op), backend)
    assert [(one.code, one.severity, one.subject.name, one.message, one.remedy) for one in found] == [
        ("unsupported", "error", f"{dtype} {reduce_op}", message, "choose another -d or -o")
        for message in messages
    ]


# ---- memory


def room(free: int) -> Room:
    return Room(free=free, backend=2 * 10**9, rank=3, host="n2", of_gpu=True, sharers=1)


LARGE = job(ops=("all_reduce", "all_gather"), sizes=Sizes(listed=(GIB, 4 * GIB, 8 * GIB)))
OF_RANK_3 = "rank 3 on n2 has {} of its GPU free"


@pytest.mark.parametrize(
    ("free", "steps", "said"),
    [
        (80, {"all_reduce": [1, 4, 8], "all_gather": [1, 4, 8]}, []),
        (
            12,
            {"all_reduce": [1, 4, 8], "all_gather": [1, 4]},
            [f"all_gather at 8 GiB was left out: it needs 13.3 GB, but {OF_RANK_3.format('12.0 GB')}"],
        ),
        (
            5,
            {"all_reduce": [1], "all_gather": [1]},
            [
                f"all_reduce at 4 GiB, 8 GiB was left out: 4 GiB needs 6.8 GB, but {OF_RANK_3.format('5.0 GB')}",
                f"all_gather at 4 GiB, 8 GiB was left out: 4 GiB needs 7.9 GB, but {OF_RANK_3.format('5.0 GB')}",
            ],
        ),
    ],
)
def test_what_does_not_fit_is_left_out(free: int, steps: dict[str, list[int]], said: list[str]) -> None:
    free_there = room(free * 10**9)
    found = plan.steps(LARGE, "nccl", 4, free_there.for_step)
    assert [(step.op, step.layout.bytes // GIB) for step in found] == [
        (op, size) for op, sizes in steps.items() for size in sizes
    ]
    assert [step.index for step in found] == list(range(len(found)))
    left_out = plan.too_large(LARGE, "nccl", 4, free_there)
    assert [finding.message for finding in left_out] == said
    assert {finding.severity for finding in left_out} <= {"info"}


def test_what_a_size_needs_is_taken_apart() -> None:
    (finding,) = plan.too_large(job(ops=("all_gather",), sizes=Sizes(listed=(8 * GIB,))), "nccl", 4, room(10**9))
    assert finding.evidence == ("buffers 10.7 GB, the check 0.5 GB, backend buffers, and a margin 2.0 GB",)
    assert finding.remedy == "use smaller sizes (-e), or stop other processes on that GPU"


def test_without_knowing_what_is_free_everything_is_tried() -> None:
    assert plan.too_large(LARGE, "nccl", 4, None) == ()
    assert len(plan.steps(LARGE, "nccl", 4, None)) == 6
