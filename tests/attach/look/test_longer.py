"""Whether samples are too close to each other."""

from dataclasses import replace

import pytest

from nccltool.attach.look import longer
from nccltool.attach.seen.job import HostLook
from tests.attach.judge.looks import SLEEPS, WAITS, R, look

_UNTOLD = R(connected=False)


def _host(*ranks: R, span_s: float = 2.0, sockets: bool = True) -> HostLook:
    host, *_ = look(*ranks, span_s=span_s).hosts
    if sockets:
        return host
    samples = tuple(
        replace(sample, ranks=tuple(replace(one, sockets=None) for one in sample.ranks)) for sample in host.samples
    )
    return replace(host, samples=samples)


@pytest.mark.parametrize(
    ("host", "extra_s"),
    [
        (_host(R(), R()), 0.0),  # connections tell
        (_host(R(), R(host="n2")), 10.0),  # the only other end is elsewhere
        (_host(R(), R(), sockets=False), 10.0),
        (_host(_UNTOLD, _UNTOLD), 10.0),
        (_host(_UNTOLD, _UNTOLD, span_s=14.0), 0.0),
        (_host(_UNTOLD, replace(_UNTOLD, stack=WAITS, then=SLEEPS)), 0.0),  # it moves
        (_host(replace(_UNTOLD, stack=None), replace(_UNTOLD, stack=None)), 10.0),
        (_host(replace(_UNTOLD, stack=None, switches=900), _UNTOLD), 0.0),
        (_host(replace(_UNTOLD, threads=("python",)), replace(_UNTOLD, threads=("python",))), 0.0),  # it starts
        (_host(replace(_UNTOLD, gone=True)), 0.0),
    ],
)
def test_one_more_sample(host: HostLook, extra_s: float) -> None:
    assert longer.extra_s(host.samples, host.ranks) == extra_s


def test_one_sample_is_as_it_was_ordered() -> None:
    host = _host(_UNTOLD)
    assert longer.extra_s(host.samples[:1], host.ranks) == 0.0
