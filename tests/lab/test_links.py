"""What is measured between two hosts is what the link carries, as another program sees it."""

import json

import pytest

from tests.lab.conftest import Start, join
from tests.lab.iperf import iperf3_bits_per_s, lacking
from tests.lab.lab import Lab

pytestmark = pytest.mark.lab

LIMIT_S = 60.0
TRIES = 3
AGREES = 0.10
"""On one link in one run; shaped links repeat within a few percent (unshaped ones are not asserted anywhere)."""


@pytest.mark.skipif(bool(lacking()), reason=lacking())
def test_a_link_of_100_mbit_per_s(lab: Lab, start: Start) -> None:
    """Both directions are limited at the switch: ping_pong uses one at a time, send_recv both at once."""
    for host in lab.hosts:
        lab.shape(host, "100mbit")
    one, two = lab.hosts
    seen = 0.0
    for _ in range(TRIES):  # a busy machine can only make either slower
        seen = max(seen, iperf3_bits_per_s(one, two, 2.0))
        measured = probed(lab, start)
        agreed = {op: pytest.approx(seen, rel=AGREES) for op in ("ping_pong", "send_recv")}
        if measured == agreed:
            break
    assert 80e6 < seen < 100e6, "the shaper itself"
    assert measured == agreed
    assert lab.quiet()


def probed(lab: Lab, start: Start) -> dict[str, float]:
    """Bits per second of each operation between the two hosts."""
    words = ("--op", "ping_pong,send_recv", "--sizes", "4MiB", "-n", "5", "-w", "1", "--timeout", "30")
    first, second = (start(host, join(rank, 2, *words)) for rank, host in enumerate(lab.hosts))
    ended = first.wait(LIMIT_S)
    assert (ended.code, second.wait(LIMIT_S).code) == (0, 0), ended.said
    folder = max(ended.runs.iterdir())
    document = json.loads((folder / "run.json").read_text())
    return {row["op"]: row["busbw_bytes_per_s"] * 8 for row in document["measurements"]}
