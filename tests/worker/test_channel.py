"""What the runner says is heard line by line, and its end is known."""

import os

import pytest

from nccltool.worker.channel import Channel


def test_what_follows_a_line_is_left_to_others() -> None:
    reading, writing = os.pipe()
    channel = Channel(-1, reading)
    assert channel.wait_for_line(0.0) is None
    os.write(writing, b"go on\nand more")
    assert channel.wait_for_line(1.0) == "go on"
    os.close(writing)
    assert os.read(reading, 99) == b"and more"
    with pytest.raises(EOFError):
        channel.wait_for_line(1.0)
    os.close(reading)


def test_where_nobody_speaks_nobody_is_waited_for() -> None:
    assert Channel(-1, None).wait_for_line(60.0) == ""
