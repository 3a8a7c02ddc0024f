"""The end of a job's logs, through triage."""

from pathlib import Path

from nccltool.attach.look import job_log
from nccltool.attach.seen.ranks import RankFound
from nccltool.hosts.sources.base import Tree

_FAILED = b"""\
step 1 loss 3.1
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
"""


def _tree(root: Path, files: dict[int, bytes], path: str = "/log") -> Tree:
    for pid, data in files.items():
        folder = root / f"proc/{pid}"
        (folder / "fd").mkdir(parents=True)
        (folder / "root").mkdir()
        (folder / "fd/1").symlink_to(path)
        (folder / f"root{path}").write_bytes(data)
    return Tree.at(root)


def test_a_failure_is_named(tmp_path: Path) -> None:
    (seen,), unread = job_log.read([RankFound(host="n1", pid=7, rank=1)], (), "n1", _tree(tmp_path, {7: _FAILED}))
    assert unread == ()
    assert (seen.file, seen.rank, seen.root_cause) == ("/log", 1, "out-of-memory")
    assert "CUDA out of memory" in seen.text


def test_a_log_of_all_ranks_is_of_none(tmp_path: Path) -> None:
    ranks = [RankFound(host="n1", pid=pid, rank=pid - 7) for pid in (7, 8)]
    (seen,), _ = job_log.read(ranks, (), "n1", _tree(tmp_path, {7: _FAILED, 8: _FAILED}))
    assert seen.rank is None


def test_a_healthy_log_says_nothing(tmp_path: Path) -> None:
    tree = _tree(tmp_path, {7: b"step 1 loss 3.1\nstep 2 loss 3.0\n" * 10_000})
    assert job_log.read([RankFound(host="n1", pid=7, rank=1)], (), "n1", tree) == ((), ())


def test_a_log_that_is_gone(tmp_path: Path) -> None:
    tree = _tree(tmp_path, {7: b""})
    (tmp_path / "proc/7/root/log").unlink()
    seen, (unread,) = job_log.read([RankFound(host="n1", pid=7, rank=1)], (), "n1", tree)
    assert (seen, unread.what) == ((), "log /log")
