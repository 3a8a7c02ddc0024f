"""What is measured between two hosts is what the link carries, as another program sees it."""

import json

import pytest

from tests.lab.conftest import Start, join
from tests.lab.iperf import iperf3_bits_per_s, lacking
from tests.lab.lab import Lab

pytestmark = pytest.mark.lab

LIMIT_S = 60.0
TRIES = 4
RATE = "50mbit"  # slow enough that the link, and never a busy processor, is what limits
AGREES = 0.15
"""On one link in one run; send_recv shares a way with acknowledgements (unshaped links are asserted nowhere)."""


@pytest.mark.skipif(bool(lacking()), reason=lacking())
def test_a_link_of_known_rate(lab: Lab, start: Start) -> None:
    """Both directions are limited at the switch: ping_pong uses one at a time, send_recv both at once."""
    for host in lab.hosts:
        lab.shape(host, RATE, queue="20ms")
    one, two = lab.hosts
    seen = 0.0
    best = dict.fromkeys(("ping_pong", "send_recv"), 0.0)
    for _ in range(TRIES):  # a busy machine can only make either slower
        seen = max(seen, iperf3_bits_per_s(one, two, 2.0))
        best = {op: max(best[op], speed) for op, speed in probed(lab, start).items()}
        agreed = {op: pytest.approx(seen, rel=AGREES) for op in best}
        if best == agreed:
            break
    assert 40e6 < seen < 50e6, "the shaper itself"
    assert best == agreed
    assert lab.quiet()


def probed(lab: Lab, start: Start) -> dict[str, float]:
    """Bits per second of each operation between the two hosts."""
    words = ("--op", "ping_pong,send_recv", "--sizes", "8MiB", "-n", "5", "-w", "1", "--timeout", "30")
    first, second = (start(host, join(rank, 2, *words)) for rank, host in enumerate(lab.hosts))
    ended = first.wait(LIMIT_S)
    assert (ended.code, second.wait(LIMIT_S).code) == (0, 0), ended.said
    folder = max(ended.runs.iterdir())
    document = json.loads((folder / "run.json").read_text())
    return {row["op"]: row["busbw_bytes_per_s"] * 8 for row in document["measurements"]}
