"""Where logs come from."""

import bz2
import gzip
import io
import lzma
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nccltool.core import packed
from nccltool.core.errors import BadInput
from nccltool.triage.logs import log_files

ZSTD = packed.zstd()
TEXT = b"n1:1:1 [0] NCCL INFO Using network IB\n" * 2000


@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, lzma.compress, ZSTD.compress, bz2.compress],
    ids=["plain", "gzip", "xz", "zstd", "bzip2"],
)
def test_a_file_is_unpacked_by_its_content(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    file = tmp_path / "job.log"
    file.write_bytes(pack(TEXT))
    assert b"".join(log_files.LogContent(str(file))) == TEXT


NUMBERS = random.Random(1)


def zstd_with_checksum(data: bytes) -> bytes:
    packed: bytes = ZSTD.compress(data, options={ZSTD.CompressionParameter.checksum_flag: 1})
    return packed


PACKS = [gzip.compress, lzma.compress, zstd_with_checksum, bz2.compress]


@pytest.mark.parametrize("pack", PACKS, ids=["gzip", "xz", "zstd", "bzip2"])
@pytest.mark.parametrize("share", [0.5, 0.999], ids=["middle", "end"])
def test_what_is_there_of_a_packed_file_that_is_cut_is_read(
    pack: Callable[[bytes], bytes], share: float, tmp_path: Path
) -> None:
    file = tmp_path / "job.log"
    data = b"".join(b"%x\n" % NUMBERS.getrandbits(64) for _ in range(200_000))
    whole = pack(data)
    file.write_bytes(whole[: int(len(whole) * share)])
    content = log_files.LogContent(str(file))
    found = b"".join(content)
    assert data.startswith(found)
    assert len(found) > 0.5 * share * len(data)  # blocks of bzip2 are large
    assert content.ends_early


@pytest.mark.parametrize(
    ("name", "content", "is_cut"),
    [("a.gz", b"", True), ("a.xz", b"\xfd7z", True), ("a.gz", b"n", False), ("a.log", b"", False)],
)
def test_a_packed_file_without_its_first_bytes_ends_early(
    name: str, content: bytes, is_cut: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    log = log_files.LogContent(str(tmp_path / name))
    assert b"".join(log) == (b"" if is_cut else content)
    assert log.ends_early is is_cut


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT)))
    assert b"".join(log_files.LogContent("-")) == TEXT


def test_a_folder_is_its_files_in_order(tmp_path: Path) -> None:
    for name in ("rank1.log", "rank0.log", "sub/deep.txt", "model.pt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [str(Path(file).relative_to(tmp_path)) for file in log_files.files([str(tmp_path)])]
    assert found == ["rank0.log", "rank1.log", "sub/deep.txt"]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "a folder without logs"),
    ],
    ids=["absent", "empty"],
)
def test_what_cannot_be_read_is_said(make: Callable[[Path], None], problem: str, tmp_path: Path) -> None:
    make(tmp_path / "logs")
    with pytest.raises(BadInput, match=problem) as raised:
        log_files.files([str(tmp_path / "logs")])
    assert raised.value.remedy


def test_a_file_that_may_not_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: Is a directory"):
        list(log_files.LogContent(str(tmp_path)))


@pytest.mark.parametrize("pack", PACKS, ids=["gzip", "xz", "zstd", "bzip2"])
@pytest.mark.parametrize("place", [30, 2000])
def test_a_damaged_file_is_said(pack: Callable[[bytes], bytes], place: int, tmp_path: Path) -> None:
    numbers = random.Random(1)
    packed = bytearray(pack(b"".join(b"%x\n" % numbers.getrandbits(64) for _ in range(20_000))))
    packed[place] ^= 0xFF
    packed[place + 1] ^= 0xFF
    file = tmp_path / "job.log"
    file.write_bytes(packed)
    with pytest.raises(BadInput, match="cannot be read") as raised:
        list(log_files.LogContent(str(file)))
    assert raised.value.remedy == "unpack the readable part and name that file"


@pytest.mark.parametrize("pack", PACKS, ids=["gzip", "xz", "zstd", "bzip2"])
def test_packed_files_that_were_put_together_are_read_to_the_end(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    file = tmp_path / "job.log"
    file.write_bytes(pack(TEXT) + pack(TEXT))
    assert b"".join(log_files.LogContent(str(file))) == TEXT * 2


def test_a_broken_archive_is_said(tmp_path: Path) -> None:
    file = tmp_path / "job.xz"
    file.write_bytes(b"\xfd7zXZ\x00" + b"garbage that is no stream")
    with pytest.raises(BadInput, match="cannot be read"):
        list(log_files.LogContent(str(file)))


@pytest.mark.parametrize(
    "head",
    [
        *(b"\x7fELF\x02\x01", b"PK\x03\x04"),
        *(b'{"schemaVersion": 1, "traceEvents": [', b'{"header": {"id": "0x1"}, "coll_perf": {'),
    ],
    ids=["core", "zip", "trace", "inspector"],
)
def test_what_is_no_log_is_left_out_of_a_folder_and_said_when_it_is_named(head: bytes, tmp_path: Path) -> None:
    (tmp_path / "core.4711").write_bytes(head + b"\nNCCL WARN Cuda failure 2 'out of memory'\n")
    (tmp_path / "rank0.log").write_bytes(TEXT)
    assert [Path(file).name for file in log_files.files([str(tmp_path)])] == ["rank0.log"]
    with pytest.raises(BadInput, match=r"core\.4711 is .*, not a log"):
        list(log_files.LogContent(str(tmp_path / "core.4711")))


def test_a_program_is_left_out_of_a_folder_and_said_when_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise RuntimeError('NCCL error: out of memory')\n")
    (tmp_path / "rank0.log").write_bytes(TEXT)
    assert [Path(file).name for file in log_files.files([str(tmp_path)])] == ["rank0.log"]
    with pytest.raises(BadInput, match=r"train\.py is a program, not a log"):
        log_files.files([str(tmp_path / "train.py")])


def test_a_name_that_the_system_refuses_is_said() -> None:
    with pytest.raises(BadInput, match="cannot be read: File name too long"):
        log_files.files(["a" * 5000])


def test_standard_input_that_is_closed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(BadInput, match="standard input cannot be read: it is closed"):
        list(log_files.LogContent("-"))


def test_links_that_lead_around_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/up").symlink_to(tmp_path)
    (tmp_path / "gone.log").symlink_to(tmp_path / "nothing")
    (tmp_path / "sub/rank0.log").write_bytes(TEXT)
    assert log_files.files([str(tmp_path)]) == [str(tmp_path / "sub/rank0.log")]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_an_archive_is_not_read_as_one_text(tmp_path: Path, mode: str) -> None:
    (tmp_path / "rank0.log").write_bytes(TEXT)
    packed = tmp_path / f"logs.tar{mode[1:].replace(':', '.')}"
    with tarfile.open(packed, mode) as archive:  # type: ignore[call-overload]
        archive.add(tmp_path / "rank0.log", "rank0.log")
    assert [Path(file).name for file in log_files.files([str(tmp_path)])] == ["rank0.log"]
    with pytest.raises(BadInput, match="is a tar archive, not a log"):
        list(log_files.LogContent(str(packed)))
