"""The command line, as documents keep it."""

import sys


def this_command() -> tuple[str, ...]:
    """The command line as the user typed it, without the interpreter's path."""
    words = (word.encode(errors="replace").decode() for word in sys.argv[1:])  # a word may not be UTF-8
    return ("nccltool", *words)
