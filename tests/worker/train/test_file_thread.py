"""What another thread does for a rank, in time or not."""

import threading
import time

import pytest

from nccltool.worker.train.file_thread import FileThread

pytestmark = [pytest.mark.torch, pytest.mark.quick]


def test_it_does_one_thing_after_another() -> None:
    thread = FileThread()
    assert thread.done(lambda: threading.get_native_id(), 20.0) == thread.thread != threading.get_native_id()
    with pytest.raises(ZeroDivisionError):
        thread.done(lambda: 1 // 0, 20.0)
    assert thread.done(lambda: "still there", 20.0) == "still there"


def test_what_takes_too_long_is_left() -> None:
    with pytest.raises(TimeoutError):
        FileThread().done(lambda: time.sleep(60), 0.1)
