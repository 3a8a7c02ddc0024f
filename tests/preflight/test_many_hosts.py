"""Thousands of hosts are judged and shown in time that grows with their number, and in texts that do not."""

import time
from typing import Any

from nccltool.core.verdicts import Verdict
from nccltool.monitor import metrics
from nccltool.preflight import host_verdicts
from nccltool.preflight.result import CheckOutcome, Preflight
from nccltool.preflight.views import FORMATS, renderer
from tests import samples
from tests.preflight.samples import outcome


def names(count: int) -> tuple[str, ...]:
    """As a cloud makes them: none is the next one of another."""
    return tuple(f"gke-a3-pool-{number * 2654435761 % 2**32:08x}-{number % 7}x" for number in range(count))


def outcomes(hosts: tuple[str, ...]) -> tuple[CheckOutcome, ...]:
    """Each host came; a check of each tenth fails, and a run over all of them names nobody."""
    slow: dict[str, Any] = {
        "reason": "all_reduce at 1 GiB",
        "measured": 1e9,
        "unit": "B/s",
        "expected": "at least 300 GB/s",
    }
    return (
        *(outcome("inventory/present", "pass", host) for host in hosts),
        *(outcome("doctor/LIM001", "fail", host, reason="1024 files", shown="alone") for host in hosts[::10]),
        *(outcome("within/all_reduce", "fail", host, hosts=(host,), shown="suspected") for host in hosts[::10]),
        outcome("across/all_reduce-busbw", "fail", hosts=hosts, **slow),
        outcome("train/tensor", "unknown", hosts=hosts, reason="it was left out"),
    )


def judged(count: int) -> tuple[Preflight, float]:
    """And the seconds of the processor that it took, with every way to show it."""
    hosts = names(count)
    came = outcomes(hosts)
    begin = time.process_time()
    preflight = Preflight(
        info=samples.info(nodes=count, world_size=8 * count, hosts=hosts, emulated=False),
        verdict=host_verdicts.verdict(came, interrupted=False),
        suite="preflight",
        outcomes=came,
        hosts=host_verdicts.of_hosts(came, hosts),
        findings=(),
        runs=(),
        duration_s=1.0,
    )
    for form in FORMATS:
        renderer(form)(preflight)
    assert metrics.samples(metrics.exported(preflight))
    host_verdicts.lists(preflight.hosts)
    return preflight, time.process_time() - begin


def test_what_is_said_of_a_host_does_not_grow_with_the_others() -> None:
    preflight, _ = judged(2000)
    assert preflight.verdict == Verdict(status="fail", exit_code=1)
    assert max(len(one.reason) for one in preflight.hosts) < 400
    assert max(len(line) for line in renderer("table")(preflight).splitlines()) < 1000


def test_its_time_grows_with_the_hosts_and_not_with_their_square() -> None:
    few, many = (min(judged(count)[1] for _ in range(2)) for count in (500, 4000))
    assert many < 24 * few  # 8 times as many; 64 times if it were the square
