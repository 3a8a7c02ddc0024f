"""From the stacks of a process to its phase."""

import re
from collections.abc import Sequence

from nccltool.attach.phases.result import Phase
from nccltool.attach.phases.table import C10D, ROWS, TEXTS, PhaseRow
from nccltool.attach.seen.process import StackFrame, ThreadStack

_BUSY = 0.5
"""Share of a core of the training thread: a rank that waits in Gloo took 0 to 1 %, one that computes 100 %."""
_IDLE = 0.1
_OF_EXITS = frozenset(("network", "checkpoint", "lock", "program", "loading"))
"""What a function that atexit calls does for the program: it sends logs, and writes files."""
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python3\.\d+/|^<|\.so(?:\.\d+)*$|^/usr/lib/")
_COMPILERS = frozenset({"ptxas", "cc1plus", "cc1", "nvcc", "cicc", "fatbinary", "as", "ld", "g++", "gcc", "c++"})
_ANYWHERE = tuple(row for row in ROWS if row.anywhere)
_IN_ORDER = tuple(row for row in ROWS if not row.anywhere)
_BEGINS = re.compile(r"^<|:<module>$|/threading\.py:")
"""Where a program's code begins, or that of a thread."""
_NO_OPERATION = re.compile(r"wrapper|_exception_logger|_time_logger|_pop_object_collective|_\w+")
_C10D = re.compile(f"{C10D}$")


def phase_of(
    stacks: Sequence[ThreadStack],
    *,
    state: str = "",
    cpu_share: float | None = None,
    children: Sequence[str] = (),
) -> Phase:
    """What a process does: its threads, its state in /proc, how busy its training thread is, its children's names.

    cpu_share is the CPU time of the training thread as a share of the time between two samples; None = not known.
    """
    main = next((one for one in stacks if one.trains), None)
    if main is None or not main.frames:
        return Phase(kind="unknown", text="unknown", reason="no stack of the thread that trains")
    where, path = _where(main.frames)
    if _holds_gil(main, state):
        return Phase(kind="gil", text="is in native code that holds Python's lock (GIL)", where=where, path=path)
    row, place = _row_of(main.frames)
    if (row is None or row.weak or row.kind in _OF_EXITS) and _is_exiting(main.frames):
        return Phase(kind="leaving", text="ends its process", row=27, where=where, path=path)
    is_busy = state == "R" or (cpu_share is not None and cpu_share >= _BUSY)
    if (row is None or row.weak) and _COMPILERS & frozenset(children):
        return Phase(kind="compiling", text="compiles code", row=14, where=where, path=path)
    if row is None or (row.weak and is_busy):
        if is_busy or main.active:
            return Phase(kind="computing", text="computes", row=15, where=where, path=path)
        return Phase(kind="code", text="is in its own code", where=where, path=path)
    if row.kind == "backward":
        return _backward(cpu_share, is_busy, where, path)
    operation = _operation(main.frames, place)
    text = row.text.format(operation=operation or "a collective")
    return Phase(kind=row.kind, text=text, row=row.number, operation=operation, where=where, path=path)


def _backward(cpu_share: float | None, is_busy: bool, where: str, path: str) -> Phase:
    """Python has no frame for DDP's wait; a training thread without CPU time in autograd does not compute."""
    if is_busy:
        return Phase(kind="computing", text="computes the backward pass", row=15, where=where, path=path)
    if cpu_share is not None and cpu_share <= _IDLE:
        return Phase(
            kind="gradients", text="waits for gradients in the backward pass", row=5, where=where, path=path
        )
    return Phase(kind="backward", text="runs the backward pass", where=where, path=path)


def _holds_gil(main: ThreadStack, state: str) -> bool:
    """It has the lock, and sleeps: code of Python gives the lock back before it sleeps."""
    return main.owns_gil is True and main.active is False and state in ("S", "D")


def _is_exiting(frames: Sequence[StackFrame]) -> bool:
    """A function that atexit calls has no caller in Python: the program's module has returned."""
    outermost = next((frame for frame in reversed(frames) if _is_python(frame)), None)
    return outermost is not None and not _BEGINS.search(f"{outermost.file}:{outermost.name}")


def _row_of(frames: Sequence[StackFrame]) -> tuple[PhaseRow | None, int]:
    for row in _ANYWHERE:
        for place in range(len(frames)):
            if _matches(row, frames, place):
                return row, place
    weak: tuple[PhaseRow | None, int] = (None, 0)
    for place in range(len(frames)):
        for row in _IN_ORDER:
            if _matches(row, frames, place):
                if not row.weak:
                    return row, place
                weak = weak if weak[0] else (row, place)
    return weak if weak[0] else (_row_of_text(frames[0]), 0)


def _row_of_text(frame: StackFrame) -> PhaseRow | None:
    return next((row for form, row in TEXTS if frame.text and form.search(frame.text)), None)


def _matches(row: PhaseRow, frames: Sequence[StackFrame], place: int) -> bool:
    frame = frames[place]
    if row.native:
        if _is_python(frame) or row.name is None or not row.name.search(frame.name):
            return False
    else:
        if not _is_python(frame):
            return False
        if row.name and not row.name.fullmatch(_simple(frame.name)):
            return False
        if row.file and not row.file.search(frame.file):
            return False
    outer = row.outer
    if outer is None:
        return True
    first = place if row.number == 12 and not row.native else place + 1
    return any(outer.search(f"{one.file}:{_simple(one.name)}") for one in frames[first:])


def _is_python(frame: StackFrame) -> bool:
    return frame.file.endswith(".py") or frame.file.startswith("<")


def _simple(name: str) -> str:
    """`FSDPParamGroup.unshard` -> `unshard`: before Python 3.11, there is no class."""
    return name if "::" in name else name.rpartition(".")[2]


def _operation(frames: Sequence[StackFrame], place: int) -> str:
    """The outermost function of torch.distributed around `place`: all_gather_object rather than its all_gather."""
    found = ""
    for frame in frames[place:]:
        if _C10D.search(frame.file):
            name = _simple(frame.name)
            found = found if _NO_OPERATION.fullmatch(name) and found else name
        elif found and not frame.file.endswith("c10d_logger.py"):
            break
    return found


def _where(frames: Sequence[StackFrame]) -> tuple[str, str]:
    """The innermost line of the program itself, else of any Python code."""
    own = next((frame for frame in frames if _is_python(frame) and not _LIBRARY.search(frame.file)), None)
    frame = own or next((one for one in frames if _is_python(one)), None)
    if frame is None:
        return "", ""
    line = f":{frame.line}" if frame.line else ""
    return f"{frame.file.rpartition('/')[2]}{line} {_simple(frame.name)}", frame.file
