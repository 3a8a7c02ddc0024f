"""Draws docs/screens: each scene on a small and on a large terminal, dark and light."""

import sys
import tempfile
from pathlib import Path

from tests.support import terminal
from tests.support.scenes import SCENES, play

SIZES = ((80, 24), (200, 50))
FOLDER = Path(__file__).parents[2] / "docs" / "screens"


def draw(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for scene in SCENES:
        if names and scene.name not in names:
            continue
        for columns, height in SIZES:
            with tempfile.TemporaryDirectory() as folder:
                screen = play(scene, columns, height, Path(folder), {})
            print(f"{scene}: {columns}x{height}, exit code {screen.code}")
            for theme in (terminal.DARK, terminal.LIGHT):
                file = FOLDER / f"{scene}-{columns}x{height}-{theme.name}.svg"
                file.write_text(terminal.svg(screen, theme, scene.prompt))


if __name__ == "__main__":
    draw(sys.argv[1:])
