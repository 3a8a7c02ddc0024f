"""Packed files, by their first bytes."""

import bz2
import gzip
import lzma

import pytest

from nccltool.core import packed


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (gzip.compress(b"x", mtime=0), "gzip"),
        (lzma.compress(b"x"), "xz"),
        (packed.zstd().compress(b"x"), "zstd"),
        (bz2.compress(b"x"), "bzip2"),
        (bz2.compress(b""), "bzip2"),
        (bz2.compress(b"x")[:5], "bzip2"),
        (b"BZh9 said hello\n", ""),
        (b"", ""),
    ],
)
def test_the_kind(head: bytes, kind: str) -> None:
    assert packed.kind(head) == kind


@pytest.mark.parametrize(
    ("name", "content", "is_cut"),
    [
        *(("a.gz", b"", True), ("a.gz", b"\x1f", True), ("a.gz", b"n", False), ("a.gz", b"\x1f\x8b", False)),
        *(("a.xz", b"\xfd7z", True), ("a.bz2", b"BZ", True), ("a.zst", b"\x28\xb5", True), ("a.log", b"", False)),
    ],
)
def test_a_file_that_has_not_even_its_mark(name: str, content: bytes, is_cut: bool) -> None:
    assert packed.is_cut_head(name, content) is is_cut
