"""One sample of a host."""

import os

import pytest

from nccltool.attach.look import sample, stacks
from nccltool.attach.seen.ranks import RankFound
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree


def test_this_process_as_a_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Unknown("Permission Denied: Try running again")
    monkeypatch.setattr(stacks, "taken", lambda pids, tree: dict.fromkeys(pids, refused))
    ranks = (RankFound(host="n1", pid=os.getpid(), rank=3), RankFound(host="n1", pid=2**22 + 1))
    taken, unread = sample.take(ranks, Tree())
    here, gone = taken.ranks
    assert here.process is not None and here.process.pid == os.getpid()
    assert here.sockets is not None
    assert (gone.process, gone.stacks, gone.sockets) == (None, (), None)
    assert [(one.what, one.reason) for one in unread] == [
        (f"Python stack of rank 3 (pid {os.getpid()})", refused.reason)
    ]


def test_stacks_can_be_left_out() -> None:
    taken, unread = sample.take((RankFound(host="n1", pid=os.getpid()),), Tree(), with_stacks=False)
    assert (taken.ranks[0].stacks, unread) == ((), ())
