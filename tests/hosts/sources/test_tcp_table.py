"""The kernel's table of connections: whose calls came, and do not confirm our answer."""

import os
import sys
from pathlib import Path

import pytest

from nccltool.hosts.sources.base import Tree
from nccltool.hosts.sources.tcp_table import half_open, peers, stuck_bytes

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
V4 = """\
   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 01004D0A:1F90 02004D0A:C350 03 00000000:00000000 01:00000064 00000001     0        0 0
   2: 01004D0A:1F91 04004D0A:C350 03 00000000:00000000 01:00000064 00000001     0        0 0
   3: 01004D0A:1F90 03004D0A:C351 01 00000000:00000000 00:00000000 00000000     0        0 2
"""
V6 = """\
   0: 0000000000000000FFFF000001004D0A:1F90 0000000000000000FFFF000005004D0A:C350 03 0:0 01:64 00000001 0 0 0
   1: 000000FD000000000000000001000000:1F90 000000FD000000000000000002000000:C350 03 0:0 01:64 00000001 0 0 0
"""


@pytest.mark.skipif(sys.byteorder != "little", reason="the table of a little-endian machine")
def test_callers(tmp_path: Path) -> None:
    folder = tmp_path / "proc/self/net"
    folder.mkdir(parents=True)
    (folder / "tcp").write_text(HEAD + V4)
    (folder / "tcp6").write_text(HEAD + V6)
    assert half_open(8080, Tree.at(tmp_path)) == ("10.77.0.2", "10.77.0.5", "fd00::2")
    assert half_open(9, Tree.at(tmp_path)) == ()


def test_without_a_table(tmp_path: Path) -> None:
    assert half_open(8080, Tree.at(tmp_path)) == ()


SENT = """\
   0: 01004D0A:C350 02004D0A:0016 01 00000618:00000000 01:00000064 00000004     0        0 11 1
   1: 01004D0A:C351 02004D0A:0016 01 00000618:00000000 01:00000064 00000000     0        0 12 1
   2: 01004D0A:C352 02004D0A:0016 02 00000001:00000000 01:00000064 00000004     0        0 13 1
   3: 01004D0A:C353 02004D0A:0016 01 00000618:00000000 01:00000064 00000004     0        0 14 1
"""


@pytest.mark.parametrize(
    ("inodes", "expected"),
    [((11, 12, 13), {os.getsid(0): 0x618}), ((12,), {os.getsid(0): 0}), ((13,), {}), ((), {})],
    ids=["one sends again", "one has only just sent", "one was never accepted", "none"],
)
def test_what_nobody_confirms(tmp_path: Path, inodes: tuple[int, ...], expected: dict[int, int]) -> None:
    """Of four connections, the last of which is of others."""
    tree = opened(tmp_path, inodes)
    assert stuck_bytes({os.getsid(0), 1}, tree) == expected


def test_where_connections_lead(tmp_path: Path) -> None:
    assert peers({os.getsid(0), 1}, opened(tmp_path, (11, 12, 13))) == {os.getsid(0): ("10.77.0.2", 22)}


def opened(root: Path, inodes: tuple[int, ...]) -> Tree:
    """A tree in which this process has opened these sockets."""
    for folder in ("proc/self/net", f"proc/{os.getpid()}/fd"):
        (root / folder).mkdir(parents=True)
    (root / "proc/self/net/tcp").write_text(HEAD + SENT)
    for handle, target in enumerate(("/dev/null", *(f"socket:[{inode}]" for inode in inodes))):
        (root / f"proc/{os.getpid()}/fd/{handle}").symlink_to(target)
    return Tree.at(root)
