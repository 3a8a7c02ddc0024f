"""Addresses of the ranks' hosts, out of /proc."""

from pathlib import Path

from nccltool.attach.find import addresses
from nccltool.attach.seen.ranks import RankFound
from nccltool.hosts.sources.base import Tree

TRIE = """\
Main:
  +-- 10.77.0.0/24 2 0 2
     |-- 10.77.0.0
        /24 link UNICAST
     |-- 10.77.0.2
        /32 host LOCAL
  +-- 127.0.0.0/8 2 0 2
     |-- 127.0.0.1
        /32 host LOCAL
Local:
     |-- 10.77.0.2
        /32 host LOCAL
"""
SIX = """\
00000000000000000000000000000001 01 80 10 80       lo
fd770000000000010000000000000001 02 40 00 80     eth1
fe8000000000000040a8c5fffe1b2c3d 02 40 20 80     eth0
zz 02
"""


def _tree(folder: Path) -> Tree:
    net = folder / "proc" / "7" / "net"
    net.mkdir(parents=True)
    (net / "fib_trie").write_text(TRIE)
    (net / "if_inet6").write_text(SIX)
    return Tree(str(folder))


def test_addresses_without_loopback_and_of_links(tmp_path: Path) -> None:
    assert addresses.of_process(7, _tree(tmp_path)) == ("10.77.0.2", "fd77:0:0:1::1")


def test_what_cannot_be_read_has_none(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    ranks = (RankFound(host="n2", pid=7, rank=0), RankFound(host="n2", pid=8, rank=1))
    assert [one.addresses for one in addresses.with_addresses(ranks, tree)] == [("10.77.0.2", "fd77:0:0:1::1"), ()]
