"""What a clock says of a batch on a device, and what is seen from outside while it waits."""

import pytest

from nccltool.worker.probe import clocks
from nccltool.worker.probe.clocks import Batch, Clock, QueueClock
from nccltool.worker.progress_page import ProgressPage
from tests.worker.probe.simulated import SimulatedDevice, SimulatedMark

pytestmark = [pytest.mark.torch, pytest.mark.quick]

US = 1000


def clock_of(device: SimulatedDevice, page: ProgressPage | None = None) -> QueueClock:
    return QueueClock(device, page or ProgressPage(), lambda: device.host_ns)


@pytest.mark.parametrize(
    ("launch_us", "call_us", "hold_us", "expected"),
    [
        # the device is done before the next call is launched: it takes as long as a launch
        (20, 5, 0, Batch(ns=[25 * US, 45 * US, 65 * US], launch_ns=20 * US, starved=3)),
        (20, 5, 90, Batch(ns=[5 * US, 10 * US, 15 * US], launch_ns=20 * US)),
        (20, 5, 30, Batch(ns=[5 * US, 15 * US, 35 * US], launch_ns=20 * US, starved=2)),  # not long enough
        (20, 100, 0, Batch(ns=[120 * US, 220 * US, 320 * US], launch_ns=20 * US, starved=1)),
    ],
    ids=["not held", "held", "held for too short", "long calls"],
)
def test_a_batch_in_a_stream(launch_us: int, call_us: int, hold_us: int, expected: Batch) -> None:
    device = SimulatedDevice(launch_ns=launch_us * US)
    assert clock_of(device).offsets(device.call(call_us * US), 3, hold_us * US) == expected
    assert device.meetings == (1 if hold_us else 0)


@pytest.mark.parametrize(
    ("hold_us", "expected"),
    [
        (0, Batch(ns=[25 * US] * 3, launch_ns=20 * US, starved=3)),
        (40, Batch(ns=[5 * US] * 3, launch_ns=20 * US)),
    ],
    ids=["not held", "held"],
)
def test_calls_that_are_timed_one_by_one(hold_us: int, expected: Batch) -> None:
    device = SimulatedDevice(launch_ns=20 * US)
    assert clock_of(device).durations(device.call(5 * US), 3, device.settle, hold_us * US) == expected


@pytest.mark.parametrize(
    ("launch_us", "call_us", "count", "hold_us"),
    [
        (0, 5, 100, 0),  # nothing is known yet, or calls are not queued
        (20, 5, 100, 1.5 * 20 * 100 + 20),
        (20, 39, 100, 1.5 * 20 * 100 + 20),
        (20, 40, 100, 1.5 * 20 * 2 + 20),  # the host gets ahead by itself
        (20, 5, 1, 1.5 * 20 + 20),
        (200_000, 5, 100, 100_000),  # for a tenth of a second at most
    ],
)
def test_how_long_a_device_is_held(launch_us: int, call_us: int, count: int, hold_us: float) -> None:
    assert clocks.hold_ns(launch_us * US, call_us * US, count) == round(hold_us * US)


@pytest.mark.parametrize(
    ("launch_us", "call_us", "count"),
    [
        (0, 0, 128),
        (20, 5, 128),
        (2_000, 5, 50),  # so many launches in a tenth of a second
        (20, 18_000_000, 1),  # 1 GiB over 1 GbE
        (20, 400_000, 5),
        (200_000, 5, 1),
    ],
)
def test_how_many_calls_are_queued_at_once(launch_us: int, call_us: int, count: int) -> None:
    assert clocks.most(launch_us * US, call_us * US) == count


def test_the_page_moves_with_every_call_that_the_device_has_done() -> None:
    """Fifty calls of a second look like fifty calls, and not like one that hangs."""
    page, seen = ProgressPage(), []

    class Watched(SimulatedDevice):
        """Notes what is on the page whenever the host waits for a mark."""

        def mark(self) -> SimulatedMark:
            mark = super().mark()
            mark.waiting = lambda: seen.append(page.read()[2])
            return mark

    device = Watched(launch_ns=20 * US)
    clock_of(device, page).offsets(device.call(10**9), 50)
    assert seen == [2 * number + 1 for number in range(51)]  # odd: inside communication
    assert page.read()[2] == 2 * 51


def test_a_processor_holds_nothing_and_is_never_starved() -> None:
    made: list[int] = []
    batch = Clock().offsets(lambda: made.append(1), 3, hold_ns=10**9)
    assert (len(batch.ns), batch.launch_ns, batch.starved, Clock.queues) == (3, 0, 0, False)
    assert Clock().durations(lambda: made.append(1), 2, lambda: made.append(2)).starved == 0
    assert made == [1, 1, 1, 2, 1, 2, 1]


@pytest.mark.parametrize(
    ("starved_us", "took_us", "limited"), [(0, 100, False), (1, 100, False), (2, 100, True), (20, 0, True)]
)
def test_launches_that_can_be_seen(starved_us: int, took_us: int, limited: bool) -> None:
    assert clocks.limits(starved_us * US, took_us * US) is limited


def test_the_clock_of_a_device_goes_faster_under_load() -> None:
    """Each time it is held it is seen how fast the clock goes: at the next time it is half as fast again."""
    device = SimulatedDevice(launch_ns=20 * US, quickens=1.5)
    clock = clock_of(device)
    for _ in range(10):
        begin = device.free_ns
        clock.offsets(device.call(5 * US), 1, 3_000 * US)
        assert device.free_ns - begin > 1_900 * US
