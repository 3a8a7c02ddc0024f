"""What is read once after the samples, each with its deadline."""

import threading
from pathlib import Path

import pytest

from nccltool.attach.look import kernel_log, once, worker_server
from nccltool.attach.seen.job import HostLook, HostSample
from nccltool.attach.seen.ranks import RankFound
from nccltool.attach.seen.sources import KernelLine
from nccltool.hosts.sources.base import Tree

_SEEN = HostLook(
    host="n1", ranks=(RankFound(host="n1", pid=7, rank=0),), samples=(HostSample(at_s=1, wall_s=1, ranks=()),)
)


def test_one_source_that_hangs_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    released = threading.Event()
    line = KernelLine(host="n1", kind="xid", text="Xid")
    monkeypatch.setattr(once, "DEADLINE_S", 0.3)
    monkeypatch.setattr(worker_server, "asked", lambda ranks, samples: released.wait(30))
    monkeypatch.setattr(kernel_log, "read", lambda ranks, host: ((line,), ()))
    found = once.read(_SEEN, Tree.at(tmp_path), False)
    released.set()
    assert found.kernel == (line,)
    assert [(one.what, one.reason) for one in found.unread] == [("worker servers", "did not return within 0.3 s")]
    assert (found.servers, found.recorders, found.logs, found.inspectors) == ((), (), (), ())
