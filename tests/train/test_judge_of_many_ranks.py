"""Trainings over ten thousand ranks are judged: nothing of them is lost, in time that grows with their number."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nccltool.launch import events
from nccltool.launch.events import Event
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from nccltool.monitor import metrics
from nccltool.probe.run import ProbeBegun
from nccltool.train import document, judge
from nccltool.train.events import Built, Compared, Diverged, OfRanks, Shares, TimedSteps, TrainedStep
from nccltool.train.job import TrainJob, TrainSpec
from nccltool.train.result import TrainRun
from nccltool.train.views import table
from tests.samples import facts
from tests.train.test_judge import SHAPE

STRATEGIES = ("ddp", "fsdp", "tensor", "zero1")


def said(ranks: int, is_wrong: bool) -> Iterator[Event]:
    yield from (events.Spawned(rank=r, node_rank=r // 8, host=f"n{r // 8:04}", pid=r) for r in range(ranks))
    yield from (events.Hello(facts=of(rank)) for rank in range(ranks))
    yield events.World(
        world_size=ranks, emulated=False, backend="nccl", backend_version="2", backend_reason="all", steps=9
    )
    shares = Shares.of([0.0, *[1.0] * (ranks - 1)])
    for base, name in enumerate(STRATEGIES):
        yield TrainedStep(
            step=base * 3,
            strategy=name,
            number=1,
            loss="5.5",
            reference_loss="5.5",
            gradient_norm="1",
            reference_gradient_norm="1",
            ns=10**7,
        )
        yield Built(strategy=name, shape=replace(SHAPE, replicas=ranks))
        for rank in range(ranks):
            yield Compared(rank=rank, strategy=name, micro_batches=ranks, errors=(("loss", "0.0", 1.0),), rule="1")
            if is_wrong:
                yield Diverged(
                    rank=rank,
                    step=base * 3,
                    strategy=name,
                    number=1,
                    what="gradient",
                    got="1.5",
                    expected="0.5",
                    error="2.0",
                    tolerance=1e-5,
                    shares=shares,
                )
        if not is_wrong:
            yield from OfRanks.of(name, base * 3 + 1, [1000] * (ranks - 1) + [5000], list(range(ranks)))
            yield TimedSteps(
                step=base * 3 + 1, strategy=name, sequences=ranks, tokens=ranks, without_sync_ns=1, alone_ns=1
            )


def of(rank: int) -> events.RankFacts:
    return replace(facts(0), rank=rank, node_rank=rank // 8, host=f"n{rank // 8:04}", host_id=f"{rank // 8}")


def judged(ranks: int, is_wrong: bool) -> tuple[TrainRun, float]:
    """The run, and the seconds of the processor that it took from its events to its document."""
    job = TrainJob(
        run_id="20250102T030405Z-beef",
        nodes=ranks // 8,
        nproc_per_node=8,
        train=TrainSpec(strategies=STRATEGIES, steps=2, timed_steps=1),
    )
    came = list(said(ranks, is_wrong))
    begin = time.process_time()
    state = RunState(job, ranks, now=0.0)
    for event in came:
        state.apply(event, 1.0)
    begun = ProbeBegun(
        job=job,
        leads=True,
        part=0,
        parts=1,
        ranks_seen=ranks,
        command=("nccltool", "train", "all"),
        started="2025-01-02T03:04:05Z",
        nccltool="0.1.0",
        torch="2.13.0",
    )
    run = judge.judged(LaunchOutcome(state, (), interrupted=False), begun)
    assert document.from_json(document.to_json(run).encode(), "it") == run
    table.render(run)
    assert metrics.samples(metrics.exported(run))
    return run, time.process_time() - begin


@pytest.mark.parametrize("is_wrong", [False, True])
def test_ten_thousand_ranks(is_wrong: bool) -> None:
    run, _ = judged(10_000, is_wrong)
    for one in run.trainings:
        assert one.oracle is not None
        assert one.status == ("fail" if is_wrong else "pass")
        assert one.oracle.ranks == (tuple(range(10_000)) if is_wrong else ())
        assert one.peak_memory_bytes == (() if is_wrong else tuple(range(10_000)))
        assert one.slowest_rank == (None if is_wrong else 9_999)
    assert [finding.subject.name for finding in run.findings] == ["0"] * (len(STRATEGIES) if is_wrong else 0)
    longest = max(map(len, table.render(run).splitlines()))
    assert longest < 400
    assert json.loads(document.to_json(run))["run"]["world_size"] == 10_000


def test_its_time_grows_with_the_ranks_and_not_with_their_square() -> None:
    few, many = (min(judged(ranks, True)[1] for _ in range(2)) for ranks in (1_000, 8_000))
    assert many < 24 * few  # 8 times as many; 64 times if it were the square
