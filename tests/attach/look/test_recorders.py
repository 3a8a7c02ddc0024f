"""Flight recorder dumps that are there: which of them say something about now."""

import os
import pickle
from pathlib import Path

import pytest

from nccltool.attach.look import recorders
from nccltool.attach.seen.job import HostSample, RankSample
from nccltool.attach.seen.process import SocketSeen
from nccltool.attach.seen.ranks import RankFound
from nccltool.hosts.sources.base import Tree
from tests.attach.look.worker_servers import entry, recorded

_NOW, _STARTED = 10_000.0, 5_000.0
_DUMP = recorded(entry(1, [[4]], False), completed=0)


def _rank(**settings: str) -> RankFound:
    return RankFound(
        host="n1", pid=7, rank=3, started_at_s=_STARTED, master="10.0.0.1:29500", settings=tuple(settings.items())
    )


def _sample(idle_s: float | None) -> HostSample:
    master = SocketSeen(local="a:1", peer="10.0.0.1:29500", state="ESTAB", last_received_ms=1, last_sent_ms=1)
    ms = None if idle_s is None else int(idle_s * 1000)
    peer = SocketSeen(local="a:2", peer="b:2", state="ESTAB", last_received_ms=ms, last_sent_ms=ms)
    return HostSample(at_s=1, wall_s=_NOW, ranks=(RankSample(pid=7, process=None, sockets=(master, peer)),))


@pytest.mark.parametrize(
    ("settings", "paths"),
    [
        ({"TORCH_FR_DUMP_TEMP_FILE": "/d/fr_"}, ["/d/fr_3"]),
        ({"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "/d/x"}, ["/d/x3"]),
        ({"HOME": "/home/a"}, ["/home/a/.cache/torch/comm_lib_trace_rank_3", "/tmp/nccl_trace_rank_3"]),
        (
            {"XDG_CACHE_HOME": "/c", "HOME": "/home/a"},
            ["/c/torch/comm_lib_trace_rank_3", "/tmp/nccl_trace_rank_3"],
        ),
    ],
)
def test_names(settings: dict[str, str], paths: list[str]) -> None:
    assert list(recorders.files(_rank(**settings))) == paths


def _written(root: Path, data: bytes, at_s: float) -> Tree:
    path = root / "proc/7/root/d/fr_3"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    os.utime(path, (at_s, at_s))
    return Tree.at(root)


@pytest.mark.parametrize(
    ("written_s", "idle_s", "stale"),
    [
        (_NOW - 20, 60, ""),
        (_NOW - 20, None, ""),
        (_NOW - 100, 60, "was written 100 s ago, and data has moved since"),
        (_NOW - 700, None, "was written 12 min ago"),
        (_STARTED - 1, 6000, "is older than the process"),
    ],
)
def test_freshness(tmp_path: Path, written_s: float, idle_s: float | None, stale: str) -> None:
    tree = _written(tmp_path, _DUMP, written_s)
    rank = _rank(TORCH_FR_DUMP_TEMP_FILE="/d/fr_")
    found = recorders.found([rank], _sample(idle_s), tree, False)
    (one,) = found.recorders
    assert (one.stale, one.dump is not None) == (stale, not stale)
    assert [unread.reason for unread in found.unread] == ([f"/d/fr_3 {stale}"] if stale else [])


@pytest.mark.parametrize("trust", [False, True])
def test_a_pickle_is_read_only_if_it_is_trusted(tmp_path: Path, trust: bool) -> None:
    document = {"entries": [], "pg_config": {"0": {"ranks": "[0, 3]"}}, "version": "2.10"}
    tree = _written(tmp_path, pickle.dumps(document), _NOW - 1)
    found = recorders.found([_rank(TORCH_FR_DUMP_TEMP_FILE="/d/fr_")], _sample(60), tree, trust)
    assert len(found.recorders) == trust
    assert [one.missing for one in found.unread] == (
        [] if trust else ["--trust-pickle, if you trust who wrote it"]
    )


@pytest.mark.parametrize("data", [b"", b"{}", b"\x80\x04", b"hello", b'{"entries": [], "pg_config": 7}'])
def test_something_else_is_left_out(tmp_path: Path, data: bytes) -> None:
    tree = _written(tmp_path, data, _NOW - 1)
    assert recorders.found([_rank(TORCH_FR_DUMP_TEMP_FILE="/d/fr_")], _sample(60), tree, True).recorders == ()


def test_there_is_none(tmp_path: Path) -> None:
    assert recorders.found([_rank(HOME="/h")], _sample(60), Tree.at(tmp_path), False) == recorders.RecorderFiles()
