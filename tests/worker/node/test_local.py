"""What a node process finds before it starts agents."""

import errno
import multiprocessing
import os

import pytest

from nccltool.worker.node import local
from nccltool.worker.node.rendezvous import CannotStart


def test_shared_memory_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def lock(_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(type(multiprocessing.get_context("fork")), "Lock", lock)
    with pytest.raises(CannotStart) as refused:
        local._check_semaphores()
    assert refused.value.finding.code == "shm-unusable"
    assert refused.value.finding.message.endswith("cannot use /dev/shm: Read-only file system")
