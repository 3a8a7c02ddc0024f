"""What names say: kernels of many versions of NCCL and RCCL."""

from typing import Any

import pytest

from nccltool.trace import names


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "all_reduce"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce_scatter"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_gather"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send_recv"),
        ("ncclDevKernel_Generic(ncclDevComm*, unsigned long, ncclWork*)", ""),
        ("ncclSymDevKernel_AllGather_LL(ncclSymDevArgs)", "all_gather"),
        ("ncclSymkDevKernel_ReduceScatter_LD(ncclSymkDevWorkArgs4K)", "reduce_scatter"),
    ],
)
def test_a_kernel_of_nccl(name: str, operation: str) -> None:
    assert (names.is_nccl_kernel(name), names.operation_of(name)) == (True, operation)


@pytest.mark.parametrize("name", ["void at::native::reduce_kernel<512>()", "nccl:all_reduce", "ampere_sgemm", ""])
def test_no_kernel_of_nccl(name: str) -> None:
    assert not names.is_nccl_kernel(name)


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("gloo:all_reduce", "all_reduce"),
        ("_allgather_base", "all_gather"),
        ("reduce_scatter_tensor", "reduce_scatter"),
        ("allreduce_coalesced", "all_reduce"),
        ("all_to_allv", "all_to_all"),
        ("broadcast", "broadcast"),
        ("reduce", "reduce"),
        ("wait", ""),
    ],
)
def test_an_operation(text: str, operation: str) -> None:
    assert names.operation_of(text) == operation


def test_what_annotations_are() -> None:
    assert [
        names.step_number(name) for name in ("ProfilerStep#12", "nccltool step 3", "ProfilerStep#x", "step 1")
    ] == [
        12,
        3,
        None,
        None,
    ]
    assert names.is_optimizer_step("Optimizer.step#AdamW.step")
    assert names.is_input("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
    assert not names.is_input("aten::to")
    assert names.gloo_operation("nccl:all_reduce") == ""
    assert names.is_call_of_communication("c10d::allreduce_")


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("ddp-rank3.pt.trace.json.gz", 3),
        ("rank_12.json", 12),
        ("Rank-0-trace.json", 0),
        ("n1_4711.1732.pt.trace.json", None),
        ("rank99999999.json", None),
    ],
)
def test_a_rank_in_the_name_of_a_file(name: str, rank: int | None) -> None:
    assert names.rank_in(name) == rank


@pytest.mark.parametrize(
    ("value", "text", "count"),
    [("x", "x", None), (7, "7", 7), (True, "", None), (-1, "-1", None), (1 << 70, "", None), ([1], "", None)],
)
def test_arguments_of_any_type(value: Any, text: str, count: int | None) -> None:
    assert (names.text_of({"a": value}, "a"), names.count_of({"a": value}, "a")) == (text, count)
