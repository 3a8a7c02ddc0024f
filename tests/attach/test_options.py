"""Options that contradict each other."""

import pytest

from nccltool.attach.options import AttachOptions, checked, look_order
from nccltool.core.errors import BadInput


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (AttachOptions(hosts="a", job="3"), "--hosts and --job name different places to look at"),
        (AttachOptions(job="3", from_="x"), "--job and --from name different places to look at"),
        (
            AttachOptions(pid=3, kubernetes="a/b"),
            "--pid names a process of this host, and --kubernetes other places",
        ),
        (AttachOptions(from_="x", save="y"), "--save has no meaning with --from"),
        (AttachOptions(save=__file__), f"--save {__file__} is not a folder"),
        (AttachOptions(from_="x", ask=True, trust_pickle=True), "--ask has no meaning with --from"),
        (AttachOptions(from_="x", pid=4), "--pid has no meaning with --from"),
        (AttachOptions(from_="x", program="train.py"), "--program has no meaning with --from"),
        (AttachOptions(ask=True), "--ask: the dumps that ranks write are pickles"),
        (AttachOptions(debug_container="i"), "--debug-container has no meaning without --kubernetes"),
        (AttachOptions(container="c"), "--container has no meaning without --kubernetes"),
    ],
)
def test_contradictions(options: AttachOptions, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        checked(options)
    assert caught.value.message == message


def test_the_order() -> None:
    assert not look_order(AttachOptions()).asks
    asks = look_order(checked(AttachOptions(ask=True, trust_pickle=True)))
    assert (asks.asks, asks.trust_pickle) == (True, True)
    order = look_order(checked(AttachOptions(pid=7, interval=3.0, samples=5)))
    assert (order.pid, order.interval_s, order.samples, order.program) == (7, 3.0, 5, "")
