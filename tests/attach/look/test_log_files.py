"""Which log files belong to a job."""

import os
from pathlib import Path

from nccltool.attach.look import log_files
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree


def test_files_of_a_job(tmp_path: Path) -> None:
    targets = {7: ("/logs/a", "/logs/a"), 8: ("/logs/a", "/logs/b"), 9: ("pipe:[3]", "/dev/null")}
    for pid, (out, err) in targets.items():
        folder = tmp_path / f"proc/{pid}/fd"
        folder.mkdir(parents=True)
        (folder / "1").symlink_to(out)
        (folder / "2").symlink_to(err)
    assert log_files.of([7, 8, 9, 10], Tree.at(tmp_path)) == {"/logs/a": (7, 8), "/logs/b": (8,)}


def test_the_end_of_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "proc/7/root"
    folder.mkdir(parents=True)
    (folder / "a").write_bytes(b"0123456789")
    os.mkfifo(folder / "fifo")
    tree = Tree.at(tmp_path)
    assert log_files.tail(7, "/a", 4, tree) == b"6789"
    assert log_files.tail(7, "/a", 40, tree) == b"0123456789"
    assert log_files.tail(7, "/fifo", 4, tree) == Unknown("/fifo is no file")
    assert isinstance(log_files.tail(7, "/none", 4, tree), Unknown)
