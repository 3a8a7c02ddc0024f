"""What a start costs, for hosts of several kinds."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch import start_costs
from nccltool.launch.start_costs import Started

GIB = 1 << 30


@pytest.mark.parametrize(
    ("ranks", "parts", "seconds"),
    [
        (Started(hosts=1, per_host=2), {"Python and torch": 3.9, "ranks": 0.102}, 4.0),
        (Started(hosts=2, per_host=1, remote=True), {"hosts": 2.04, "Python and torch": 3.9, "ranks": 0.052}, 6.0),
        (
            Started(hosts=1, per_host=1, gpus=True),
            {"Python and torch": 5.9, "ranks": 0.051, "GPU contexts": 0.5, "communicator": 3.0027},
            9.5,
        ),
        (
            Started(hosts=1, per_host=8, gpus=True),
            {"Python and torch": 5.9, "ranks": 0.408, "GPU contexts": 4.0, "communicator": 3.0216},
            13.3,
        ),
        (
            Started(hosts=64, per_host=8, gpus=True, remote=True),
            {
                "hosts": 3.28,
                "Python and torch": 5.9,
                "ranks": 0.912,
                "GPU contexts": 4.0,
                "communicator": 4.3824,
            },
            18.5,
        ),
        (
            Started(hosts=512, per_host=8, gpus=True, remote=True),
            {
                "hosts": 12.24,
                "Python and torch": 5.9,
                "ranks": 4.496,
                "GPU contexts": 4.0,
                "communicator": 14.0592,
            },
            40.7,
        ),
    ],
)
def test_a_start(ranks: Started, parts: dict[str, float], seconds: float) -> None:
    assert {part.what: part.seconds for part in start_costs.costs(ranks)} == pytest.approx(parts)
    assert start_costs.start_s(ranks) == pytest.approx(seconds, abs=0.05)


def test_a_communicator_of_96_ki_ranks_takes_as_long_as_was_published() -> None:
    assert start_costs.communicator_s(96 * 1024) == pytest.approx(265, rel=0.02)


@pytest.mark.parametrize(
    ("ranks", "free_bytes", "cores", "told"),
    [
        (2, 4 * GIB, 2, ""),
        (16, 4 * GIB, 2, ""),
        (16, None, 2, ""),
        (500, None, 2, "500 ranks on 2 cores: 1000 processes, about 7.3 GB of memory, and 29 s to start"),
        (128, 64 * GIB, 8, "128 ranks on 8 cores: 256 processes, about 1.9 GB of memory, and 10 s to start"),
        (128, 64 * GIB, 96, ""),
    ],
)
def test_what_is_said(ranks: int, free_bytes: int | None, cores: int, told: str) -> None:
    assert start_costs.told_of_host(ranks, free_bytes, cores) == told


@pytest.mark.parametrize(
    ("ranks", "free_bytes", "error"),
    [
        (
            500,
            4 * GIB,
            ("500 ranks need about 7.3 GB of memory, and this host has 4.3 GB free", "start at most 292"),
        ),
        (
            2,
            20_000_000,
            ("2 ranks need about 29.4 MB of memory, and this host has 20.0 MB free", "start at most 1"),
        ),
    ],
)
def test_what_does_not_fit_is_refused(ranks: int, free_bytes: int, error: tuple[str, str]) -> None:
    with pytest.raises(BadInput) as raised:
        start_costs.told_of_host(ranks, free_bytes, 2)
    assert raised.value.message == error[0]
    assert raised.value.remedy == f"{error[1]}: --nodes, --nproc-per-node"
