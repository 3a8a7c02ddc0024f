"""Libraries are found in the loader's order and read without being loaded."""

import platform
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import known
from nccltool.hosts.sources import software
from nccltool.hosts.sources.base import Tree
from tests.captured_hosts.formats.binaries import elf, ld_cache


def put(root: Path, path: str, rodata: bytes = b"", dynstr: bytes = b"") -> None:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(elf({".rodata": rodata, ".dynstr": dynstr}))


def test_the_wheel_is_before_the_path_of_the_loader(tmp_path: Path) -> None:
    wheel = "/opt/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2"
    put(tmp_path, wheel, b"\0NCCL version 2.27.3+cuda12.9\0")
    put(tmp_path, "/nccl/libnccl.so.2", b"\0NCCL version 2.21.5+cuda12.4\0")
    put(tmp_path, "/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.3")
    (tmp_path / "usr/lib/x86_64-linux-gnu/libnccl.so.2").symlink_to("libnccl.so.2.18.3")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ld.so.cache").write_bytes(ld_cache(("/usr/lib/x86_64-linux-gnu/libnccl.so.2",)))
    found = software.libnccl(Tree.at(tmp_path), {"LD_LIBRARY_PATH": "/nccl:relative::/no"}, 10.0)
    assert [(one.origin, one.version) for one in known(found.libnccl)] == [
        ("wheel", "2.27.3"),
        ("LD_LIBRARY_PATH", "2.21.5"),
        ("ldconfig", "2.18.3"),
    ]
    assert (found.nccl, found.nccl_source) == ("2.27.3", f"{wheel} (wheel)")
    preloaded = software.libnccl(Tree.at(tmp_path), {"LD_PRELOAD": "/x.so /nccl/libnccl.so.2"}, 10.0)
    assert (preloaded.nccl, preloaded.nccl_source) == ("2.21.5", "/nccl/libnccl.so.2 (LD_PRELOAD)")


def test_no_libnccl(tmp_path: Path) -> None:
    assert isinstance(software.libnccl(Tree.at(tmp_path), {}, 10.0).libnccl, Unknown)  # nobody captured folders
    (tmp_path / "usr/lib/x").mkdir(parents=True)
    found = software.libnccl(Tree.at(tmp_path), {}, 10.0)
    assert (found.nccl, found.nccl_source, found.libnccl, found.libfabric) == ("", "", (), "")


@pytest.mark.parametrize(
    ("number", "series"),
    [
        ("40.40.7", ["5.0"]),
        ("40.30.5", ["4.1"]),
        ("40.20.3", ["4.0"]),
        ("12.0.5", []),
        ("40", []),
        ("40.99.1", []),
    ],
)
def test_the_series_of_open_mpi_is_that_of_its_library(tmp_path: Path, number: str, series: list[str]) -> None:
    put(tmp_path, f"/opt/hpcx/ompi/lib/libmpi.so.{number}")
    if number != "40":
        (tmp_path / "opt/hpcx/ompi/lib/libmpi.so.40").symlink_to(f"libmpi.so.{number}")
    found = software.versions(Tree.at(tmp_path), {"LD_LIBRARY_PATH": "/opt/hpcx/ompi/lib"}, 10.0)
    assert [known(one.value) for one in known(found.packages) if one.name == "openmpi"] == series


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "cannot be read: cannot mmap an empty file"),
        (b"not a library", "is not an ELF file with a section .rodata"),
        (elf({".rodata": b"nothing"}), "contains no version string"),
        (elf({".rodata": b"NCCL version 2.27.3"})[:-90], "is not a complete ELF file"),
    ],
)
def test_what_is_no_library_has_no_version(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "l").mkdir()
    (tmp_path / "l/libnccl.so.2").write_bytes(content)
    found = software.libnccl(Tree.at(tmp_path), {"LD_LIBRARY_PATH": "/l"}, 10.0)
    assert found.nccl == Unknown(f"/l/libnccl.so.2 {reason}")
    assert known(found.libnccl)[0].size_bytes == len(content)


