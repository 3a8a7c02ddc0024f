"""JUDGE the input of trainings: wrong shards, and ranks that wait for their storage. Pure."""

from collections.abc import Sequence
from statistics import median_low

from nccltool.core.findings import Finding, Subject
from nccltool.core.statistics import Stats
from nccltool.core.text import counted, named
from nccltool.launch.run_state import RunState
from nccltool.train.events import InputDealt, InputTimed, InputWrong
from nccltool.train.finding_kinds import INPUT_SLOW, INPUT_WRONG
from nccltool.train.result import TrainingInput, TrainingResult

LEAST_WAIT = 0.1
"""Of a step: less is no reason to look at storage. The targets of input pipelines are at most some percent."""
STANDS_OUT = 2.0
"""A rank whose wait is that many times the typical one is slow by itself."""
_NAMED = 16


def wrong(strategy: str, shards: Sequence[InputWrong]) -> Finding:
    """The ranks that did not get their own sequences."""
    ranks = sorted({one.rank for one in shards})
    first = min(shards, key=lambda one: (one.number, one.rank))
    whom = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {named([str(one) for one in ranks], _NAMED)}"
    return INPUT_WRONG.finding(
        subject=Subject(kind="rank", name=str(first.rank)),
        message=f"{strategy}: {whom} got wrong sequences; rank {first.rank} in step {first.number}: {first.what}",
        evidence=(f"got {list(first.got)}, expected {list(first.expected)}",),
        remedy="compare the versions of torch on the hosts: nccltool facts",
    )


def of(dealt: InputDealt, timed: Sequence[InputTimed], step: Stats | None) -> TrainingInput:
    """How the files were dealt out, and how long each rank waited for them in a timed step."""
    typical_s = 0.0 if step is None else step.mean if step.median is None else step.median
    waited = [ns for one in timed for ns in one.waited_ns]
    stalled = [ns for one in timed for ns in one.stalled_ns]
    return TrainingInput(
        sequences=dealt.sequences,
        epoch_steps=dealt.epoch_steps,
        left_out=dealt.left_out,
        wait_ratio=tuple(ns / 1e9 / typical_s for ns in waited) if typical_s else (),
        stall_ratio=tuple(None if ns is None else min(1.0, ns / 1e9 / step.mean) for ns in stalled)
        if step
        else (),
    )


def stalls(given: TrainingInput) -> tuple[float, ...]:
    """Of each rank the share of a step in which its input kept it waiting, not a core that it lacked, where that
    is known."""
    known = tuple(share for share in given.stall_ratio if share is not None)
    return known if known and len(known) == len(given.stall_ratio) else given.wait_ratio


def slow_ranks(waits: Sequence[float]) -> list[int]:
    """Those that wait for a good part of a step, and more than others wait; the one that waits longest first."""
    least = max(LEAST_WAIT, STANDS_OUT * _typical(waits))
    return sorted((rank for rank, wait in enumerate(waits) if wait >= least), key=lambda rank: -waits[rank])


def _typical(waits: Sequence[float]) -> float:
    return median_low(waits) if len(waits) > 1 else 0.0  # of two, the faster one


def slow(training: TrainingResult, state: RunState) -> Finding | None:
    """The rank that waits for its input longest, where that is a good part of a step and more than others wait, or
    all ranks, if they wait alike; None = they wait for less."""
    waits = stalls(training.input) if training.input else ()
    typical = _typical(waits)
    slow_ones = slow_ranks(waits)
    if not slow_ones:
        return _all_slow(training.strategy, typical) if typical >= LEAST_WAIT else None
    rank = slow_ones[0]
    share = f"{100 * waits[rank]:.0f} % of a step"
    seen = state.ranks.get(rank)
    host = seen.facts.host if seen and seen.facts else ""
    whom = f"rank {rank}{host and f' on {host}'}"
    others = (
        f"; {counted(len(slow_ones) - 1, 'other rank')} also waited more than usual" if len(slow_ones) > 1 else ""
    )
    return INPUT_SLOW.finding(
        subject=Subject(kind="rank", name=str(rank)),
        message=f"{training.strategy}: {whom} waits for its input for {share}{others}",
        evidence=(f"the typical rank waits {100 * typical:.1f} % of a step for its input, then for this rank",),
        remedy=f"check the storage of {host or whom}: iostat -x 1, the mount, and its data loader",
    )


def _all_slow(strategy: str, typical: float) -> Finding:
    return INPUT_SLOW.finding(
        subject=Subject(kind="run", name="--data"),
        message=f"{strategy}: all ranks wait for their input for {100 * typical:.0f} % of a step",
        evidence=("the wait is no communication: the network is not the cause",),
        remedy="check the storage that all hosts read, or use more --data-workers",
    )
