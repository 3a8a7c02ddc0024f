"""What two samples of a rank say together."""

from dataclasses import replace

import pytest

from nccltool.attach.judge.views import RankView, ends_of, idle_s, views
from nccltool.attach.seen.job import JobLook
from tests.attach.judge.looks import COMPUTES, SLEEPS, R, look


def _view(one: R, **more: int) -> RankView:
    return views(look(one, R(), **more))[0]


@pytest.mark.parametrize(
    ("one", "is_static"),
    [
        (R(), True),
        (R(switches=900), False),
        (R(cpu=0.9, state="R"), False),
        (R(then=SLEEPS), False),
        (R(stack=None), True),
        (R(stack=None, switches=900), False),
        (R(stack=None, cpu=0.9), None),
        (R(stack=COMPUTES, state="T"), True),
        (R(gone=True), True),
    ],
)
def test_whether_it_moves(one: R, is_static: bool | None) -> None:
    assert _view(one).is_static is is_static


def test_one_sample_does_not_tell() -> None:
    view = _view(R(), samples=1)
    assert (view.is_static, view.cpu_share, view.switches_per_s) == (None, None, None)


def test_rates_are_of_the_time_between_the_samples() -> None:
    view = _view(R(cpu=0.5, wrote=4_000_000, delay=0.25, throttled=0.5))
    assert (view.cpu_share, view.rate("wchar")) == (0.5, 2_000_000)
    assert (view.waits_for_a_core, view.throttled_share) == (0.25, 0.5)
    assert view.rate("read_bytes") is None


@pytest.mark.parametrize(
    ("one", "condition"),
    [
        (R(), ""),
        (R(state="T"), "stopped"),
        (R(state="t"), "traced"),
        (R(tracer=9), "traced"),
        (R(state="Z"), "dead"),
        (R(gone=True), "dead"),
        (R(frozen=True), "frozen"),
        (R(state="D"), ""),
    ],
)
def test_conditions(one: R, condition: str) -> None:
    assert _view(one).condition == condition


@pytest.mark.parametrize(("one", "moves"), [(R(switches=40), True), (R(cpu=0.2), True), (R(), None)])
def test_counters_show_movement_where_a_stack_is_missing(one: R, moves: bool | None) -> None:
    view = _view(one)
    first, last = view.samples
    view = replace(view, samples=(replace(first, stacks=()), last), is_same=None)
    assert view.is_static is (None if moves is None else not moves)


def test_the_phase_is_that_of_the_last_stack() -> None:
    (host,) = look(R(stack=SLEEPS)).hosts
    first, last = host.samples
    torn = replace(last, ranks=tuple(replace(one, stacks=()) for one in last.ranks))
    ended = replace(last, ranks=tuple(replace(one, stacks=(), process=None) for one in last.ranks))
    for end, kind in ((torn, "code"), (ended, "unknown")):
        (view,) = views(JobLook(hosts=(replace(host, samples=(first, end)),)))
        assert view.phase.kind == kind


def test_idle_time_is_that_of_connections_between_ranks() -> None:
    seen = views(look(R(idle_s=40), R()))
    assert idle_s(seen[0], ends_of(seen)) == 40
    assert idle_s(seen[0], ends_of(seen[:1])) is None  # the other end may be a logger
