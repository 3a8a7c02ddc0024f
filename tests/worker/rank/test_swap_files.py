"""Where a rank swaps to: what cannot be used is named with its host, and no room is taken longer than needed."""

import errno
import os
import re
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from nccltool.worker.rank import swap_files
from nccltool.worker.rank.swap_files import CannotSwap

NOT_HERE = f"cannot be used on {socket.gethostname()}"


def test_ranks_of_a_host_share_a_folder_of_their_user(tmp_path: Path) -> None:
    name = str(tmp_path / "nccltool-1")
    folders = [Path(swap_files.made(str(tmp_path), name, rank)) for rank in (0, 1, 1)]
    assert [folder.name[:6] for folder in folders] == ["rank0-", "rank1-", "rank1-"]
    assert {folder.parent for folder in folders} == {Path(name)}
    assert [entry for folder in folders for entry in folder.iterdir()] == []
    assert Path(name).stat().st_mode & 0o777 == 0o700
    assert not swap_files.has_files(name)
    (folders[0] / "state.swp").write_bytes(b"0")
    assert swap_files.has_files(name)


def test_a_folder_that_is_missing_is_not_made(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(
        CannotSwap, match=re.escape(f"--offload-dir {missing} {NOT_HERE}: No such file or directory")
    ):
        swap_files.made(str(missing), str(missing / "nccltool-1"), 0)
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_direct_io(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = os.open

    def refuse(path: Any, flags: int, *more: Any, **others: Any) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        return make(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CannotSwap, match=rf"{NOT_HERE}: its file system has no direct I/O \(O_DIRECT\)"):
        swap_files.made(str(tmp_path), str(tmp_path / "nccltool-1"), 0)


def test_room_is_taken_up_and_given_back(tmp_path: Path) -> None:
    def taken() -> int:
        """Files that are open only are not in the folder."""
        links = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
        return sum(
            link.stat().st_size for link in links if os.path.lexists(link) and f"{tmp_path}/" in os.readlink(link)
        )

    with swap_files.reserved(str(tmp_path), str(tmp_path), 3 * 2**20):
        assert taken() == 4 * 2**20
    assert taken() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_disk_with_too_little_room_is_not_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "posix_fallocate", None)  # which would take what there is
    size = 2 * shutil.disk_usage(tmp_path).total
    reason = (
        f"--offload-dir /nvme {NOT_HERE}: No space left on device ({size / 2**20 + 1:.0f} MiB needed per rank)"
    )
    with pytest.raises(CannotSwap, match=re.escape(reason)), swap_files.reserved("/nvme", str(tmp_path), size):
        pass


def test_a_quota_that_only_writing_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exceeded(*_: Any) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(os, "posix_fallocate", exceeded)
    with pytest.raises(CannotSwap, match="Disk quota exceeded"), swap_files.reserved("/nvme", str(tmp_path), 1):
        pass


def test_a_disk_that_others_have_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swap_files.see_that_it_is_not_full(str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2**30, 2**30, 2**20 - 1))
    with pytest.raises(OSError, match="No space left on device") as error:
        swap_files.see_that_it_is_not_full(str(tmp_path))
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(tmp_path))
