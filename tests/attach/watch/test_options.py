"""From the options of a watch to its order."""

import pytest

from nccltool.attach.options import AttachOptions
from nccltool.attach.watch.options import WatchOptions, WatchOrder, watch_order
from nccltool.core.errors import BadInput

HERE = AttachOptions()


@pytest.mark.parametrize(
    ("options", "order"),
    [
        (WatchOptions(), None),
        (WatchOptions(watch="2min", metrics=":9780"), WatchOrder(every_s=120.0, metrics=":9780")),
        (WatchOptions(until_hung=True), WatchOrder(every_s=30.0, until_hung=True)),
        (
            WatchOptions(watch="10s", until_hung=True, then="true 'a b'"),
            WatchOrder(every_s=10.0, until_hung=True, then=("true", "a b")),
        ),
    ],
)
def test_orders(options: WatchOptions, order: WatchOrder | None) -> None:
    assert watch_order(options, HERE) == order


@pytest.mark.parametrize(
    ("options", "look", "message"),
    [
        (WatchOptions(then="true"), HERE, "--then has no meaning without --until-hung"),
        (WatchOptions(metrics=":1"), HERE, "--metrics has no meaning without --watch"),
        (WatchOptions(watch="1s"), HERE, "--watch 1s: expected 5 s to 1 h"),
        (WatchOptions(watch="soon"), HERE, "--watch 'soon' is not a duration"),
        (
            WatchOptions(watch="30s"),
            AttachOptions(from_="d"),
            "--from cannot be combined with --watch or --until-hung: a saved look does not change",
        ),
        (
            WatchOptions(until_hung=True),
            AttachOptions(native=True),
            "--native cannot be combined with --watch or --until-hung: native stacks stop the job",
        ),
    ],
)
def test_refused(options: WatchOptions, look: AttachOptions, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        watch_order(options, look)
    assert caught.value.message == message
