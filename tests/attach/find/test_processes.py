"""Processes as /proc has them."""

import os
from pathlib import Path

from nccltool.attach.find import processes
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree


def _process(root: Path, pid: int, *, name: str, env: bytes, threads: tuple[str, ...]) -> None:
    folder = root / "proc" / str(pid)
    for number, thread in enumerate(threads):
        (folder / "task" / str(pid + number)).mkdir(parents=True)
        (folder / "task" / str(pid + number) / "comm").write_text(f"{thread}\n")
    (folder / "stat").write_text(f"{pid} (a) b) S 7 {' 0' * 17} 1234 {' 0' * 30}")
    (folder / "status").write_text(f"Name:\t{name}\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t{pid}\t3\n")
    (folder / "cmdline").write_bytes(b"python\0train.py\0")
    (folder / "environ").write_bytes(env)


def test_a_captured_tree(tmp_path: Path) -> None:
    _process(tmp_path, 40, name="python", env=b"RANK=1\0SECRET=x\0", threads=("python", "gloo_tcp_loop"))
    _process(tmp_path, 41, name="python", env=b"", threads=("python",))
    (tmp_path / "proc/41/environ").unlink()
    (tmp_path / "proc/stat").write_text("cpu 1\nbtime 1000\n")
    rows = processes.rows(Tree(str(tmp_path)))
    assert sorted(rows) == [40, 41]
    one = rows[40]
    assert (one.parent, one.name, one.state, one.uid, one.started_ticks) == (7, "python", "S", 1000, 1234)
    assert (one.inner_pids, one.command, one.env, one.is_distributed) == (
        (40, 3),
        ("python", "train.py"),
        {"RANK": "1"},
        True,
    )
    assert isinstance(rows[41].env, Unknown)
    assert not rows[41].is_distributed
    assert processes.started_at_s(Tree(str(tmp_path)), os.sysconf("SC_CLK_TCK")) == 1001


def test_this_process_is_seen() -> None:
    row = processes.row(Tree(), os.getpid())
    assert row is not None
    assert (row.parent, row.uid) == (os.getppid(), os.getuid())
    assert processes.row(Tree(), 2**22 + 1) is None
