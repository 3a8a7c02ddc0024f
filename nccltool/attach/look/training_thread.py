"""Which thread of a rank trains: the main one, or in a worker of Ray Train the one that this starts."""

import re
from collections.abc import Sequence

from nccltool.attach.seen.process import StackFrame, ThreadStack

_RAY = "(?:-packages|/python)/ray/"
_SERVES = re.compile(rf"{_RAY}_private/worker\.py$")
"""The main thread of a worker of Ray runs what it is sent: between two calls it is in `main_loop`."""
_STARTS = re.compile(rf"{_RAY}(?:train|air)/")
_LIBRARY = re.compile(rf"{_RAY}|/lib/python3\.\d+/(?!(?:site|dist)-packages/)|^<")


def chosen(stacks: Sequence[ThreadStack], main: ThreadStack | None) -> ThreadStack | None:
    """None where none trains, or it cannot be told which."""
    if main is None or not any(_SERVES.search(frame.file) for frame in main.frames[:1]):
        return main
    found = [one for one in stacks if one is not main and _trains(one.frames)]
    return found[0] if len(found) == 1 else None


def _trains(frames: Sequence[StackFrame]) -> bool:
    """Ray has called something that belongs neither to Ray nor to Python."""
    called = next((place for place in reversed(range(len(frames))) if _STARTS.search(frames[place].file)), 0)
    return any(not _LIBRARY.search(frame.file) for frame in frames[:called])
