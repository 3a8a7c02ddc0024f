"""Commands played in a terminal that does not exist: what its screen shows when they have ended, also as SVG."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import pyte

LIMIT_S = 240.0
_FAINT = re.compile(rb"\x1b\[2m")
"""pyte knows no faint letters; many terminals show them as bright black."""

Cell = tuple[str, str, bool]
"""Letter, color, whether it is bold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Theme:
    """The colors of a terminal."""

    name: str
    paper: str
    ink: str
    faint: str
    colors: Mapping[str, str]
    """By the names that pyte has: brown is yellow."""


DARK = Theme(
    name="dark",
    paper="#16181d",
    ink="#d8dade",
    faint="#8b929e",
    colors={"red": "#ff6b68", "green": "#5fd38d", "brown": "#e5b567", "cyan": "#6cc7d9", "blue": "#7aa8f7"},
)
LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#24292f",
    faint="#656d76",
    colors={"red": "#b3201f", "green": "#116b32", "brown": "#8a5a00", "cyan": "#0b6478", "blue": "#0b4fb3"},
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """What is on a terminal when a command has ended."""

    code: int
    columns: int
    printed: str
    """All that was printed, as it came."""
    lines: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]


def played(
    command: Sequence[str], columns: int, height: int, folder: Path, env: Mapping[str, str], prompt: str = ""
) -> Screen:
    """Run a command on a terminal of this size, whose first line is `prompt`."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, columns, 0, 0))
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    given = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**kept, **given, **env},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        data = _read(ours, time.monotonic() + LIMIT_S)
        process.wait(timeout=10)
    finally:
        os.close(ours)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    screen = pyte.Screen(columns, height)
    first = f"{prompt}\r\n".encode() if prompt else b""
    pyte.ByteStream(screen).feed(first + _FAINT.sub(b"\x1b[90m", data))
    rows = ([screen.buffer[row][column] for column in range(columns)] for row in range(height))
    return Screen(
        code=process.returncode,
        columns=columns,
        printed=data.decode(errors="replace"),
        lines=tuple(line.rstrip() for line in screen.display),
        cells=tuple(tuple((cell.data, cell.fg, cell.bold) for cell in row) for row in rows),
    )


def _read(descriptor: int, end: float) -> bytes:
    data = b""
    while (left := end - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left)[0]:
            break
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # EIO: nobody has the terminal any more
            return data
        data += piece
    raise TimeoutError(f"the command did not end within {LIMIT_S:g} s")


_WIDE, _HIGH, _MARGIN, _SIZE = 8.43, 18, 12, 14


def svg(screen: Screen, theme: Theme, title: str) -> str:
    """The screen as a picture, without the blank lines at its end."""
    used = max((number for number, line in enumerate(screen.lines, start=1) if line), default=1)
    width, height = screen.columns * _WIDE + 2 * _MARGIN, used * _HIGH + 2 * _MARGIN
    box = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    font = f'font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="{_SIZE}"'
    texts = [
        f'<text y="{_MARGIN + _HIGH * (row + 0.78):.0f}">{"".join(_spans(cells, theme))}</text>'
        for row, cells in enumerate(screen.cells[:used])
        if screen.lines[row]
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="6" fill="{theme.paper}"/>',
        f'<g {font} fill="{theme.ink}" xml:space="preserve">',
        *texts,
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _spans(cells: Sequence[Cell], theme: Theme) -> Iterator[str]:
    """Words of one color, each at its column and as wide as there: columns stay in line whatever the font is."""
    column = 0
    for (color, bold), group in groupby(cells, key=lambda cell: cell[1:]):
        letters = "".join(letter for letter, _, _ in group)
        ink = theme.faint if color.startswith("bright") else theme.colors.get(color, "")
        style = (f' fill="{ink}"' if ink else "") + (' font-weight="bold"' if bold else "")
        for part in re.finditer(r"\S+(?: \S+)*", letters):
            begin = _MARGIN + (column + part.start()) * _WIDE
            place = f'x="{begin:.1f}" textLength="{len(part[0]) * _WIDE:.1f}"'
            yield f"<tspan {place}{style}>{escape(part[0])}</tspan>"
        column += len(letters)
