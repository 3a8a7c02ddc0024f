"""A snapshot is whole, ends in time, and survives whatever the files hold."""

import dataclasses
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts import reader
from nccltool.hosts.facts import NOT_READ, Cloud, Gpu, HostFacts, Nvidia, ProcessLimits
from nccltool.hosts.reader import SOURCES
from nccltool.hosts.sources.base import Source, Tree
from tests import captured_hosts
from tests.support.commands import until


def leaves(part: msgspec.Struct, path: str = "") -> Iterator[tuple[str, object]]:
    for one in msgspec.structs.fields(part):
        value, name = getattr(part, one.name), f"{path}{one.name}"
        yield name, value
        inner = value if isinstance(value, tuple) else (value,)
        for each in inner:
            if isinstance(each, msgspec.Struct) and not isinstance(each, Unknown):
                yield from leaves(each, f"{name}.")


def not_looked_at(host: HostFacts) -> list[str]:
    return [name for name, value in leaves(host) if value == NOT_READ]


def test_everything_is_looked_at() -> None:
    """A leaf without a source would be unknown for ever, with a reason that says nothing."""
    host = reader.take()
    assert not_looked_at(host) == []
    assert host.host == os.uname().nodename
    assert host.root == "/"


@pytest.mark.parametrize("name", captured_hosts.KINDS)
def test_everything_of_a_captured_tree_is_looked_at(name: str) -> None:
    host = captured_hosts.captured(name)
    assert not_looked_at(host) == []
    assert host.host == captured_hosts.KINDS[name].hostname


def test_sources_give_fields_of_the_host() -> None:
    fields = {one.name for one in msgspec.structs.fields(HostFacts)}
    assert {source.part for source in SOURCES} <= fields
    assert len({source.name for source in SOURCES}) == len(SOURCES)


def _hangs(tree: Tree, env: Mapping[str, str], seconds: float) -> Cloud:
    time.sleep(60)
    return Cloud()


def _breaks(tree: Tree, env: Mapping[str, str], seconds: float) -> Cloud:
    raise ValueError("junk")


def _kills(tree: Tree, env: Mapping[str, str], seconds: float) -> Cloud:
    time.sleep(0.2)
    os._exit(3)


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (_hangs, "reading cloud took longer than 1 s"),
        (_breaks, "cannot parse cloud: ValueError: junk"),
        (_kills, "the process that read cloud exited early"),
    ],
)
def test_what_does_not_answer_costs_itself_only(
    read: Callable[[Tree, Mapping[str, str], float], object], reason: str
) -> None:
    sources = tuple(
        dataclasses.replace(source, read=read) if source.name == "cloud" else source
        for source in SOURCES
        if source.name in ("cloud", "cpu", "boot_id")
    )
    host = reader.take(seconds=1.0, sources=sources)
    assert host.cloud.provider == host.cloud.sys_vendor == Unknown(reason)
    assert isinstance(host.boot_id, str)
    assert isinstance(host.cpu.online, str)


def _children() -> set[str]:
    """Of this process, those of other tests among them."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def test_no_child_is_left() -> None:
    before = _children()
    reader.take(seconds=0.2, sources=(Source("cloud", "cloud", _hangs),))
    assert until(lambda: _children() <= before, 10.0)


def test_beside_other_threads() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, daemon=True)
    thread.start()
    host = reader.take(sources=tuple(source for source in SOURCES if source.name == "cpu"))
    release.set()
    thread.join()
    assert isinstance(host.cpu.online, str)


def test_two_sources_share_a_part() -> None:
    def limits(tree: Tree, env: Mapping[str, str], seconds: float) -> ProcessLimits:
        return ProcessLimits(nofile_soft=7, pids_max=Unknown("first"))

    def cgroup(tree: Tree, env: Mapping[str, str], seconds: float) -> ProcessLimits:
        return ProcessLimits(pids_max=None, nofile_soft=Unknown("second"))

    pairs = (Source("a", "limits", limits), Source("b", "limits", cgroup))
    for sources in (pairs, pairs[::-1]):
        found = reader.take(sources=sources).limits
        assert (found.nofile_soft, found.pids_max, found.nofile_hard) == (7, None, NOT_READ)


def test_of_two_that_tell_a_leaf_the_later_source_counts_however_fast_it_is() -> None:
    """NVML knows more of a GPU than the driver's files, and may answer before they are read."""

    def slow(tree: Tree) -> ProcessLimits:
        time.sleep(0.05)
        return ProcessLimits(nofile_soft=1)

    sources = (
        Source.quick("a", "limits", slow),
        Source.quick("b", "limits", lambda _: ProcessLimits(nofile_soft=2)),
    )
    assert [reader.take(sources=order).limits.nofile_soft for order in (sources, sources[::-1])] == [2, 1]


def test_a_pipe_in_the_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    root = captured_hosts.build(tmp_path / "host", captured_hosts.KINDS["tcp"])
    for name in ("proc/cpuinfo", "etc/nccl.conf", "etc/hosts", "proc/self/limits"):
        (root / name).unlink(missing_ok=True)
        os.mkfifo(root / name)
    host = reader.take(root, seconds=5.0)
    assert host.seconds < 5
    assert host.limits.nofile_soft == Unknown("/proc/self/limits is not a file")
    assert [file.text for file in host.conf_files][-1] == Unknown("/etc/nccl.conf is not a regular file")


