"""What the user's screen can show: width, height, colors, and whether its locale has bars and signs."""

import contextlib
import os
import shutil
import sys
from collections.abc import Mapping
from typing import TextIO

import click

from nccltool.cli.options import Style
from nccltool.core.look import Look

_SIGNS = "±█"
"""Some of what `Look` draws where the locale can show it."""


def look_of(output: str | None = None) -> Look:
    """What the reader of the result can see: a terminal, or with --output and in a pipe only text."""
    return _look(None if output else sys.stdout, is_file=bool(output))


def look_of_progress() -> Look:
    """What standard error can show."""
    return _look(sys.stderr)


def _look(stream: TextIO | None, is_file: bool = False) -> Look:
    style = _style()
    unicode = is_file or _shows_unicode(stream)
    if stream is None or not stream.isatty() or _is_relayed(os.environ):
        return Look(colors=style.color == "always", unicode=unicode, verbose=style.verbose)
    width, height = _size(stream)
    colors = style.color == "always" or (style.color == "auto" and _is_colorful(os.environ))
    return Look(width=width, height=height, colors=colors, unicode=unicode, verbose=style.verbose)


def _size(stream: TextIO) -> tuple[int, int]:
    """COLUMNS and LINES, else as the terminal says, else 80x24."""
    width, height = shutil.get_terminal_size((0, 0))
    if not width or not height:
        with contextlib.suppress(OSError, ValueError):  # no terminal after all
            own_width, own_height = os.get_terminal_size(stream.fileno())
            width, height = width or own_width, height or own_height
    return width or 80, height or 24


def _style() -> Style:
    context = click.get_current_context(silent=True)
    style = context.obj if context else None
    return style if isinstance(style, Style) else Style()


def _is_colorful(environ: Mapping[str, str]) -> bool:
    """As https://no-color.org says; TERM is dumb in editors and in CI."""
    return not environ.get("NO_COLOR") and environ.get("TERM", "") not in ("", "dumb")


def _is_relayed(environ: Mapping[str, str]) -> bool:
    """Open MPI gives its ranks a terminal of their own, whether what they print ends in a terminal or a file."""
    return "OMPI_COMM_WORLD_RANK" in environ


def _shows_unicode(stream: TextIO | None) -> bool:
    """Python takes UTF-8 also in the locale C, which it then says in LC_CTYPE: what the user set decides."""
    of_user = (os.environ.get("LC_ALL"), os.environ.get("LC_CTYPE"), os.environ.get("LANG"))
    named = next((name for name in of_user if name), "")
    if named == "C.UTF-8" and not of_user[0]:
        named = of_user[2] or named
    if named.upper() in ("C", "POSIX") or ("." in named and "UTF8" not in named.upper().replace("-", "")):
        return False
    try:
        _SIGNS.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
