"""What NCCL Inspector's records show of communicators: the late rank is named, an innocent is not."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from nccltool.trace.communicators import CommunicatorUse, communicators, rank_of_job, told
from tests.interop.importers import foreign
from tests.trace.inspected import SIZE, logs, taken

LATE = [[900, 910, 300, 905]] * 400


def _checked(durations: Sequence[Sequence[int]], **more: str) -> CommunicatorUse:
    (found,) = communicators(taken(logs(durations, **more)))
    return found


def test_the_late_rank_is_named() -> None:
    found = _checked(LATE)
    assert (found.late_rank, found.host, found.pid, found.last_in) == (2, "node-1", 702, (0, 0, 8, 0))
    assert found.gain == pytest.approx(600 / 902.5)
    assert found.waited_s == pytest.approx((400 * 600e-6, 400 * 610e-6, 0, 400 * 605e-6))
    assert rank_of_job(found, [found]) == 2
    assert rank_of_job(found, [found, replace(found, communicator="0x2")]) is None
    assert rank_of_job(found, [found, replace(found, communicator="0x3", ranks=2, ranks_read=(0,))]) is None


def test_the_bandwidth_is_that_without_waits() -> None:
    (row,) = _checked(LATE).collectives
    assert (row.operation, row.bytes, row.calls, row.time_s) == ("all_reduce", SIZE, 400, 300e-6)
    assert row.busbw_bytes_per_s == pytest.approx(SIZE / 300e-6 * 1.5)


def test_the_bandwidth_is_the_one_that_inspector_prints() -> None:
    for line in foreign.data("inspector.log").splitlines():
        call = json.loads(line).get("coll_perf", {}) if b'"coll_busbw_gbs"' in line else {}
        if call.get("coll") in ("AllReduce", "AllGather") and call["coll_exec_time_us"]:
            ((row,),) = (one.collectives for one in communicators(taken([line])))
            assert row.busbw_bytes_per_s == pytest.approx(call["coll_busbw_gbs"] * 1e9, rel=1e-5)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (logs(LATE)[:3], "no file of rank 3 was read"),
        (logs(LATE[:150]), "150 calls matched; at least 200 are needed"),
        (logs([[300, 290, 280, 290]] * 400), "the rank last most often makes collectives less than 10 % longer"),
        (logs([[30, 29, 21, 30]] * 400), "the rank last most often delays a call by less than 10 us"),
        (logs([[900, 300, 300, 900]] * 400), "no rank is last more often than chance explains"),
        (logs(LATE, coll_timing_source="collective_cpu"), "some times are those of the CPU, not of the kernel"),
        (logs(LATE, coll="Broadcast"), "0 calls matched; at least 200 are needed"),
        (logs([[300]] * 400), "it has one rank"),
    ],
)
def test_nobody_is_named(files: list[bytes], why: str) -> None:
    (found,) = communicators(taken(files))
    assert (found.late_rank, found.why_not) == (None, why)
    assert why in told(found)


def test_calls_that_a_rank_lacks_are_left_out() -> None:
    """Later ones overwrote them, or they were smaller than the smallest that Inspector records."""
    files = logs(LATE)
    files[1] = b"\n".join(files[1].splitlines()[100:]) + b"\n"
    (found,) = communicators(taken(files))
    assert (found.late_rank, found.matched) == (2, 300)


@pytest.mark.parametrize(("ranks", "steps"), [(2, 20), (4, 10), (8, 40)])
def test_healthy_ranks_are_named_as_seldom_as_promised(ranks: int, steps: int) -> None:
    """In each step another rank is late, by chance and by much, in all of its collectives."""
    drawn = random.Random(ranks)
    named = 0
    for _ in range(100):
        late = [drawn.sample(range(200, 900), ranks) for _ in range(steps)]
        named += _checked([row for row in late for _ in range(400 // steps)]).late_rank is not None
    assert named <= 4  # 1 expected at most