@given(st.binary(max_size=300))
def test_junk_behind_the_magic_bytes(tail: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x").write_bytes(b"\x7fELF\x02\x01" + tail)
        assert isinstance(software._section(Tree(folder), "/x", b".rodata"), bytes | Unknown)


def test_plugins_and_who_finds_them(tmp_path: Path) -> None:
    put(tmp_path, "/p/libnccl-net.so", dynstr=b"\0ncclNetPlugin_v9\0")
    put(tmp_path, "/p/libnccl-tuner-x.so", dynstr=b"\0ncclTunerPlugin_v4\0")
    put(tmp_path, "/p/libnccl.so.2")
    put(tmp_path, "/p/librccl-net.so", dynstr=b"\0ncclNetPlugin_v8\0")
    put(
        tmp_path,
        "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so",
        b"NET/OFI aws-ofi-nccl 1.16.3\0",
        b"\0ncclNetPlugin_v10\0",
    )
    put(tmp_path, "/own/plugin.so")
    env = {"LD_LIBRARY_PATH": "/p", "NCCL_TUNER_PLUGIN": "/own/plugin.so", "NCCL_NET_PLUGIN": "ofi"}
    found = known(software.plugins(Tree.at(tmp_path), env, 10.0))
    assert [(one.name, one.library.origin, one.symbols) for one in found] == [
        ("plugin.so", "variable", ()),
        ("libnccl-net.so", "LD_LIBRARY_PATH", ("ncclNetPlugin_v9",)),
        ("libnccl-tuner-x.so", "LD_LIBRARY_PATH", ("ncclTunerPlugin_v4",)),
        ("librccl-net.so", "LD_LIBRARY_PATH", ("ncclNetPlugin_v8",)),
        ("libnccl-net-ofi.so", "vendor", ("ncclNetPlugin_v10",)),
    ]
    assert found[4].library.version == "1.16.3"


@pytest.mark.parametrize(("dynstr", "exported"), [(b"\0ibv_reg_mr_iova2\0", True), (b"\0ibv_reg_mr\0", False)])
def test_verbs(tmp_path: Path, dynstr: bytes, exported: bool) -> None:
    put(tmp_path, "/usr/lib/libibverbs.so.1", dynstr=dynstr)
    found = software.verbs(Tree.at(tmp_path), {}, 10.0)
    assert (found.ibverbs, found.ibverbs_iova2, found.gdrapi) == ("/usr/lib/libibverbs.so.1", exported, "")


def test_the_name_that_nccl_opens_is_told_from_the_other(tmp_path: Path) -> None:
    put(tmp_path, "/usr/lib/libgdrapi.so.2")
    found = software.verbs(Tree.at(tmp_path), {}, 10.0)
    assert (found.gdrapi, found.gdrapi_link) == ("/usr/lib/libgdrapi.so.2", "")
    put(tmp_path, "/usr/lib/libgdrapi.so")
    assert software.verbs(Tree.at(tmp_path), {}, 10.0).gdrapi_link == "/usr/lib/libgdrapi.so"


def test_no_verbs(tmp_path: Path) -> None:
    assert isinstance(software.verbs(Tree.at(tmp_path), {}, 10.0).ibverbs, Unknown)
    (tmp_path / "usr/lib/x").mkdir(parents=True)
    found = software.verbs(Tree.at(tmp_path), {}, 10.0)
    assert (found.ibverbs, found.ibverbs_iova2) == ("", Unknown("libibverbs.so.1 not found"))


def test_the_cache_of_this_host_is_understood() -> None:
    if not Path("/etc/ld.so.cache").exists():
        pytest.skip("this host has no /etc/ld.so.cache")
    assert isinstance(software._cache(Tree("")), dict)


def test_the_c_library_of_this_host_is_understood() -> None:
    """A real ELF file, not one of ours."""
    machine = platform.machine()
    path = next((p for p in (f"/lib/{machine}-linux-gnu/libc.so.6", "/lib64/libc.so.6") if Path(p).exists()), None)
    if path is None:
        pytest.skip("this host has no libc.so.6 in a usual place")
    assert software._exports(Tree(""), path, b"getifaddrs") is True
    assert software._exports(Tree(""), path, b"no_such_function") is False
