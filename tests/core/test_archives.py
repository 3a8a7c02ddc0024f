"""Archives are read in memory; what is damaged, too deep or too large is refused in one sentence."""

import gzip
import io
import tarfile
import zipfile

import pytest

from nccltool.core import archives
from nccltool.core.errors import BadInput


def tar(**contents: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in contents.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return file.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


def refused(data: bytes) -> str:
    with pytest.raises(BadInput) as raised:
        archives.files(data, "job.tgz")
    return raised.value.message


@pytest.mark.parametrize(
    ("data", "files"),
    [
        (b"plain", [("job.tgz", b"plain")]),
        (gzip.compress(b"packed"), [("job.tgz", b"packed")]),
        (tar(a=b"1", b=gzip.compress(b"2")), [("job.tgz, a", b"1"), ("job.tgz, b", b"2")]),
        (gzip.compress(tar(a=b"1")), [("job.tgz, a", b"1")]),
        (zipped("../x\x1b[2J", b"1"), [("job.tgz, ../x?[2J", b"1")]),
    ],
    ids=["no archive", "gzip", "tar", "tar in gzip", "zip"],
)
def test_files(data: bytes, files: list[tuple[str, bytes]]) -> None:
    assert archives.files(data, "job.tgz") == files


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (gzip.compress(b"x" * 100)[:-9], "job.tgz is packed with gzip and ends early"),
        (gzip.compress(b"x" * 999)[:20] + b"\xff" * 99, "job.tgz is packed with gzip and is damaged"),
        (zipped("a", b"1" * 99)[:60], "job.tgz is packed with zip and is damaged"),
        (gzip.compress(gzip.compress(gzip.compress(gzip.compress(b"x")))), "archives are nested more than 3"),
    ],
    ids=["ends early", "damaged gzip", "damaged zip", "nested"],  # a packed file has the time in it
)
def test_refused(data: bytes, sentence: str) -> None:
    assert sentence in refused(data)


def test_what_grows_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LARGEST", 1000)
    monkeypatch.setattr(archives, "MOST_FILES", 2)
    assert refused(gzip.compress(bytes(5000))) == "job.tgz is packed with gzip and holds more than 1000 B"
    assert refused(tar(a=bytes(600), b=bytes(600))) == "job.tgz holds more than 1000 B or 2 files"
    assert refused(tar(a=b"1", b=b"2", c=b"3")) == "job.tgz holds more than 1000 B or 2 files"
