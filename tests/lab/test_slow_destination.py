"""Four hosts that exchange unevenly: the one that receives slowly is named, and not the one that receives most."""

from collections.abc import Callable, Iterator

import pytest

from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.sshd import Sshd
from tests.support.commands import NCCLTOOL, Ended

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LIMIT_S = 200.0
FULL, HALF = "200mbit", "100mbit"
Exchange = Callable[[], Ended]


@pytest.fixture
def wired(possible: None) -> Iterator[Lab]:
    with Lab(4) as four:
        four.wire(FULL)
        yield four


@pytest.fixture
def exchange(wired: Lab, with_sshd: Callable[[Lab], Sshd], start: Start) -> Exchange:
    servers = with_sshd(wired)

    def run() -> Ended:
        words = ("--op", "all_to_all_v", "--skew", "uniform,zipf:1.1,one-hot", "--sizes", "256KiB")
        argv = (*NCCLTOOL, "probe", "--hosts", "n[1-4]", "--ssh", " ".join(servers.ssh), *words)
        return start(wired.hosts[0], argv).wait(LIMIT_S)

    return run


def slowest(ended: Ended) -> list[int | None]:
    assert [row["wrong"] for row in ended.document["measurements"]] == [0, 0, 0], ended.said
    sent = [row["traffic"] for row in ended.document["measurements"]]
    assert [one["unknown_reason"] for one in sent] == [None] * 3
    return [one["slowest_destination"] for one in sent]


def test_the_busiest_is_not_the_slowest(exchange: Exchange) -> None:
    assert slowest(exchange()) == [None] * 3


@pytest.mark.parametrize("rank", range(4))
def test_the_host_that_receives_slowly_is_named(wired: Lab, exchange: Exchange, rank: int) -> None:
    wired.slow_down(wired.hosts[rank], HALF, sends=False)
    assert slowest(exchange()) == [rank] * 3
