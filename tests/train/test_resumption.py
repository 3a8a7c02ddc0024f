"""What was lost when a training resumed: unknown if nobody noted the last step."""

import pytest

from nccltool.train.events import Resumed
from nccltool.train.resumption import finding


@pytest.mark.parametrize(
    ("reached", "away_s", "said"),
    [
        (6, 12.4, ("2 steps lost; 12.4 s since the last step",)),
        (5, 12.4, ("1 step lost; 12.4 s since the last step",)),
        (4, 12.4, ("no step lost; 12.4 s since the last step",)),
        (3, 12.4, ()),
        (None, None, ()),
    ],
)
def test_what_was_lost(reached: int | None, away_s: float | None, said: tuple[str, ...]) -> None:
    event = Resumed(
        strategy="ddp", number=4, folder="/c", ranks_then=4, sequences=8, ns=1, reached=reached, away_s=away_s
    )
    found = finding(event, 2, 9)
    assert found.message == (
        "ddp resumed after step 4, saved by 4 ranks: the global batch remains 8 sequences, 4 on each of 2 ranks"
    )
    assert found.evidence == ("from /c", *said)
