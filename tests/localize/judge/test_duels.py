"""A link against its ends."""

import pytest

from nccltool.localize.judge.fit import Fit, fit
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import everyone, healthy, one


def fitted(fast: int, together: tuple[float, ...]) -> Fit:
    """n00 and n01 are fast in so many rounds; then they meet."""
    rows = [each for each in everyone(healthy, rounds=fast + 1) if {*each.members} != {"n00", "n01"}]
    rows += [one(("n00", "n01"), speed, 20 + number) for number, speed in enumerate(together)]
    return fit(rows, expected_busbw_bytes_per_s=None, topology=Topology(), counters=())


@pytest.mark.parametrize(
    ("fast", "together", "is_link"), [(12, (0.5,) * 4, True), (2, (0.5,) * 2, False), (12, (0.5, 1.0), False)]
)
def test_a_link_is_bad_if_its_ends_were_fast_often(fast: int, together: tuple[float, ...], is_link: bool) -> None:
    found = fitted(fast, together)
    part = found.part(("link", ("n00", "n01")))
    assert part is not None
    assert (found.bad[part] > 0.9) == is_link
