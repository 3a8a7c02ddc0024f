"""What a process can see of itself."""

import os

from nccltool.core import processes


def test_this_process_is_running() -> None:
    assert processes.state(os.getpid()) == "R"


def test_a_process_that_is_not_there() -> None:
    assert processes.state(2**30) == ""


def test_the_peak_is_at_least_what_was_used() -> None:
    before = processes.peak_rss_bytes()
    block = bytearray(os.urandom(4096)) * 8192  # 32 MiB, all of it touched
    after = processes.peak_rss_bytes()
    assert before is not None
    assert after is not None
    assert after >= max(before, len(block))


def test_giving_memory_back_leaves_what_is_used() -> None:
    block = bytearray(b"x") * 2**20
    processes.give_back_free_memory()
    assert block.count(b"x") == 2**20


def test_the_end_of_a_group_that_is_not_there() -> None:
    assert processes.end_group(2**30, timeout_s=10.0)
