"""Writes docs/examples: reports of real runs on namespaces of this machine, and what a browser shows of them."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from tests.lab import lab, sshd
from tests.support import chromium, example_runs
from tests.support.commands import NCCLTOOL

FOLDER = Path(__file__).parents[2] / "docs" / "examples"
REPORTS: dict[str, Callable[[Path], list[Path]]] = {
    "healthy": example_runs.healthy,
    "slow-node": example_runs.slow_node,
    "hung-rank": example_runs.hung_rank,
    "month": example_runs.month,
}
WIDTH, HEIGHT = 1000, 720
"""Of a picture: the part that a reader sees first."""


_COLORS = 64


def draw(names: list[str]) -> None:
    """Those that are named, or all. The month takes some ten minutes."""
    if reason := lab.missing() or sshd.missing():
        sys.exit(f"no hosts can be made here: {reason}")
    for name, runs in REPORTS.items():
        if not names or name in names:
            file = FOLDER / f"{name}.html"
            with tempfile.TemporaryDirectory() as folder:
                _write(runs(Path(folder)), file)
            _picture(file)
            print(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB")


def _write(runs: list[Path], file: Path) -> None:
    words = [*NCCLTOOL, "report", *map(str, runs), "--output", str(file)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def _picture(file: Path) -> None:
    """Beside the report. Without a browser, the old picture stays."""
    if chromium.PROGRAM is None:
        print("no Chromium is installed: the pictures are the old ones", file=sys.stderr)
        return
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        chromium.browser(Path(profile)) as page,
    ):
        page.open(file, WIDTH, HEIGHT)
        page.picture(file.with_suffix(".png"), whole=False)
    with Image.open(file.with_suffix(".png")) as picture:  # a third of the size, and the same to the eye
        small = picture.convert("RGB").quantize(_COLORS)
    small.save(file.with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    draw(sys.argv[1:])
