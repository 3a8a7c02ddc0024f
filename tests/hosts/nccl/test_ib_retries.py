"""How long an adapter goes on trying."""

import pytest

from nccltool.core.versions import Version
from nccltool.hosts.nccl import ib_retries


@pytest.mark.parametrize(
    ("timeout", "retries", "nccl", "seconds"),
    [
        (None, None, Version(2, 27, 3), 34.4),  # 8 tries of 4.3 s
        (None, None, None, 34.4),
        (None, None, Version(2, 18, 3), 8.6),
        (None, None, Version(2, 10, 3), 0.54),
        (22, 7, Version(2, 27, 3), 137.4),
        (22, 0, Version(2, 27, 3), 17.2),
        (22, 100, Version(2, 27, 3), 137.4),
        (0, None, Version(2, 27, 3), 34.4),  # without an end: nobody waits for that
        (32, None, Version(2, 27, 3), 34.4),
    ],
)
def test_until_the_error(timeout: int | None, retries: int | None, nccl: Version | None, seconds: float) -> None:
    assert ib_retries.seconds(timeout, retries, nccl) == pytest.approx(seconds, rel=0.01)
