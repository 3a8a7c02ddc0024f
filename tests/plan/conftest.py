"""A run of probe whose latency and bandwidth are known."""

from dataclasses import replace

import pytest

from nccltool.probe.result import Run
from tests import samples

ALPHA_S, BUSBW = 1e-4, 1e9


@pytest.fixture
def measured_run() -> Run:
    """all_reduce of two ranks on two nodes; with two ranks, bus bandwidth is algorithm bandwidth."""
    rows = []
    for size in (2**10, 2**14, 2**18, 2**22, 2**26):
        seconds = ALPHA_S + size / BUSBW
        time = replace(samples.measurement().time_s, mean=seconds, median=seconds, min=seconds, max=seconds)
        rows.append(samples.measurement(op="all_reduce", bytes=size, time_s=time))
    run = samples.good_run()
    return replace(run, measurements=tuple(rows), info=replace(run.info, nodes=2, world_size=2))
