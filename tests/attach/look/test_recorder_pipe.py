"""Ranks are asked for their dumps by the pipe of torch, with consent only."""

import os
import time
from pathlib import Path

import pytest

from nccltool.attach.look import recorder_pipe
from nccltool.attach.seen.ranks import RankFound
from nccltool.hosts.sources.base import Tree


def _rank(**settings: str) -> RankFound:
    named = {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "/d/fr_", **settings}
    return RankFound(host="n1", pid=7, rank=3, settings=tuple(named.items()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "proc/7/root/d"
    path.mkdir(parents=True)
    return path


_PIPED = _rank(TORCH_NCCL_DEBUG_INFO_PIPE_FILE="/d/p")


def test_a_rank_that_reads_its_pipe(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(folder / "p3.pipe")
    reader = os.open(folder / "p3.pipe", os.O_RDONLY | os.O_NONBLOCK)
    read: list[bytes] = []

    def monitor(seconds: float) -> None:
        """As torch does, a moment later."""
        read.append(os.read(reader, 16))
        (folder / "fr_3").write_bytes(b"dump")

    assert recorder_pipe.ask([_PIPED], Tree.at(tmp_path), monitor) == ()
    os.close(reader)
    assert read == [b"1"]


@pytest.mark.parametrize(
    ("rank", "kind", "reason"),
    [
        (_rank(), "", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE was not set when it started"),
        (_PIPED, "", "/d/p3.pipe: No such file or directory"),
        (_PIPED, "pipe", "/d/p3.pipe: No such device or address"),  # nobody reads from it
        (_PIPED, "file", "/d/p3.pipe is no pipe"),
        (_PIPED, "link", "/d/p3.pipe is no pipe"),
    ],
)
def test_who_cannot_be_asked(folder: Path, tmp_path: Path, rank: RankFound, kind: str, reason: str) -> None:
    path = folder / "p3.pipe"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "file":
        path.write_text("mine")
    elif kind == "link":
        path.symlink_to("/dev/null")
    (unread,) = recorder_pipe.ask([rank], Tree.at(tmp_path), lambda seconds: None)
    assert unread.reason == reason
    if kind == "file":
        assert path.read_text() == "mine"


def test_a_monitor_that_has_stopped(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_pipe, "DEADLINE_S", 0.3)
    os.mkfifo(folder / "p3.pipe")
    reader = os.open(folder / "p3.pipe", os.O_RDONLY | os.O_NONBLOCK)
    (unread,) = recorder_pipe.ask([_PIPED], Tree.at(tmp_path), time.sleep)
    os.close(reader)
    assert unread.reason == "no dump within 0.3 s of asking"
