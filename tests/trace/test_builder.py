"""What is kept of a trace, whatever is in its events."""

from typing import Any

import pytest

from nccltool.trace import builder
from nccltool.trace.builder import TraceBuilder
from nccltool.trace.json_events import EVENTS
from nccltool.trace.result import TracedCollective
from tests.trace.samples import built, event

KERNEL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
LABELS: dict[str, Any] = {
    "Process Group Name": "dp",
    "Collective name": "allreduce",
    "In msg nelems": 8,
    "dtype": "Float",
}
_CALL: dict[str, Any] = {"External id": 7}


def test_a_kernel_with_its_arguments() -> None:
    trace = built(event(KERNEL, 5, 10, "kernel", **LABELS), event("gemm", 15, 2, "kernel"))
    assert trace.has_gpu
    assert trace.collectives == (
        TracedCollective(
            group="dp", operation="all_reduce", begin_s=5e-6, seconds=1.5e-5 - 5e-6, elements=8, dtype="Float"
        ),
    )
    assert [one.name for one in trace.kernels] == ["gemm"]
    assert [(one.name, one.count) for one in trace.communication_kernels] == [(KERNEL, 1)]


def test_a_kernel_whose_call_has_the_arguments() -> None:
    call = event("record_param_comms", 0, 1, **LABELS, **_CALL)
    trace = built(event(KERNEL, 5, 10, "kernel", **_CALL), call)
    assert [(one.group, one.elements) for one in trace.collectives] == [("dp", 8)]


def test_gloo_belongs_to_the_only_group() -> None:
    trace = built(event("gloo:all_reduce", 5, 10, "user_annotation"))
    assert [(one.group, one.operation) for one in trace.collectives] == [("0", "all_reduce")]


def test_steps() -> None:
    marked = built(
        event("ProfilerStep#8", 10, 5, "user_annotation"), event("ProfilerStep#7", 0, 9, "user_annotation")
    )
    assert ([one.number for one in marked.steps], marked.steps_from) == ([7, 8], "step annotations")
    by_optimizer = built(*(event("Optimizer.step#SGD.step", at * 10, 1, "user_annotation") for at in range(3)))
    assert [round(one.seconds * 1e6) for one in by_optimizer.steps] == [10, 10]
    assert built().steps_from == ""


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"name": "a", "ts": "1", "dur": 1},
        {"name": "a", "ts": 1, "dur": -1},
        {"name": "a", "ts": float("nan"), "dur": 1},
        {"name": "a", "ts": 1, "dur": float("inf")},
        {"name": "a", "ts": 10**300, "dur": 1},
        {"name": "a", "ts": 1 << 5000, "dur": 1},
        {"name": ["a"], "ts": 1, "dur": 1},
        {"name": "a", "ts": True, "dur": 1},
        {"name": "a", "ts": None},
    ],
)
def test_an_event_without_a_time(bad: dict[str, Any]) -> None:
    trace = built({"ph": "X", "cat": "cpu_op", **bad})
    assert (trace.events, trace.unread_events, trace.operators) == (1, 1, ())


@pytest.mark.parametrize("value", [None, 3, "x", [], {"ph": "X", "cat": 5, "name": "a", "ts": 1, "args": [1]}])
def test_values_of_other_types(value: Any) -> None:
    assert built(value).operators == ()


@pytest.mark.parametrize(
    "head",
    [
        None,
        3,
        [],
        {"rank": "0"},
        {"rank": -1, "pg_config": 5},
        {"pg_config": [3, {"ranks": "x"}, {"ranks": ["a"]}]},
    ],
)
def test_a_head_of_other_types(head: Any) -> None:
    taker = TraceBuilder("folder/rank3.json")
    taker.take("distributedInfo", head)
    taker.take("host_name", 7)
    assert (taker.built().rank, taker.built().groups) == (3, {})


def test_names_and_collectives_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MOST_NAMES", 2)
    monkeypatch.setattr(builder, "MOST_COLLECTIVES", 3)
    taker = TraceBuilder("rank0.json")
    for number in range(5):
        taker.take(EVENTS, event(f"op{number}", number, 1))
        taker.take(EVENTS, event("gloo:all_reduce", number, 1, "user_annotation"))
    trace = taker.built()
    rest = [(one.count, round(one.total_s * 1e6)) for one in trace.operators if one.name == builder.OTHERS]
    assert (rest, len(trace.collectives), trace.is_cut) == ([(3, 3)], 3, True)


def test_categories_of_older_releases() -> None:
    old = built(event("aten::mm", 0, 9, "Operator"), event("gemm", 9, 3, "Kernel"))
    assert ([one.name for one in old.operators], [one.name for one in old.kernels]) == (["aten::mm"], ["gemm"])
