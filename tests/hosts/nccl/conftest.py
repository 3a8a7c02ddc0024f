"""A real libnccl: the one of a wheel, unpacked once into a folder of the user's cache."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

NEWEST = ("nvidia-nccl-cu13", "2.32.3")
OTHERS = tuple(("nvidia-nccl-cu12", version) for version in ("2.18.3", "2.21.5", "2.24.3", "2.27.7", "2.29.7"))
"""Releases between which NCCL reads or chooses differently. They are 1 GB together: only with FETCH=all."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "nccltool-tests", "libnccl")
FETCH = "NCCLTOOL_TEST_FETCH_NCCL"
"""`no`: only what is in the cache. `all`: the older releases too."""


def library(package: str, version: str) -> Path:
    """libnccl.so.2 of a release. Skips the test, with the reason, where it cannot be had."""
    file = CACHE / version / "libnccl.so.2"
    if not file.exists():
        asked = os.environ.get(FETCH, "newest")
        if asked == "no" or (asked != "all" and (package, version) != NEWEST):
            pytest.skip(f"{file} is not there; {FETCH}=all fetches it")
        _fetch(package, version, file)
    return file


def _fetch(package: str, version: str, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    words = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--retries",
        "1",
        "--timeout",
        "15",
        "--dest",
        str(file.parent),
    ]
    done = subprocess.run([*words, f"{package}=={version}"], capture_output=True, text=True, timeout=300)
    wheels = list(file.parent.glob("*.whl"))
    if done.returncode or not wheels:
        pytest.skip(
            f"{package} {version} cannot be fetched: {(done.stderr.strip() or 'no wheel').splitlines()[-1]}"
        )
    with zipfile.ZipFile(wheels[0]) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/libnccl.so.2")]
        beside = file.with_suffix(".tmp")
        beside.write_bytes(archive.read(name))
        beside.rename(file)
    for wheel in wheels:
        wheel.unlink()


@pytest.fixture(scope="session")
def newest() -> Path:
    return library(*NEWEST)
