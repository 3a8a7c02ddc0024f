"""The process beside the agents that watches the counters of its host."""

import os
import socket

from nccltool.core import processes
from nccltool.launch import events, stopped
from nccltool.worker.channel import Channel
from nccltool.worker.node.counting import Counting
from tests.support.commands import until


def test_it_tells_what_grew_and_ends() -> None:
    before, (read_fd, write_fd) = set(processes.children()), os.pipe()
    counting = Counting(Channel(write_fd, None))
    (pid,) = set(processes.children()) - before
    assert counting.is_it(pid)
    assert until(lambda: processes.name(pid) == stopped.COUNTING, 10.0)
    counting.end()
    os.close(write_fd)
    with os.fdopen(read_fd, "rb") as said:
        told = events.decode(said.read().rstrip(b"\n"))
    assert isinstance(told, events.Counted)
    assert told.host == socket.gethostname()
    counting.end()


def test_one_that_was_waited_for_with_others_is_over() -> None:
    before, (read_fd, write_fd) = set(processes.children()), os.pipe()
    counting = Counting(Channel(write_fd, None))
    (pid,) = set(processes.children()) - before
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    counting.end()
    os.close(read_fd)
    os.close(write_fd)
