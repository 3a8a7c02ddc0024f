"""The note of a rank, as its supervisor reads it."""

from nccltool.worker.progress_page import ProgressPage


def test_the_count_is_odd_inside_a_call() -> None:
    page = ProgressPage()
    assert page.read() == ("starting", -1, 0)
    page.phase("timing", step=3)
    assert page.watched(page.read)() == ("timing", 3, 1)
    assert page.read() == ("timing", 3, 2)
    page.tick()
    assert page.read() == ("timing", 3, 4)
    page.phase("checking")
    assert page.read() == ("checking", 3, 0)


def test_how_long_nothing_may_move_depends_on_where_the_rank_is() -> None:
    page = ProgressPage()
    assert page.allowance_s() == 0.0
    page.phase("joining", allowance_s=24.0)
    assert page.allowance_s() == 24.0
    page.phase("warm-up", step=0, allowance_s=4.0)
    page.allow(146.5)
    assert page.allowance_s() == 4.0  # outside of a call nothing takes longer
    assert page.watched(page.allowance_s)() == 150.5
    page.phase("timing")
    assert (page.allowance_s(), page.watched(page.allowance_s)()) == (0.0, 146.5)
