"""The version of NCCL that a rank has loaded."""

from pathlib import Path

import pytest

from nccltool.attach.look import nccl_version
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.hosts.sources.base import Tree

_WHEEL = "/opt/venv/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("library", "packages", "expected"),
    [
        ("/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9", (), Version(2, 28, 9)),
        (
            f"{_WHEEL}/nvidia/nccl/lib/libnccl.so.2",
            ("nvidia_nccl_cu12-2.27.5.dist-info", "torch"),
            Version(2, 27, 5),
        ),
        (f"{_WHEEL}/nvidia/nccl/lib/libnccl.so.2", ("torch",), None),
        (
            f"{_WHEEL}/nvidia/nccl/lib/libnccl.so.2",
            ("nvidia_nccl_cu12-2.27.5.dist-info", "nvidia_nccl_cu13-2.29.7.dist-info"),
            None,
        ),
        ("/opt/lib/libnccl.so.2", (), None),
        ("/usr/lib/libc.so.6", (), None),
    ],
)
def test_versions(tmp_path: Path, library: str, packages: tuple[str, ...], expected: Version | None) -> None:
    folder = tmp_path / "proc/7"
    folder.mkdir(parents=True)
    rows = (
        "7f00-7f01 r-xp 00000000 fd:01 123 /usr/bin/python3.12",
        f"7f02-7f03 r-xp 0 fd:01 9 {library}",
        "7f04 rw-p",
    )
    (folder / "maps").write_text("\n".join(rows))
    for name in packages:
        (folder / f"root{_WHEEL}" / name).mkdir(parents=True)
    found = nccl_version.of(7, Tree.at(tmp_path))
    assert (None if isinstance(found, Unknown) else found) == expected


def test_a_process_that_is_gone(tmp_path: Path) -> None:
    assert isinstance(nccl_version.of(7, Tree.at(tmp_path)), Unknown)