def test_circles_of_links(tmp_path: Path) -> None:
    root = captured_hosts.build(tmp_path / "host", captured_hosts.KINDS["ib"])
    for name in ("proc/cmdline", "etc/nccl.conf", "sys/class/net/eno1", "sys/class/infiniband/mlx5_0"):
        (root / name).unlink(missing_ok=True)
        (root / name).symlink_to(Path(name).name)
    host = reader.take(root)
    assert host.kernel.cmdline == Unknown("/proc/cmdline cannot be read: Too many levels of symbolic links")
    assert host.conf_files[-1].exists == Unknown(
        "/etc/nccl.conf cannot be read: Too many levels of symbolic links"
    )
    assert not isinstance(host.rdma.devices, Unknown)
    assert isinstance(host.rdma.devices[0].ports, Unknown)


@pytest.mark.parametrize("seed", range(3))
def test_junk_in_every_file(tmp_path: Path, seed: int) -> None:
    """Each file is cut, emptied, or full of other bytes: there is an answer, and it is written down."""
    chance = random.Random(seed)
    root = captured_hosts.build(tmp_path / "host", captured_hosts.KINDS["roce"])
    kinds = (
        b"",
        b"\xff\xfe\x00junk",
        b"-1",
        b"99999999999999999999999",
        b"a:b:c\n" * 3,
        b"\n\n 1 2 3 4 5 6 7 8 9 0A\n",
    )
    for file in sorted(root.rglob("*")):
        if file.is_file() and not file.is_symlink() and chance.random() < 0.5:
            file.write_bytes(chance.choice((*kinds, file.read_bytes()[: chance.randrange(40)])))
    host = reader.take(root)
    assert not_looked_at(host) == []
    assert host.seconds < 5


def test_a_tree_with_nothing_in_it(tmp_path: Path) -> None:
    host = reader.take(tmp_path)
    assert not_looked_at(host) == []
    assert (host.host, host.env) == (tmp_path.name, {})
    assert isinstance(host.rdma.devices, Unknown)
    assert isinstance(host.network.interfaces, Unknown)
    assert isinstance(host.nvidia.driver, Unknown)


def test_the_environment_is_that_of_whoever_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "WARN")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    only = tuple(source for source in SOURCES if source.name == "names")
    own = reader.take(sources=only)
    assert (own.env["NCCL_DEBUG"], own.env_source) == ("WARN", "process")
    assert "s3cret" not in repr(own)
    other = reader.take(environ={"NCCL_DEBUG": "INFO"}, env_source="pid 7", sources=only)
    assert (other.env, other.env_source) == ({"NCCL_DEBUG": "INFO"}, "pid 7")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/environ").write_bytes(b"NCCL_ALGO=Ring\0HOME=/root\0bad\0PASSWORD=x\0")
    tree = reader.take(tmp_path, sources=only)
    assert (tree.env, tree.env_source) == ({"HOME": "/root", "NCCL_ALGO": "Ring"}, "/proc/self/environ")


def test_files_that_a_configuration_file_names(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nccl.conf").write_text("#NCCL_GRAPH_FILE=/no\nNCCL_TOPO_FILE=/etc/topo.xml\n")
    (tmp_path / "etc/topo.xml").write_text("<system/>")
    host = reader.take(tmp_path, sources=tuple(source for source in SOURCES if source.name == "paths"))
    named = [file for file in host.files if file.asked_by != "well-known"]
    assert [(file.path, file.text) for file in named] == [("/etc/topo.xml", "<system/>")]


def fabric(tree: Tree, env: Mapping[str, str], seconds: float) -> Nvidia:
    return Nvidia(driver=Unknown("not asked"), gpus=(Gpu(pci="0000:01:00.0", fabric_state="completed"),))


def stuck(tree: Tree, env: Mapping[str, str], seconds: float) -> Nvidia:
    time.sleep(60)
    raise AssertionError("nobody waits so long")


@pytest.mark.parametrize(
    ("fabric_s", "read", "gpus"),
    [
        (0.0, stuck, ()),  # nobody asks
        (5.0, fabric, (Gpu(pci="0000:01:00.0", fabric_state="completed"),)),
        (0.05, stuck, ()),  # what the files say stands
    ],
)
def test_a_rank_asks_nvml_only_where_it_must_and_not_for_ever(
    tmp_path: Path, fabric_s: float, read: Callable[..., Nvidia], gpus: tuple[Gpu, ...]
) -> None:
    sources = (
        Source("nvidia", "nvidia", lambda tree, env, seconds: Nvidia(driver="570.1", gpus=())),
        Source("nvml", "nvidia", read),
        Source("clock", "clock", stuck),
    )
    begin = time.monotonic()
    found = reader.network_facts({}, tmp_path, fabric_s=fabric_s, sources=sources)
    assert (found.nvidia.driver, found.nvidia.gpus) == ("570.1", gpus)
    assert time.monotonic() - begin < 10
