"""Whether a look with stacks is worth its cost."""

from dataclasses import replace

import pytest

from nccltool.attach.seen.job import JobLook, Unread
from nccltool.attach.watch.pulse import pulse_of, with_earlier
from tests.attach.judge.looks import R, look, pid_of

MOVES = R(stack=None, switches=3000, idle_s=0.01)
STILL = R(stack=None)


def halves(*ranks: R) -> tuple[JobLook, JobLook]:
    """The two samples of a look, as two pulses."""
    whole = look(*ranks, span_s=30.0)
    parts = [
        replace(whole, hosts=tuple(replace(host, samples=host.samples[n : n + 1]) for host in whole.hosts))
        for n in (0, 1)
    ]
    return parts[0], parts[1]


@pytest.mark.parametrize(
    ("ranks", "strange"),
    [
        ((MOVES, MOVES), []),
        ((MOVES, STILL), ["still"]),
        ((MOVES, replace(MOVES, switches=None)), ["not read"]),
        ((MOVES, replace(MOVES, state="T")), ["stopped"]),
        ((MOVES, replace(MOVES, throttled=0.5)), ["throttled"]),
        ((MOVES, replace(MOVES, frozen=True)), ["frozen"]),
    ],
)
def test_strange(ranks: tuple[R, ...], strange: list[str]) -> None:
    found = pulse_of(*halves(*ranks))
    assert sorted(found.strange) == [("n1", pid_of(1), what) for what in strange]
    assert found.is_strange == bool(strange)
    assert found.ranks == 2


def test_one_pulse_says_little() -> None:
    assert not pulse_of(None, halves(STILL, STILL)[0]).is_strange


def test_a_host_that_does_not_answer_is_strange() -> None:
    before, now = halves(MOVES, MOVES)
    lost = replace(now, unreached=(Unread(what="n2", reason="timed out", host="n2"),))
    assert sorted(pulse_of(before, lost).strange) == [("n2", 0, "not looked at")]


def test_other_processes_are_not_compared() -> None:
    before, now = halves(MOVES, MOVES)
    host = now.hosts[0]
    later = replace(now, hosts=(replace(host, ranks=tuple(replace(one, pid=9) for one in host.ranks)),))
    assert len(with_earlier(before, later).hosts[0].samples) == 1
    assert len(with_earlier(before, now).hosts[0].samples) == 2
