"""A folder behind FUSE whose reads take as long as a test says, for all processes or for those of one rank.

python slow_storage.py MOUNT FOLDER DELAYS

DELAYS is a JSON file, read again before each read: {"seconds": 0.05, "pids": [7, 8]}; without pids, for everyone.
A process that a named one started counts as well. Needs root, /dev/fuse, libfuse, and mfusepy.
"""

import ctypes.util
import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

_MOUNTED_S = 20.0


def missing() -> str:
    """Why there can be none here; empty when there can."""
    if os.geteuid() or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "root and /dev/fuse are needed"
    if not ctypes.util.find_library("fuse3") and not ctypes.util.find_library("fuse"):
        return "libfuse is not installed"
    try:
        import_module("mfusepy")
    except ImportError:
        return "mfusepy is not installed"
    return ""


class Storage:
    """A mounted folder."""

    def __init__(self, folder: Path, delays: Path) -> None:
        self.folder, self._delays = folder, delays
        self.slow(0.0)

    def slow(self, seconds: float, pids: Sequence[int] = ()) -> None:
        """From now on, a read takes so long: of these processes, or of all."""
        new = self._delays.with_suffix(".new")
        new.write_text(json.dumps({"seconds": seconds, "pids": list(pids)}))
        new.replace(self._delays)


@contextmanager
def mounted(here: Path, backing: Path) -> Iterator[Storage]:
    """`backing` as a storage, in a new folder below `here`."""
    if why := missing():
        pytest.skip(why)
    folder, delays = here / "storage", here / "delays.json"
    folder.mkdir()
    storage = Storage(folder, delays)
    argv = [sys.executable, __file__, str(folder), str(backing), str(delays)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE) as server:
        try:
            _wait(folder, server)
            yield storage
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=False, timeout=30)
            server.kill()


def _wait(folder: Path, server: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _MOUNTED_S
    while not folder.is_mount():
        if server.poll() is not None or time.monotonic() > until:
            server.kill()
            raise AssertionError(f"not mounted: {server.communicate()[1].decode(errors='replace')[-400:]}")
        time.sleep(0.02)


def _is_of(pid: int, named: Sequence[int]) -> bool:
    """Whether a thread belongs to one of the named processes, or to one that they started."""
    while pid > 1:
        if pid in named:
            return True
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return False
        of = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        group = int(of["Tgid"])
        pid = group if group != pid else int(of["PPid"])
    return False


def _serve(mount: str, backing: str, delays: str) -> None:
    fuse = import_module("mfusepy")  # an optional package without types

    class Slow(fuse.Operations):  # type: ignore[misc,name-defined]
        def getattr(self, path: str, fh: int | None = None) -> dict[str, float]:
            try:
                seen = os.lstat(backing + path)
            except OSError as error:
                raise fuse.FuseOSError(error.errno or errno.EIO) from error
            names = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_atime", "st_mtime", "st_ctime")
            return {name: getattr(seen, name) for name in names}

        def readdir(self, path: str, fh: int) -> list[str]:
            return [".", "..", *os.listdir(backing + path)]

        def open(self, path: str, flags: int) -> int:
            return os.open(backing + path, flags)

        def release(self, path: str, fh: int) -> int:
            os.close(fh)
            return 0

        def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
            asked = json.loads(Path(delays).read_text())
            pid = fuse.fuse_get_context()[2]
            if asked["seconds"] and (not asked["pids"] or _is_of(pid, asked["pids"])):
                time.sleep(asked["seconds"])
            return os.pread(fh, size, offset)

    fuse.FUSE(Slow(), mount, foreground=True, nothreads=False, direct_io=True, allow_other=True)


if __name__ == "__main__":
    _serve(*sys.argv[1:4])
