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
